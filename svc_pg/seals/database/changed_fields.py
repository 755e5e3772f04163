"""Find the changed field of an entry: with its former value put back, the entry has the sealed digest again.

A digest does not reveal its content, but other entries hold candidates: the actor of the transaction's other entries,
and the snapshots of the record's next and last one. If one makes the digest right, it is the former value.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from svc_pg.database.query import Query, RawJson
from svc_pg.database.statements import statement
from svc_pg.seals.database.leaf_queries import DIGEST
from svc_pg.seals.verification.leaf import Leaf

MOST_TRIED: Final = 20
_MOST_KEYS: Final = 3
_LONGEST: Final = 80

_RESTORED: Final = statement("queries/seals/changed_fields.sql").replace("{digest}", DIGEST)


@dataclass(frozen=True, slots=True)
class ChangedField:
    """The only changed field of an entry: its value when it was sealed, and the present one."""

    id: int
    field: str
    sealed: RawJson
    present: RawJson

    def __str__(self) -> str:
        try:
            return _told(self.field, self.sealed.value, self.present.value)
        except (ValueError, RecursionError):  # PostgreSQL takes more digits and levels than Python reads
            return f"{self.field} was {_cut(self.sealed)} and is {_cut(self.present)}"


def restored(leaves: Sequence[Leaf]) -> Query[ChangedField]:
    """The query of the changed fields of entries whose sealed leaves are these."""
    tried = leaves[:MOST_TRIED]
    return Query(_RESTORED, ([leaf.id for leaf in tried], [leaf.digest for leaf in tried]), ChangedField)


def _told(field: str, before: object, now: object) -> str:
    if isinstance(before, dict) and isinstance(now, dict):
        return ", ".join(_members(field, before, now))
    return f"{field} was {_short(before)} and is {_short(now)}"


def _members(field: str, before: dict[str, Any], now: dict[str, Any]) -> Iterator[str]:
    names = [name for name in before | now if before.get(name) != now.get(name) or (name in before) != (name in now)]
    for name in names[:_MOST_KEYS]:
        yield f"{field}.{name} was {_short(before.get(name))} and is {_short(now.get(name))}"
    if len(names) > _MOST_KEYS:
        yield f"and {len(names) - _MOST_KEYS} more of {field}"


def _short(value: object) -> str:
    return _cut(json.dumps(value, ensure_ascii=False, default=str))


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."

"""The removals that purges and erasures tell of: they explain why sealed entries, or their contents, are gone.

The log's own entries tell of them. Their contents are kept beside the log too, because a purge removes these entries
as well; the digest that the seal of such an entry has proves its content.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256
from typing import Any, Final

from svc_pg.audit.seals.leaves import DIGEST, Leaf
from svc_pg.query import Query

_COUNT: Final = "select count(*) as removals from svc.audit_removals"
_CONTENTS: Final = "select entry_id, content from svc.audit_removals where entry_id > %s order by entry_id limit 1000"
_TELLING: Final = """
select l.id, {digest} as digest
  from svc.audit_logs l
 where l.table_name = 'svc.audit_logs' and l.label in ('audit log purged', 'audit log erased')
   and l.erased_leaf is null
""".replace("{digest}", DIGEST)
_REMOVED: Final = "select id, table_name, leaf from svc.audit_removed_leaves where id = any (%s::bigint[])"
_PURGE: Final = ("svc.audit_logs", "DELETE", "audit log purged")
_ERASURE: Final = ("svc.audit_logs", "UPDATE", "audit log erased")


@dataclass(frozen=True, slots=True)
class Removals:
    """The number of removals that are claimed."""

    removals: int


@dataclass(frozen=True, slots=True)
class Telling:
    """An entry of the log that tells of a removal."""

    id: int
    digest: bytes


@dataclass(frozen=True, slots=True)
class Content:
    """The content that the entry of a removal is said to have."""

    entry_id: int
    content: str


@dataclass(frozen=True, slots=True)
class RemovedLeaf:
    """An entry that a purge took out of its seal."""

    id: int
    table_name: str
    leaf: bytes


@dataclass(slots=True)
class Batches:
    """The time before which purges removed entries of a table, one by one, and how many."""

    before: datetime
    entries: int = 0


COUNT: Final = Query(_COUNT, (), Removals)
TELLING: Final = Query(_TELLING, (), Telling)


def contents_after(entry_id: int) -> Query[Content]:
    """The query of the next contents."""
    return Query(_CONTENTS, (entry_id,), Content)


def removed(leaves: Sequence[Leaf]) -> Query[RemovedLeaf]:
    """The query of those of the leaves that a purge took out of their seals."""
    return Query(_REMOVED, ([leaf.id for leaf in leaves],), RemovedLeaf)


@dataclass(slots=True)
class Claims:
    """All removals that are claimed.

    - ``digests``: the digest of each content, by the id of its entry
    - ``dropped``: the partitions that were dropped, each from one time to before another
    - ``batches``: by table, what purges removed one by one
    - ``erasures``: the ids of the entries that tell of erasures
    - ``erased``: the number of erased entries, by erasure and table
    """

    digests: dict[int, bytes] = field(default_factory=dict)
    dropped: list[tuple[datetime, datetime]] = field(default_factory=list)
    batches: dict[str, Batches] = field(default_factory=dict)
    erasures: set[int] = field(default_factory=set)
    erased: dict[tuple[str, str], int] = field(default_factory=dict)

    def add(self, contents: Iterable[Content]) -> None:
        """Take more contents. One that cannot be read is no entry's, and explains nothing."""
        for each in contents:
            self.digests[each.entry_id] = sha256(each.content.encode()).digest()
            try:
                self._add(each.entry_id, json.loads(each.content))
            except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
                continue

    def _add(self, entry_id: int, content: Any) -> None:
        kind, facts = (content[2], content[4], content[14]), content[11]
        if kind == _ERASURE:
            self.erasures.add(entry_id)
            self.erased |= {(str(entry_id), table): int(entries) for table, entries in facts["tables"].items()}
        elif kind == _PURGE and "from" in facts:
            self.dropped.append((_time(facts["from"]), _time(facts["before"])))
        elif kind == _PURGE:
            gone = [(table, _time(each["before"]), int(each["entries"])) for table, each in facts["tables"].items()]
            for table, before, entries in gone:
                batches = self.batches.setdefault(table, Batches(before))
                batches.before = max(batches.before, before)
                batches.entries += entries

    def has_dropped(self, leaf: Leaf) -> bool:
        """True if the entry was in a partition that a purge dropped."""
        time = leaf.timestamp
        return time is not None and any(start <= time < end for start, end in self.dropped)

    def has_removed(self, leaf: Leaf, table_name: str) -> bool:
        """True if the entry is older than those of the table that a purge left."""
        batches, time = self.batches.get(table_name), leaf.timestamp
        return batches is not None and time is not None and time < batches.before

    def unproven(self, proven: Mapping[int, bytes]) -> list[int]:
        """The entries that would tell of a removal, and have another content or were never there."""
        return [entry_id for entry_id, digest in self.digests.items() if proven.get(entry_id) != digest]


def _time(text: str) -> datetime:
    time = datetime.fromisoformat(text)
    if time.tzinfo is None:
        raise ValueError(text)
    return time

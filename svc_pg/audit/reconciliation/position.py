"""A position in a reconciliation, from which another call goes on, and its text: a cursor."""

import json
from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import Final, NamedTuple, Self, get_args

from svc_pg.audit.reconciliation.findings import Count
from svc_pg.database.pagination import aware_time, decode, encode

_COUNTS: Final[tuple[Count, ...]] = get_args(Count)
_SEPARATOR: Final = " "


class Position(NamedTuple):
    """The next page of a leaf, an oid, or the last record of the log that was looked up; else the table's beginning.

    ``counts`` are found so far, and of them ``kept`` repaired, if it is a position of one that ``repairs``; writers
    kept some parts from that, the ``postponed`` ones, and ``otherwise`` are
    columns that some entries redacted so. ``done`` are the oids of the leaves that were compared.
    """

    table: str
    since: datetime
    repairs: bool
    counts: Counter[Count] = Counter()  # noqa: RUF012 - never changed
    kept: Counter[Count] = Counter()  # noqa: RUF012
    postponed: frozenset[str] = frozenset()
    otherwise: frozenset[str] = frozenset()
    done: frozenset[int] = frozenset()
    leaf: int = 0
    file: int = 0
    page: int = 0
    record: str | None = None

    @classmethod
    def read(cls, cursor: str) -> Self:
        """The position of a cursor. Raises QueryError if it is none."""
        return cls(
            *decode(  # type: ignore[arg-type] # as the readers return
                cursor,
                str,
                aware_time,
                _flag,
                _counts,
                _counts,
                _texts,
                _texts,
                _oids,
                _natural,
                _natural,
                _natural,
                _record,
            )
        )

    @property
    def is_beginning(self) -> bool:
        """True if nothing of its table was compared."""
        return not self.leaf and self.record is None

    @property
    def cursor(self) -> str:
        """The cursor, which ``read`` reads."""
        return encode(
            (
                self.table,
                self.since.isoformat(),
                str(int(self.repairs)),
                *(_SEPARATOR.join(str(counts[name]) for name in _COUNTS) for counts in (self.counts, self.kept)),
                json.dumps(sorted(self.postponed)),
                json.dumps(sorted(self.otherwise)),
                _SEPARATOR.join(map(str, sorted(self.done))),
                str(self.leaf),
                str(self.file),
                str(self.page),
                "" if self.record is None else f"={self.record}",
            )
        )


def _flag(text: str) -> bool:
    return bool(int(text))


def _counts(text: str) -> Counter[Count]:
    numbers: Sequence[int] = [int(number) for number in text.split(_SEPARATOR)]
    return Counter(dict(zip(_COUNTS, numbers, strict=True)))


def _texts(text: str) -> frozenset[str]:
    found = json.loads(text)
    if not isinstance(found, list) or not all(isinstance(each, str) for each in found):
        raise ValueError(text)
    return frozenset(found)


def _oids(text: str) -> frozenset[int]:
    return frozenset(map(int, text.split()))


def _natural(text: str) -> int:
    number = int(text)
    if number < 0:
        raise ValueError(text)
    return number


def _record(text: str) -> str | None:
    return text[1:] if text else None

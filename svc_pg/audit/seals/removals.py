"""The removals that purges and erasures tell of: they explain why sealed entries, or their contents, are gone."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from svc_pg.audit.seals.leaves import Leaf
from svc_pg.query import Query

# A dropped partition is told by its times, other removals by table
_DROPPED: Final = """
select distinct from_time as from_, before_time as before from svc.audit_removals where table_name is null
"""
_BATCHES: Final = """
select table_name, max(before_time) as before, sum(entries)::bigint as entries
  from svc.audit_removals
 where table_name is not null and before_time is not null
 group by table_name
"""
_REMOVED: Final = "select id, table_name, leaf from svc.audit_removed_leaves where id = any (%s::bigint[])"
_ERASURES: Final = """
select entry_id::text as id, table_name, sum(entries)::bigint as entries
  from svc.audit_removals
 where table_name is not null and before_time is null and entry_id::text = any (%s)
 group by entry_id, table_name
"""


@dataclass(frozen=True, slots=True)
class Dropped:
    """A partition that a purge dropped."""

    from_: datetime | None
    before: datetime | None


@dataclass(frozen=True, slots=True)
class Batches:
    """The time before which purges removed entries of a table, one by one, and how many."""

    table_name: str
    before: datetime
    entries: int


@dataclass(frozen=True, slots=True)
class RemovedLeaf:
    """An entry that a purge took out of its seal."""

    id: int
    table_name: str
    leaf: bytes


@dataclass(frozen=True, slots=True)
class Erasure:
    """The number of entries of a table that an erasure erased."""

    id: str
    table_name: str
    entries: int


DROPPED: Final = Query(_DROPPED, (), Dropped)
BATCHES: Final = Query(_BATCHES, (), Batches)


def removed(leaves: Sequence[Leaf]) -> Query[RemovedLeaf]:
    """The query of those of the leaves that a purge took out of their seals."""
    return Query(_REMOVED, ([leaf.id for leaf in leaves],), RemovedLeaf)


def erasures(ids: Sequence[str]) -> Query[Erasure]:
    """The query of what the erasures with these ids erased."""
    return Query(_ERASURES, ([*ids],), Erasure)


@dataclass(frozen=True, slots=True)
class Purges:
    """The removals of purges: the partitions that they dropped, and by table what they removed beside."""

    dropped: Sequence[Dropped] = ()
    batches: Mapping[str, Batches] = field(default_factory=dict)

    def has_dropped(self, leaf: Leaf) -> bool:
        """True if the entry was in a partition that a purge dropped."""
        time = leaf.timestamp
        return time is not None and any(
            part.from_ is not None and part.before is not None and part.from_ <= time < part.before
            for part in self.dropped
        )

    def has_removed(self, leaf: Leaf, table_name: str) -> bool:
        """True if the entry is older than those of the table that a purge left."""
        batches, time = self.batches.get(table_name), leaf.timestamp
        return batches is not None and time is not None and time < batches.before

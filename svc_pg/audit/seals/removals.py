"""The purges and erasures that the log tells of: they explain why sealed entries, or their contents, are gone."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from svc_pg.audit.seals.leaves import Leaf
from svc_pg.query import Query, RawJson

# A dropped partition is told by its times, other removals by table
_DROPPED: Final = """
select distinct (before_data ->> 'from')::timestamptz as "from", (before_data ->> 'before')::timestamptz as before
  from svc.audit_logs
 where table_name = 'svc.audit_logs' and operation = 'DELETE' and label = 'audit log purged'
   and before_data ? 'from' and before_data ? 'before'
"""
_BATCHES: Final = """
select t.key as table_name, max((t.value ->> 'before')::timestamptz) as before
  from svc.audit_logs l cross join lateral jsonb_each(l.before_data -> 'tables') t
 where l.table_name = 'svc.audit_logs' and l.operation = 'DELETE' and l.label = 'audit log purged'
   and jsonb_typeof(l.before_data -> 'tables') = 'object'
 group by t.key
"""
_REMOVED: Final = "select id, table_name, leaf from svc.audit_removed_leaves where id = any (%s::bigint[])"
_ERASURES: Final = """
select id::text as id, before_data -> 'tables' as tables
  from svc.audit_logs
 where table_name = 'svc.audit_logs' and operation = 'UPDATE' and label = 'audit log erased'
   and jsonb_typeof(before_data -> 'tables') = 'object' and id::text = any (%s)
"""
OWN_TABLE: Final = "svc.audit_logs"


@dataclass(frozen=True, slots=True)
class Dropped:
    """A partition that a purge dropped."""

    from_: datetime | None
    before: datetime | None


@dataclass(frozen=True, slots=True)
class Batches:
    """The time before which a purge removed entries of a table, one by one."""

    table_name: str
    before: datetime


@dataclass(frozen=True, slots=True)
class RemovedLeaf:
    """An entry that a purge took out of its seal."""

    id: int
    table_name: str
    leaf: bytes


@dataclass(frozen=True, slots=True)
class Erasure:
    """An erasure, with the number of entries that it erased of each table."""

    id: str
    tables: RawJson


DROPPED: Final = Query(_DROPPED, (), lambda **row: Dropped(row["from"], row["before"]))
BATCHES: Final = Query(_BATCHES, (), Batches)


def removed(leaves: Sequence[Leaf]) -> Query[RemovedLeaf]:
    """The query of those of the leaves that a purge took out of their seals."""
    return Query(_REMOVED, ([leaf.id for leaf in leaves],), RemovedLeaf)


def erasures(ids: Sequence[str]) -> Query[Erasure]:
    """The query of the erasures with these ids."""
    return Query(_ERASURES, ([*ids],), Erasure)


@dataclass(frozen=True, slots=True)
class Purges:
    """The removals of purges, as the log tells them."""

    dropped: Sequence[Dropped] = ()
    befores: Mapping[str, datetime] = field(default_factory=dict)

    def unexplained(self, leaves: Sequence[Leaf], tables: Mapping[tuple[int, bytes], str]) -> list[Leaf]:
        """The leaves that no purge removed. ``tables`` are those of removed leaves, by their id and digest."""
        return [
            leaf
            for leaf in leaves
            if not self.dropped_with_partition(leaf)
            and ((table := tables.get((leaf.id, leaf.digest))) is None or not self.has_removed(leaf, table))
        ]

    def dropped_with_partition(self, leaf: Leaf) -> bool:
        """True if the entry was in a partition that a purge dropped."""
        time = leaf.timestamp
        return time is not None and any(
            part.from_ is not None and part.before is not None and part.from_ <= time < part.before
            for part in self.dropped
        )

    def has_removed(self, leaf: Leaf, table_name: str) -> bool:
        """True if a purge removed such entries of the table; or the entries that would tell."""
        return any(self.is_before(leaf, name) for name in (table_name, OWN_TABLE))

    def is_before(self, leaf: Leaf, table_name: str) -> bool:
        """True if the entry is older than those of the table that a purge left."""
        before, time = self.befores.get(table_name), leaf.timestamp
        return before is not None and time is not None and time < before

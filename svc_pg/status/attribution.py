"""The entries of the last day that have no actor, table by table: a sign that an actor never reaches a connection."""

from dataclasses import dataclass
from typing import Final, LiteralString

from svc_pg.database.query import Query

PREPARE: Final = """
select set_config('statement_timeout', '3s', true), set_config('enable_seqscan', 'off', true),
       set_config('enable_bitmapscan', 'off', true), set_config('enable_sort', 'off', true)
"""
# One step in the index for each table; of each the newest 1,000 entries of the day, without backfilled snapshots
_READ: Final[LiteralString] = """
with recursive known(name, number) as (
    (select l.table_name, 1 from svc.audit_logs l order by l.table_name limit 1)
    union all
    select (select l.table_name from svc.audit_logs l where l.table_name > k.name order by l.table_name limit 1),
           k.number + 1
      from known k where k.name is not null and k.number < 200
)
select k.name as table_name, e.entries, e.without_actor
  from known k
 cross join lateral (
    select count(*) as entries, count(*) filter (where r.actor_id is null) as without_actor
      from (select l.actor_id, l.operation, l.label from svc.audit_logs l
             where l.table_name = k.name and l."timestamp" >= now() - interval '1 day'
             order by l."timestamp" desc, l.id desc limit 1000) r
     where r.operation <> 'SNAPSHOT' and r.label is distinct from 'found by backfill'
 ) e
 where k.name is not null and e.entries > 0
"""


@dataclass(frozen=True, slots=True)
class Attribution:
    """The newest entries of a table in the last day, 1,000 at most: all, and those without an actor.

    Entries of a backfill never have an actor, and do not count.
    """

    table_name: str
    entries: int
    without_actor: int

    @property
    def share(self) -> float:
        """The part of the entries that has no actor, from 0 to 1."""
        return self.without_actor / self.entries


def attribution() -> Query[Attribution]:
    """The first 200 tables, by name, that have entries. Run ``PREPARE`` before it, in the same transaction."""
    return Query(_READ, (), Attribution)

"""The entries of the last day that have no actor, table by table: a sign that an actor never reaches a connection."""

from dataclasses import dataclass
from typing import Final, LiteralString

from svc_pg.database.query import Query

PREPARE: Final = """
select set_config('statement_timeout', '3s', true), set_config('enable_seqscan', 'off', true),
       set_config('enable_bitmapscan', 'off', true), set_config('enable_sort', 'off', true)
"""
# Without snapshots, made by nobody
_READ: Final[LiteralString] = """
select r.table_name, count(*) as entries, count(*) filter (where r.actor_id is null) as without_actor
  from (select l.table_name, l.actor_id, l.operation, l.label from svc.audit_logs l
         where l."timestamp" >= now() - interval '1 day'
         order by l."timestamp" desc, l.id desc limit 20000) r
 where r.operation <> 'SNAPSHOT' and r.label is distinct from 'found by backfill'
 group by r.table_name order by r.table_name limit 200
"""


@dataclass(frozen=True, slots=True)
class Attribution:
    """The entries of a table among the newest 20,000 of the last day: all, and those without an actor.

    What a backfill found is of no actor by nature, and does not count.
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

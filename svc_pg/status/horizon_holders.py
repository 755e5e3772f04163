"""The sessions, prepared transactions and replication slots that hold back readers of the log, or vacuum."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Final, Literal

from svc_pg.database.query import Query

_LONG: Final = timedelta(minutes=1)
_MANY: Final = 10_000

# Readers stop at the oldest transaction that has a number, in whatever database it runs; vacuum at the oldest snapshot.
# A role without pg_read_all_stats sees neither of other roles' sessions, but it sees where readers stop.
_READ: Final = """
with seen as (
    select 'session' as kind, a.pid, coalesce(a.application_name, '') as name, a.datname::text as database,
           a.usename::text as "user", a.state, extract(epoch from clock_timestamp() - a.xact_start)::float8 as seconds,
           greatest(age(a.backend_xid), age(a.backend_xmin))::bigint as transactions,
           a.backend_xid is not null as holds_log
      from pg_stat_activity a
     where a.pid <> pg_backend_pid() and a.backend_type <> 'autovacuum worker'
       and (a.backend_xid is not null
            or a.backend_xmin is not null and (a.datname is null or a.datname = current_database()))
    union all
    select 'prepared', null, p.gid, p.database::text, p.owner::text, null,
           extract(epoch from clock_timestamp() - p.prepared)::float8, age(p.transaction), true
      from pg_prepared_xacts p
    union all
    select 'slot', s.active_pid, s.slot_name::text, s.database::text, null,
           case when s.active then 'active' else 'inactive' end, null, age(s.xmin), false
      from pg_replication_slots s where s.xmin is not null
),
holder as (
    select * from seen
    union all
    select 'hidden', null, '', null, null, null, null, u.transactions, true
      from (select txid_snapshot_xmax(s) - txid_snapshot_xmin(s) as transactions from txid_current_snapshot() s) u
     where exists (select from pg_stat_activity a where a.query = '<insufficient privilege>')
       and u.transactions > (select coalesce(max(s.transactions), 0) from seen s where s.holds_log)
)
select h.* from holder h order by h.holds_log desc, h.transactions desc, h.kind, h.name limit 20
"""


@dataclass(frozen=True, slots=True)
class HorizonHolder:
    """A session, by its ``pid`` and the ``name`` of its application, or a prepared transaction or a slot by its name.

    ``transactions`` have begun since its own. If it ``holds_log``, exports, seals and followers of the log wait for it;
    otherwise only vacuum does. ``seconds`` is the age of its transaction. A role without pg_read_all_stats sees no more
    of a ``hidden`` session.
    """

    kind: Literal["session", "prepared", "slot", "hidden"]
    pid: int | None
    name: str
    database: str | None
    user: str | None
    state: str | None
    seconds: float | None
    transactions: int
    holds_log: bool

    @property
    def is_long(self) -> bool:
        """True if it has lasted for a minute, or for 10,000 transactions if its age is unknown."""
        return self.transactions >= _MANY if self.seconds is None else self.seconds >= _LONG.total_seconds()


def horizon_holders() -> Query[HorizonHolder]:
    """The holders, 20 at most: holders that hold back readers of the log first, then the others, oldest first."""
    return Query(_READ, (), HorizonHolder)

"""Check the partitions of the audit log: this month's exists, each has its guards, and none is detached."""

from dataclasses import dataclass
from typing import Any, Final, Literal

from psycopg import Connection

from svc_pg.database.query import Query, fetch
from svc_pg.schema.postgres.installation import Installation

ENSURE: Final = "select svc.audit_ensure_partitions();"
REPAIR: Final = "select svc.audit_ensure_partitions(p_attaches => true);"
EPOCH: Final = "select svc.audit_begin_epoch();"
"""Record a restore of the log, if there was one."""
NOTE_NAMES: Final = "select svc.audit_note_names();"
"""Record the names of the tables that are audited now."""

_STATE: Final = """
select 'svc.audit_logs' as identity,
       case when to_regclass(to_char(now() at time zone 'UTC', '"svc.audit_logs_"YYYY_MM')) is null then 'missing'
            when exists (select from svc.audit_logs_default) then 'outdated'
            else 'ok' end as state
union all
(select c.oid::regclass::text, 'tampered'
   from pg_class c
  where c.relnamespace = 'svc'::regnamespace and c.relname ~ '^audit_logs_([0-9]{4}_[0-9]{2}|default)$'
    and c.relkind = 'r' and not c.relispartition
  order by 1)
"""
# Row triggers of the parent are cloned and refer to it by tgparentid (13 has only tgisinternal); statement triggers are
# each partition's own. 34 is a trigger before TRUNCATE for the statement.
_GUARDS: Final = """
select format('%s on %s', guard, i.inhrelid::regclass) as identity,
       case when t.oid is null then 'missing' when t.tgenabled = 'O' then 'tampered' else 'disabled' end as state
  from pg_inherits i
 cross join unnest(array['audit_guard_row', 'audit_guard_truncate']) guard
  left join pg_trigger t on t.tgrelid = i.inhrelid and t.tgname = guard and t.tgfoid = 'svc.audit_guard'::regproc
       and case guard when 'audit_guard_truncate' then t.tgtype = 34 else t.tgparentid = (
               select p.oid from pg_trigger p where p.tgrelid = i.inhparent and p.tgname = guard
           ) end
 where i.inhparent = 'svc.audit_logs'::regclass and t.tgenabled is distinct from 'A'
 order by 1
"""


@dataclass(frozen=True, slots=True)
class PartitionState:
    """The state of the log, of a detached partition, or of a guard.

    The log is ``missing`` this month's partition, or ``outdated`` if the default partition has rows.
    """

    identity: str
    state: Literal["ok", "missing", "outdated", "tampered", "disabled"]


def compare(conn: Connection[Any], installation: Installation) -> list[PartitionState]:
    """The state of the log as a whole, then every detached partition, and each guard that is missing or altered."""
    if not installation.has("audit_logs_default"):
        return [PartitionState("svc.audit_logs", "missing")]
    found = fetch(conn, Query(_STATE, (), PartitionState))
    if installation.around.has_guard:
        found += fetch(conn, Query(_GUARDS, (), PartitionState))
    return found

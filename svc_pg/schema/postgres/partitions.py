"""Check the partitions of the audit log: this month's exists, each has its guards, and none is detached."""

from dataclasses import dataclass
from typing import Any, Final, Literal

from psycopg import Connection

from svc_pg.database.query import Query, fetch
from svc_pg.database.statements import statement
from svc_pg.schema.postgres.installation import Installation

ENSURE: Final = "select svc.audit_ensure_partitions();"
REPAIR: Final = "select svc.audit_ensure_partitions(p_attaches => true);"
EPOCH: Final = "select svc.audit_begin_epoch();"
"""Record a restore of the log, if there was one."""
NOTE_NAMES: Final = "select svc.audit_note_names();"
"""Record the names of the tables that are audited now."""

_STATE: Final = statement("queries/schema/partitions.sql")
_GUARDS: Final = statement("queries/schema/partition_guards.sql")


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

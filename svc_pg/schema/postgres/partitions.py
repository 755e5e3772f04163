"""Check the partitions of the audit log: one is there for now, each has its guards, and none is detached."""

from dataclasses import dataclass
from typing import Any, Final, Literal

from psycopg import Connection

from svc_pg.config import AuditConfig
from svc_pg.database.query import Query, fetch, fetch_one
from svc_pg.database.statements import statement
from svc_pg.errors import ConfigError
from svc_pg.schema.postgres import log_indexes
from svc_pg.schema.postgres.installation import Installation

ENSURE: Final = "select svc.audit_ensure_partitions();"
REPAIR: Final = "select svc.audit_ensure_partitions(p_attaches => true);"
EPOCH: Final = "select svc.audit_begin_epoch();"
"""Record a restore of the log, if there was one."""
NOTE_NAMES: Final = "select svc.audit_note_names();"
"""Record the names of the tables that are audited now."""
NOTE_SHAPES: Final = "select svc.audit_note_shapes();"
"""Record their forms, which the audit trail compares."""

MOST_DAYS: Final = 400
"""The most partitions by day: of each, a read that its time does not bound plans and locks the indexes."""
_AHEAD: Final = 16
"""Today's partition, those to come, and the default one."""
_READERS: Final = 4
"""The reads of the whole log at a time for which there must be locks."""
_LOCKS: Final = """
select current_setting('max_locks_per_transaction')::integer * n.transactions as room, n.transactions
  from (select current_setting('max_connections')::integer
             + current_setting('max_prepared_transactions')::integer) n(transactions)
"""

_STATE: Final = statement("queries/schema/partitions.sql")
_GUARDS: Final = statement("queries/schema/partition_guards.sql")


@dataclass(frozen=True, slots=True)
class PartitionState:
    """The state of the log, of a detached partition, or of a guard.

    The log is ``missing`` the partition for now, or ``outdated`` if the default partition has rows.
    """

    identity: str
    state: Literal["ok", "missing", "outdated", "tampered", "disabled"]


def check_number(conn: Connection[Any], config: AuditConfig) -> None:
    """Raise ConfigError if the log would have more partitions than the server can read at a time."""
    if config.partitions != "day":
        return
    hint = f'Set retention_days to {MOST_DAYS} at most, or keep the log by month: partitions = "month".'
    if config.retention_days is None:
        raise ConfigError("audit.partitions: by day, a log without retention_days has ever more partitions", hint=hint)
    name, days = max(
        [("audit.retention_days", config.retention_days)]
        + [(f'table "{table.name}": retention_days', table.retention_days or 0) for table in config.tables],
        key=lambda each: each[1],
    )
    if days > MOST_DAYS:
        raise ConfigError(f"{name}: by day, the log would have {days} partitions", hint=hint)
    locks = (days + _AHEAD) * (2 + len(log_indexes.chosen(config)))
    room, transactions = fetch_one(conn, Query(_LOCKS, (), lambda room, transactions: (room, transactions)))
    if room < _READERS * locks:
        least = -(-_READERS * locks // transactions)
        raise ConfigError(
            f"audit.partitions: a read of a log of {days} days takes {locks} locks, and the server has room for {room}",
            hint=f"Set max_locks_per_transaction = {least} or more in postgresql.conf and restart the server, or keep"
            ' the log by month: without room, writes fail with "out of shared memory".',
        )


def compare(conn: Connection[Any], installation: Installation) -> list[PartitionState]:
    """The state of the log as a whole, then every detached partition, and each guard that is missing or altered."""
    if not installation.has("audit_logs_default"):
        return [PartitionState("svc.audit_logs", "missing")]
    found = fetch(conn, Query(_STATE, (), PartitionState))
    if installation.around.has_guard:
        found += fetch(conn, Query(_GUARDS, (), PartitionState))
    return found

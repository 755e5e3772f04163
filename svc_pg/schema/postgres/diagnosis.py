"""Explain why an install failed: a lock and its holders, a missing right, a lost connection."""

from dataclasses import dataclass
from typing import Any, Final

from psycopg import Connection, Error
from psycopg.errors import (
    DeadlockDetected,
    DependentObjectsStillExist,
    DuplicateSchema,
    InsufficientPrivilege,
    LockNotAvailable,
    UniqueViolation,
)
from psycopg.pq import TransactionStatus

from svc_pg.database.query import Query, fetch, scalar
from svc_pg.database.statements import statement
from svc_pg.database.table_names import TableName
from svc_pg.errors import InstallError
from svc_pg.schema.postgres import preflight
from svc_pg.schema.postgres.installation import look_around
from svc_pg.schema.postgres.transactions import transaction

LOCKED: Final = (LockNotAvailable, DeadlockDetected)
PASSING: Final = (*LOCKED, UniqueViolation, DuplicateSchema)
"""Errors that a retry may avoid; the last two if another install has created the schema first."""

_HOLDERS: Final = statement("queries/schema/lock_holders.sql")
_EVENT_TRIGGERS: Final = """
select string_agg(format('"%s"', evtname), ', ' order by evtname) from pg_event_trigger where evtenabled <> 'D'
"""


@dataclass(frozen=True, slots=True)
class _Holder:
    name: str
    facts: str


def diagnose(conn: Connection[Any], error: Error, *, table: str | None = None) -> InstallError:
    """Explain an error, with a look at the database after it; ``table`` is the audited table concerned."""
    reason = str(error).strip()
    if conn.closed or conn.info.transaction_status != TransactionStatus.IDLE:
        return InstallError(
            f"the connection to the database was lost: {reason}", hint="Try again; it goes on with what is left."
        )
    if isinstance(error, LOCKED):
        return InstallError(
            f"{reason}; locks are held by {_holders(conn, table)}", hint="Try again when they have ended."
        )
    if isinstance(error, DependentObjectsStillExist):
        return InstallError(
            f"{error.diag.message_primary}: {error.diag.message_detail}",
            hint="Drop what depends on it; you can make it again after an install.",
        )
    if isinstance(error, InsufficientPrivilege):
        return _not_allowed(conn, reason, table)
    return InstallError(reason, hint="Try again when the cause is gone; it goes on with what is left.")


def _holders(conn: Connection[Any], table: str | None) -> str:
    schema, name = TableName.parse(table) if table else ("svc", None)
    with transaction(conn):
        found = fetch(conn, Query(_HOLDERS, {"schema": schema, "table": name}, _Holder))
    return "; ".join(f"{holder.name} ({holder.facts})" for holder in found) or "nobody any more"


def _not_allowed(conn: Connection[Any], reason: str, table: str | None) -> InstallError:
    with transaction(conn):
        around = look_around(conn)
        refused = preflight.refuse_owner(conn, around, [table] if table else [], reason=reason)
        triggers = scalar(conn, _EVENT_TRIGGERS)
    if refused is not None:
        return refused
    hints = []
    if not around.is_superuser:
        hints.append(f'You are "{around.installer}". Install as the owner of the database or a superuser.')
    if triggers:
        hints.append(
            f"An install fires event triggers ({triggers}) also as svc_owner: let their functions be security"
            " definer, or disable them meanwhile."
        )
    return InstallError(reason, hint=" ".join(hints) or None)

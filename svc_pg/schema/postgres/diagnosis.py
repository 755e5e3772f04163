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
from svc_pg.rendering.templates import ident
from svc_pg.schema.postgres.installation import look_around
from svc_pg.schema.postgres.transactions import transaction

LOCKED: Final = (LockNotAvailable, DeadlockDetected)
PASSING: Final = (*LOCKED, UniqueViolation, DuplicateSchema)
"""Errors that a retry may avoid; the last two if another install has created the schema first."""

_HOLDERS: Final = statement("queries/schema/lock_holders.sql")
_OWNER: Final = """
select o.rolname::text as name, o.rolsuper as is_superuser, c.oid::regclass::text as "table"
  from pg_class c join pg_namespace n on n.oid = c.relnamespace join pg_roles o on o.oid = c.relowner
 where n.nspname = %s and c.relname = %s
   and not (pg_has_role(c.relowner, 'USAGE') and pg_has_role(c.relowner, %s))
"""
_EVENT_TRIGGERS: Final = """
select string_agg(format('"%s"', evtname), ', ' order by evtname) from pg_event_trigger where evtenabled <> 'D'
"""


@dataclass(frozen=True, slots=True)
class _Holder:
    name: str
    facts: str


@dataclass(frozen=True, slots=True)
class _Owner:
    name: str
    is_superuser: bool
    table: str


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
        needed = "SET" if around.has_options else "MEMBER"  # to make the owner that of the functions as well
        owners = fetch(conn, Query(_OWNER, (*TableName.parse(table), needed), _Owner)) if table else []
        triggers = scalar(conn, _EVENT_TRIGGERS)
    me = around.installer
    if not owners:
        hints = [] if around.is_superuser else [f'You are "{me}". Install as the owner of the database or a superuser.']
        if triggers:
            hints.append(
                f"An install fires event triggers ({triggers}) also as svc_owner: let their functions be security"
                " definer, or disable them meanwhile."
            )
        return InstallError(reason, hint=" ".join(hints) or None)
    [owner] = owners
    return InstallError(
        f'{reason}: the table belongs to role "{owner.name}", and you are "{me}"',
        hint=f"Install as a superuser, or let one execute: alter table {owner.table} owner to {ident(me)};"
        if owner.is_superuser
        else f"Let somebody who may execute: grant {ident(owner.name)} to {ident(me)};",
    )

"""What keeps an install from its work, in words: another server, a missing right, a lock, a lost connection."""

from dataclasses import dataclass
from typing import Any, Final

from psycopg import Connection, Error
from psycopg.errors import DeadlockDetected, DependentObjectsStillExist, InsufficientPrivilege, LockNotAvailable
from psycopg.pq import TransactionStatus

from svc_pg.errors import InstallError
from svc_pg.query import Query, fetch, scalar
from svc_pg.render import ident
from svc_pg.schema import roles
from svc_pg.schema.access import Access
from svc_pg.schema.transactions import transaction
from svc_pg.table_names import TableName

OLDEST: Final = 130000
LOCKED: Final = (LockNotAvailable, DeadlockDetected)

# By pg_inherits, because pg_partition_tree would wait for the very locks. Where it is not known which table was locked,
# it is one of ours, or one on which somebody has the only lock that stops a look at its catalog.
_HOLDERS: Final = """
with recursive tree as (
    select c.oid from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where n.nspname = %(schema)s and (c.relname = %(table)s or %(table)s::text is null)
    union
    select i.inhrelid from tree join pg_inherits i on i.inhparent = tree.oid
)
select coalesce('pid ' || l.pid, 'a prepared transaction') as name,
       concat_ws(', ', a.usename, nullif(a.application_name, ''), a.state, 'since ' || a.xact_start) as facts
  from pg_locks l left join pg_stat_activity a on a.pid = l.pid
 where l.locktype = 'relation' and l.granted and l.pid is distinct from pg_backend_pid()
   and l.database = (select oid from pg_database where datname = current_database())
   and (l.relation in (select oid from tree) or %(table)s::text is null and l.mode = 'AccessExclusiveLock')
 group by l.pid, a.usename, a.application_name, a.state, a.xact_start
 order by a.xact_start
"""
_OWNER: Final = """
select pg_get_userbyid(c.relowner) from pg_class c join pg_namespace n on n.oid = c.relnamespace
 where n.nspname = %s and c.relname = %s and not pg_has_role(c.relowner, 'USAGE')
"""


@dataclass(frozen=True, slots=True)
class _Holder:
    name: str
    facts: str


def check_server(conn: Connection[Any]) -> None:
    """Raise InstallError where nothing can be installed on this server, in this database or in this session."""
    if conn.info.server_version < OLDEST:
        raise InstallError(
            f"the server is PostgreSQL {conn.info.parameter_status('server_version')}, and svc-pg needs 13 or later"
        )
    encoding = conn.info.parameter_status("server_encoding")
    if encoding != "UTF8":
        raise InstallError(
            f"the encoding of the database is {encoding}, and svc-pg needs UTF8",
            hint="Snapshots and payloads are JSON, which another encoding cannot hold.",
        )
    if scalar(conn, "select pg_is_in_recovery()"):
        raise InstallError(
            "the server is a standby, which cannot be written to",
            hint="Connect to the primary: target_session_attrs=read-write.",
        )
    if scalar(conn, "select current_setting('transaction_read_only')::boolean"):
        raise InstallError(
            "the session is read-only", hint="default_transaction_read_only is on, for the role, database or server."
        )


def check_rights(conn: Connection[Any]) -> None:
    """Raise InstallError where the installer can neither make schema ``svc`` nor act as its owner."""
    me = roles.installer(conn).name
    owner = scalar(conn, "select pg_get_userbyid(nspowner) from pg_namespace where nspname = 'svc'")
    if owner is None:
        if not scalar(conn, "select has_database_privilege(current_database(), 'CREATE')"):
            name = ident(conn.info.dbname)
            raise InstallError(
                f'role "{me}" cannot create a schema in this database',
                hint=f"Let its owner execute: grant create on database {name} to {ident(me)};",
            )
    elif owner in roles.OWNERS:
        roles.join(conn)
    elif not scalar(conn, "select pg_has_role(%s::name, 'USAGE')", (owner,)):
        raise InstallError(
            f'schema svc belongs to role "{owner}", and you are "{me}"',
            hint=f"Install as {owner}, or let somebody who may execute: grant {ident(owner)} to {ident(me)};",
        )


def check_roles(conn: Connection[Any], access: Access) -> None:
    """Raise InstallError where roles are missing that the installer cannot create."""
    missing = [role.name for role in roles.compare(conn) if role.state == "missing"] if access.has_roles else []
    me = roles.installer(conn)
    if missing and not me.creates_roles:
        made = " ".join(f"create role {role} nologin;" for role in missing)
        raise InstallError(
            f'roles are missing, and role "{me.name}" cannot create roles: {", ".join(missing)}',
            hint=f"Let a superuser execute: {made} grant {', '.join(roles.OWNERS)} to {ident(me.name)};"
            " or install with --no-roles: everything then belongs to the installer.",
        )


def explained(conn: Connection[Any], error: Error, *, table: str | None = None) -> InstallError:
    """What an error means, with a look at the database after it; ``table`` is the audited table it was about."""
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
        owner = scalar(conn, _OWNER, tuple(TableName.parse(table))) if table else None
        me = roles.installer(conn).name
    if owner is None:
        return InstallError(reason, hint=f'You are "{me}". Install as the owner of the database or a superuser.')
    return InstallError(
        f'{reason}: the table belongs to role "{owner}", and you are "{me}"',
        hint=f"Let somebody who may execute: grant {ident(owner)} to {ident(me)};",
    )

"""Refuse an install before it changes anything: another server, a missing right, a missing role."""

from typing import Any, Final

from psycopg import Connection

from svc_pg.errors import InstallError
from svc_pg.query import scalar
from svc_pg.render import ident
from svc_pg.schema import roles
from svc_pg.schema.access import Access

OLDEST: Final = 130000


def check_server(conn: Connection[Any]) -> None:
    """Raise InstallError if nothing can be installed on this server, in this database or in this session."""
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
    """Raise InstallError if the installer can neither make schema ``svc`` nor act as its owner."""
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
    """Raise InstallError if roles are missing that the installer cannot create."""
    missing = [role.name for role in roles.compare(conn) if role.state == "missing"] if access.has_roles else []
    me = roles.installer(conn)
    if missing and not me.creates_roles:
        made = " ".join(f"create role {role} nologin;" for role in missing)
        raise InstallError(
            f'roles are missing, and role "{me.name}" cannot create roles: {", ".join(missing)}',
            hint=f"Let a superuser execute: {made} grant {', '.join(roles.OWNERS)} to {ident(me.name)};"
            " or install with --no-roles: everything then belongs to the installer.",
        )

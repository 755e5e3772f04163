"""Refuse an install before it changes anything: another server, a missing right, a missing role."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from psycopg import Connection

from svc_pg.database.query import Query, fetch
from svc_pg.database.statements import statement
from svc_pg.database.table_names import TableName
from svc_pg.errors import InstallError
from svc_pg.rendering.templates import ident
from svc_pg.schema.postgres import roles
from svc_pg.schema.postgres.access import Access
from svc_pg.schema.postgres.installation import OWNERS, Surroundings
from svc_pg.schema.postgres.transactions import ALONE

OLDEST: Final = 130000
_OWNER: Final = statement("queries/schema/table_of_others.sql")


@dataclass(frozen=True, slots=True)
class _Owner:
    name: str
    is_superuser: bool
    table: str


def check_server(conn: Connection[Any]) -> None:
    """Raise InstallError if this server or this database can be neither installed into nor inspected."""
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


def check_rights(conn: Connection[Any], around: Surroundings) -> None:
    """Raise InstallError if the session is read-only, or can neither create schema ``svc`` nor act as its owner.

    If allowed, the installer becomes a member of the owner, and then takes the install lock, refused before.
    """
    if around.is_standby:
        raise InstallError(
            "the server is a standby, which cannot be written to",
            hint="Connect to the primary: target_session_attrs=read-write.",
        )
    if around.is_read_only:
        raise InstallError(
            "the session is read-only", hint="default_transaction_read_only is on, for the role, database or server."
        )
    me = around.installer
    if around.schema_owner is None:
        if not around.creates_schemas:
            name = ident(conn.info.dbname)
            raise InstallError(
                f'role "{me}" cannot create a schema in this database',
                hint="Install as another role, or let the owner of the database execute:"
                f" grant create on database {name} to {ident(me)};",
            )
    elif around.schema_owner in OWNERS:
        roles.join(conn, around)
        if "installation" in around.relations:
            conn.execute(ALONE)
    elif not around.acts_as_schema_owner:
        raise InstallError(
            f'schema svc belongs to role "{around.schema_owner}", and you are "{me}"',
            hint=f"Install as {around.schema_owner}."
            if around.is_schema_of_superuser
            else f"Install as {around.schema_owner}, or let somebody who may execute:"
            f" grant {ident(around.schema_owner)} to {ident(me)};",
        )


def check_roles(around: Surroundings, access: Access) -> None:
    """Raise InstallError if roles are missing that the installer cannot create."""
    missing = [role for role in access.roles if role not in around.roles]
    if missing and not around.creates_roles:
        made = " ".join(f"create role {role} nologin;" for role in missing)
        me = around.installer
        raise InstallError(
            f'roles are missing, and role "{me}" cannot create roles: {", ".join(missing)}',
            hint=f"Let a superuser execute: {made} grant {', '.join(OWNERS)} to {ident(me)};"
            " or install with --no-roles: everything then belongs to the installer.",
        )


def refuse_owner(
    conn: Connection[Any], around: Surroundings, tables: Sequence[str], *, reason: str | None = None
) -> InstallError | None:
    """The error of the first of these tables whose owner the installer cannot act as, None if there is none.

    ``reason`` is what the server said, if it has refused already.
    """
    names = [TableName.parse(table) for table in tables]
    needed = "SET" if around.has_options else "MEMBER"  # to make the owner that of the functions as well
    params = {"schemas": [name.schema for name in names], "tables": [name.table for name in names], "needed": needed}
    for owner in fetch(conn, Query(_OWNER, params, _Owner)):
        me = around.installer
        what = f"table {owner.table}" if reason is None else f"{reason}: the table"
        return InstallError(
            f'{what} belongs to role "{owner.name}", and you are "{me}"',
            hint=f"Install as a superuser, or let one execute: alter table {owner.table} owner to {ident(me)};"
            if owner.is_superuser
            else f"Let somebody who may execute: grant {ident(owner.name)} to {ident(me)};",
        )
    return None

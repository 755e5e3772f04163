"""Refuse an install before it changes anything: another server, a missing right, a missing role."""

from typing import Any, Final

from psycopg import Connection

from svc_pg.errors import InstallError
from svc_pg.rendering.templates import ident
from svc_pg.schema.postgres import roles
from svc_pg.schema.postgres.access import Access
from svc_pg.schema.postgres.installation import OWNERS, Surroundings
from svc_pg.schema.postgres.transactions import ALONE

OLDEST: Final = 130000


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

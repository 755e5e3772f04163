"""The statements of a revision of Alembic or Django, made when it runs, for the database that it runs in."""

from typing import Any

from psycopg import Connection
from psycopg.errors import InsufficientPrivilege

from svc_pg.config import Config
from svc_pg.config.installed_parts import json_of, parts_of, products_of
from svc_pg.database.table_names import TableName
from svc_pg.errors import InstallError, SvcError
from svc_pg.rendering.schema_objects import OBJECT_KINDS
from svc_pg.rendering.templates import render
from svc_pg.schema.configuration_change import ConfigurationChange
from svc_pg.schema.export.script import Script
from svc_pg.schema.export.script import statements as split
from svc_pg.schema.postgres import access, installation, preflight, sql_script
from svc_pg.schema.postgres.access import Access
from svc_pg.schema.postgres.installation import Installation
from svc_pg.schema.postgres.migrations import released
from svc_pg.schema.postgres.steps import removal_plan
from svc_pg.schema.postgres.transactions import lock, looking, transaction
from svc_pg.schema.refusals import refuse_newer


def statements(
    conn: Connection[Any], change: ConfigurationChange, *, backwards: bool, is_printed: bool = False
) -> list[str]:
    """The statements, to be run in the caller's transaction, inside which it looks at the database.

    If they are to be ``is_printed`` for somebody else, the role of the connection need not have the rights to run them,
    and if there are none, because somebody has installed all of it, it need only be able to see that.

    The way up makes everything of schema ``svc`` as this svc-pg has it, and the captures and events as the
    configuration after the change says. The way back does so by the configuration before it; that of the first
    revision removes all triggers, views and functions, and keeps the data. None are left if it is so already. Raises
    the errors of ``install`` that come before any change, and those of ``ConfigurationChange``.
    """
    preflight.check_server(conn)
    change.check_version(released()[-1].number)
    lock(conn)  # before it looks: what it makes fits only as long as nobody else installs
    refusal = None if is_printed else _refusal(conn)
    try:
        made = _statements(
            conn, change, backwards=backwards, is_printed=is_printed, joins=not is_printed and refusal is None
        )
    except (SvcError, InsufficientPrivilege):
        if refusal is None:
            raise
        raise refusal from None
    if made and refusal is not None:
        raise refusal
    return made


def _refusal(conn: Connection[Any]) -> InstallError | None:
    """The reason why the role may not install, if there is one."""
    try:
        with looking(conn):
            preflight.check_rights(conn, installation.look_around(conn))
    except InstallError as error:
        return error
    return None


def _statements(
    conn: Connection[Any], change: ConfigurationChange, *, backwards: bool, is_printed: bool, joins: bool
) -> list[str]:
    with looking(conn):
        around = installation.look_around(conn)
        if joins:
            preflight.check_rights(conn, around)  # by which it becomes a member of the owner, as the look needs
        present = installation.read_installation(conn, around)
        refuse_newer(present.version)
        if backwards and change.is_first:
            return _removal_of_all(conn, present)
    config = _configuration(present, change, backwards=backwards)
    roles = None if backwards else change.roles
    made = sql_script.script(conn, config, prune=change.prune or backwards, roles=roles, within=looking)
    if made is not None:
        if not is_printed:
            products = products_of(config, present.configuration)
            _check_run(conn, present, made, access.wanted(present, config.grants, roles=roles, products=products))
        return made.split(made.upgrade)
    parts = parts_of(config)
    if present.configuration is not None and json_of(parts) == json_of(present.configuration):
        return []
    return [render("script/record_configuration.sql.j2", configuration=json_of(parts)).rstrip().removesuffix(";")]


def _check_run(conn: Connection[Any], present: Installation, made: Script, wanted: Access) -> None:
    """Raise InstallError if the role may make neither the roles of svc nor triggers of each table that changes."""
    preflight.check_roles(present.around, wanted)
    tables = [table for table in made.tables if TableName.parse(table).schema != "svc"]
    with looking(conn):
        refused = preflight.refuse_owner(conn, present.around, tables)
    if refused is not None:
        raise refused


def configuration_after(conn: Connection[Any], change: ConfigurationChange) -> Config:
    """The configuration of the database after the change. ``conn`` must be outside a transaction. Raises as above."""
    preflight.check_server(conn)
    change.check_version(released()[-1].number)
    with transaction(conn):
        return _configuration(installation.read_installation(conn, installation.look_around(conn)), change)


def _configuration(present: Installation, change: ConfigurationChange, *, backwards: bool = False) -> Config:
    is_installed = present.version is not None
    return change.configuration(present.configuration, is_installed=is_installed, backwards=backwards)


def _removal_of_all(conn: Connection[Any], present: Installation) -> list[str]:
    if not present.has("installed_objects"):
        return []
    _, steps = removal_plan(conn, present)
    made = [f"{step.kind} {step.identity}" for step in steps if step.kind in OBJECT_KINDS]
    return split(sql_script.removal(made, configuration=None, is_all=True, has_ddl=True)) if made else []

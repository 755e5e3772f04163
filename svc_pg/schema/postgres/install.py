"""Make a database equal to a configuration, in transactions that are each consistent."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any, Final, TypeVar

from psycopg import Connection
from psycopg.sql import SQL, Identifier

from svc_pg.capture.postgres.foreign_code import check_partition_keys
from svc_pg.capture.postgres.own_tables import OWN_TABLES
from svc_pg.config import Config
from svc_pg.database.table_names import TableName
from svc_pg.errors import ConfigError, InstallError, UnknownTableError
from svc_pg.schema.install_waits import FOR_INSTALL, FOR_TABLE
from svc_pg.schema.postgres import (
    access,
    ddl_triggers,
    gaps,
    index_builder,
    installation,
    inventory,
    partitions,
    preflight,
    scope,
)
from svc_pg.schema.postgres.installation import Installation, look_around
from svc_pg.schema.postgres.roles import join
from svc_pg.schema.postgres.scope import Scope
from svc_pg.schema.postgres.steps import Plan, tables_with_triggers, take
from svc_pg.schema.postgres.target import target_of
from svc_pg.schema.postgres.transactions import Patience
from svc_pg.schema.postgres.units import in_unit
from svc_pg.schema.refusals import refuse_lost, refuse_newer, refuse_removals, unfinished
from svc_pg.schema.status import Status

_TOGETHER: Final = 25
"""The tables of a transaction of many: a writer of one waits for the triggers of all, about a tenth of a second."""

Result = TypeVar("Result")


def install(
    conn: Connection[Any],
    config: Config,
    *,
    prune: bool = False,
    roles: bool | None = None,
    wait_for_table: timedelta = FOR_TABLE,
    wait_for_install: timedelta = FOR_INSTALL,
) -> list[Status]:
    """Make the database equal to ``config``. Returns the steps taken: none if it was equal already.

    One transaction for the schema, then those of the audited tables, one for removals, and one that notes the names of
    all of them. New tables are installed together, unless one of them is in use; each other one in a transaction of
    its own. ``conn`` must be outside a transaction and is left so. Two installs at a time wait for each other. Objects
    that the configuration no longer names are removed only with ``prune``. The lock of a table is tried three times,
    ``wait_for_table`` each.

    With ``roles`` everything belongs to the roles of ``svc_pg.schema.postgres.roles``, made if missing; without them to
    the installer, so that every connection as that role can disable the log's guards. Default: as it was installed, and
    with roles in a new database.

    Last, outside a transaction, indexes of the log that are lost, or that ``config.audit`` chooses, are built without
    stopping captures, which waits for all older transactions; with ``prune`` those that it does not choose are dropped.

    Raises, before anything is changed: TransactionError; ConfigError and UnknownTableError; RemovalRefusedError if
    ``prune`` is missing; DatabaseNewerError, MigrationChangedError and InstallError if this program, the server and
    the installer's rights do not fit. Raises InstallError if a table could not be finished or the connection was lost:
    the finished tables stay, and the next install continues.
    """
    patience = Patience(for_install=wait_for_install, for_table=wait_for_table)
    unit = partial(in_unit, conn, patience)
    plan, done = unit(lambda: install_schema(conn, config, prune=prune, with_roles=roles))
    rights = [step for step in plan.steps if step.kind == "access"]  # taken with the others, and last in the plan
    left = [table for table in plan.target.tables if table in plan.by_table]
    new = [table for table in left if plan.is_all_new(table)]
    plan, taken = _install_together(conn, config, plan, new, patience)
    done += taken
    left = [table for table in left if table in plan.by_table]
    failures: dict[str, InstallError] = {}
    for table in list(left):
        try:
            plan, taken = unit(partial(_install_tables, conn, config, plan, [table]), table=table)
        except InstallError as error:
            failures[table] = error
            if conn.closed:
                break
        else:
            done += taken
            left.remove(table)
    if failures:
        if not conn.closed:
            _note_names(conn, plan, done, patience)
        raise unfinished(left, failures)
    is_replaced = any(step.kind == "function" and step.audited_table and step.state != "missing" for step in done)
    if is_replaced or plan.removals(prune=prune):
        done += unit(lambda: _remove(conn, plan, prune=prune))
    _note_names(conn, plan, done, patience)
    later = index_builder.ensure(conn, plan.target.indexes, prune=prune) if plan.has_other_indexes else []
    return done + rights + later


def _note_names(conn: Connection[Any], plan: Plan, done: Sequence[Status], patience: Patience) -> None:
    """Note the names of the tables that are audited now, and their forms, as far as the steps can have changed them.

    With no step there is none that the schema's transaction has not noted already.
    """
    if any((step.kind == "trigger" and step.action != "remove") or plan.target.has_ddl for step in done):
        shapes = partitions.NOTE_SHAPES if "audit" in plan.target.products else ""
        in_unit(conn, patience, lambda: conn.execute((partitions.NOTE_NAMES + shapes).encode()))


def install_schema(
    conn: Connection[Any], config: Config, *, prune: bool, with_roles: bool | None
) -> tuple[Plan, list[Status]]:
    """Plan, and take all steps except those of audited tables and removals; return the plan of these, and the steps.

    In a transaction that holds the install lock. In a new database the steps of our own audited tables, not in
    use yet, are taken too.
    """
    preflight.check_server(conn)
    around = look_around(conn)
    preflight.check_rights(conn, around)
    present = installation.read_installation(conn, around)
    refuse_newer(present.version)
    plan = Plan.of(conn, present, target_of(conn, present, config, roles=with_roles))
    if not prune:
        refuse_removals(plan.steps)
    preflight.check_roles(around, plan.target.access)
    refuse_lost(plan.steps)
    check_partition_keys(conn, tables_with_triggers(plan.steps))
    own = [str(table.name) for table, _ in OWN_TABLES] if present.version is None else []
    steps = [step for table in (None, *own) for step in plan.by_table.get(table, [])]
    steps = [step for step in steps if step.action != "remove" or step.is_stray_overload]
    event_triggers = [step for step in steps if step.kind == ddl_triggers.KIND]
    done = take(conn, [step for step in steps if step.kind != ddl_triggers.KIND])
    if any(step.kind == "migration" for step in done):
        inventory.record(conn)
    left = {table: steps for table, steps in plan.by_table.items() if table not in own}
    revision = _finish_schema(conn, present, plan, done, event_triggers)
    return replace(plan, by_table=left, revision=revision), done + event_triggers


def _finish_schema(
    conn: Connection[Any], present: Installation, plan: Plan, done: list[Status], event_triggers: list[Status]
) -> int:
    """Correct rights and partitions, make the event triggers, and record the install; return the revision.

    Without the rights an event trigger would fail to record the grants.
    """
    wanted = plan.target.access
    if wanted.has_roles and (done or present.around.lacking):
        join(conn, look_around(conn))
    if done or any(step.kind == "access" for step in plan.steps):
        access.apply(conn, wanted)
    if not any(step.is_left_out for step in plan.steps):
        inventory.forget_dropped(conn, present, plan.target.products)
    conn.execute((partitions.REPAIR + partitions.EPOCH + inventory.RENEW + gaps.keep_sql(plan.steps)).encode())
    take(conn, event_triggers)
    return installation.record_install(
        conn,
        present,
        plan.target.configuration,
        has_roles=wanted.has_roles,
        access_sha256=access.fingerprint(wanted),
        is_changed=bool(done or event_triggers),
    )


def _install_together(
    conn: Connection[Any], config: Config, plan: Plan, tables: Sequence[str], patience: Patience
) -> tuple[Plan, list[Status]]:
    """Install what can be of new tables in transactions of many; what fails there is left to one of its own.

    First functions and views, which no table waits for; then the triggers, for which all tables are locked at once, or
    none, so that nobody who holds one waits for another.
    """
    done: list[Status] = []
    for some in (tables[first : first + _TOGETHER] for first in range(0, len(tables), _TOGETHER)):
        for work in (_install_objects, _install_tables):
            try:
                plan, taken = in_unit(conn, patience, partial(work, conn, config, plan, some), tries=1)
            except InstallError as error:
                if conn.closed:
                    left = [table for table in plan.target.tables if table in plan.by_table]
                    raise unfinished(left, {f"{some[0]} or another": error}) from error
                break
            done += taken
            plan = plan.after(taken)
    return plan, done


def _install_objects(
    conn: Connection[Any],
    _: Config,
    plan: Plan,
    tables: Sequence[str],
) -> tuple[Plan, list[Status]]:
    """Create the functions and views of tables."""
    plan = plan.next(conn)
    conn.execute(scope.FEW, prepare=False)
    done = take(conn, [step for step in plan.of_tables(tables) if step.kind != "trigger"])
    _apply_rights(conn, plan, tables)
    return plan, done


def _install_tables(
    conn: Connection[Any], config: Config, plan: Plan, tables: Sequence[str]
) -> tuple[Plan, list[Status]]:
    """Take all steps of tables. Does not wait for the lock of one if there are others."""
    plan = plan.next(conn)
    conn.execute(scope.FEW, prepare=False)
    if len(tables) > 1:
        names = SQL(", ").join(Identifier(*TableName.parse(table)) for table in tables)
        conn.execute(SQL("lock table {} in share row exclusive mode nowait").format(names))
    done = take(conn, plan.of_tables(tables))
    if (anew := _made_anew(conn, config, plan, tables)) is not None:
        plan, taken = anew, {(step.kind, step.identity) for step in done}
        again = take(conn, plan.of_tables(tables))
        done += [step for step in again if (step.kind, step.identity) not in taken]
    gaps.note(conn, tables)
    _apply_rights(conn, plan, tables)
    return plan, done


def _apply_rights(conn: Connection[Any], plan: Plan, tables: Sequence[str]) -> None:
    """Correct the rights of the functions and views of tables, whose owners may have changed meanwhile."""
    items = [item for table in tables for item in plan.target.tables.get(table, ())]
    if names := Scope.of(items).names:
        access.apply(conn, plan.target.access, names=names)


def _made_anew(conn: Connection[Any], config: Config, plan: Plan, tables: Sequence[str]) -> Plan | None:
    """A new plan if a table changed during the wait for its lock, which is held now; else None."""
    try:
        if not plan.target.has_changed(conn, tables):
            return None
        present = installation.read_installation(conn, look_around(conn))
        return Plan.of(conn, present, target_of(conn, present, config))
    except (ConfigError, UnknownTableError) as error:
        raise InstallError(f"a table was changed meanwhile: {error.message}", hint=error.hint) from error


def _remove(conn: Connection[Any], plan: Plan, *, prune: bool) -> list[Status]:
    """Take the removals, and then revoke the rights that removed or replaced objects needed, for example to hash."""
    done = take(conn, plan.next(conn).removals(prune=prune))
    gaps.note(conn, [step.audited_table for step in done if step.audited_table in plan.target.tables])
    access.apply(conn, plan.target.access)
    return done

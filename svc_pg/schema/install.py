"""Make a database equal to a configuration, or free of svc-pg, in transactions that each leave it consistent."""

from typing import Any

from psycopg import Connection, Error

from svc_pg import __version__
from svc_pg.config import Config
from svc_pg.errors import DatabaseNewerError, InstallError, RemovalRefusedError
from svc_pg.query import scalar
from svc_pg.schema import access, catalog, migrations
from svc_pg.schema.desired import Desired, desired, guards
from svc_pg.schema.status import Status, look
from svc_pg.schema.transactions import locked


def install(conn: Connection[Any], config: Config, *, prune: bool = False) -> list[Status]:
    """Make the database equal to ``config``. Returns the steps taken: none, where it was so already.

    One transaction for the schema, then one for each audited table, then one for removals. ``conn`` must be outside a
    transaction and is left so. Two installs at a time wait for each other. What the configuration does not name any
    more is removed only with ``prune``.

    Raises, before anything is changed: TransactionError; ConfigError and UnknownTableError; RemovalRefusedError where
    ``prune`` is missing; DatabaseNewerError, MigrationChangedError and InstallError where this program and the database
    do not fit. Raises InstallError where a table could not be finished: the others are, and the next install goes on.
    """
    with locked(conn):
        _refuse_newer(conn)
        wanted = desired(conn, config)
        steps = [step for step in look(conn, wanted) if step.action != "keep"]
        if not prune:
            _refuse_removals(steps)
        done = _take(conn, [step for step in steps if step.action != "remove" and not step.audited_table])
        _finish_schema(conn)
    units = {step.audited_table for step in steps}
    failures: dict[str, str] = {}
    for table in [table for table in wanted.tables if table in units]:
        try:
            with locked(conn):
                done += _take(conn, [step for step in look(conn, wanted) if step.audited_table == table])
                access.reset(conn)
        except Error as error:
            if conn.closed:
                raise
            failures[table] = str(error).strip()
    if failures:
        raise InstallError(
            f"not installed: {', '.join(failures)} (the rest is)\n"
            + "\n".join(f"{table}: {reason}" for table, reason in failures.items()),
            hint="Install again when the cause is gone; it goes on with what is left.",
        )
    if any(step.action == "remove" for step in steps):
        with locked(conn):
            done += _take(conn, [step for step in look(conn, wanted) if step.action == "remove"])
    return done


def _take(conn: Connection[Any], steps: list[Status]) -> list[Status]:
    """Execute the steps that are to be taken, and return them."""
    known = {str(migration): migration for migration in migrations.released()}
    taken = [step for step in steps if step.action != "keep"]
    for step in taken:
        if step.kind == "migration":
            migrations.apply(conn, known[step.identity])
        elif step.kind == "event":
            conn.execute(step.sql.encode())
        elif step.item is None:
            catalog.remove(conn, step.kind, step.identity, step.sql)
        else:
            catalog.create(conn, step.item)
    catalog.record(conn, [step.item for step in taken if step.item is not None])
    return taken


def _finish_schema(conn: Connection[Any]) -> None:
    conn.execute("select svc.audit_ensure_partitions()")
    access.reset(conn)
    conn.execute(
        "insert into svc.installation (version) values (%s) on conflict (is_only) do update"
        " set version = excluded.version where installation.version <> excluded.version",
        (__version__,),
    )


def _refuse_newer(conn: Connection[Any]) -> None:
    if not catalog.is_installed(conn):
        return
    installed = scalar(conn, "select version from svc.installation")
    if installed is not None and _order(installed) > _order(__version__):
        raise DatabaseNewerError(
            f"the database was installed by svc-pg {installed}, and this is {__version__}",
            hint=f"Upgrade this one to {installed} or later.",
        )


def _order(version: str) -> list[int]:
    return [int(part) for part in version.split(".") if part.isdigit()]


def _refuse_removals(steps: list[Status]) -> None:
    removals = [step for step in steps if step.needs_prune]
    if removals:
        names = list(dict.fromkeys(step.audited_table or f"{step.kind} {step.identity}" for step in removals))
        raise RemovalRefusedError(
            f"the configuration does not name what is installed: {', '.join(names)}",
            hint="Nothing has been changed. Is this the right configuration? To remove them, add --prune.",
        )


def uninstall(conn: Connection[Any], *, drop_data: bool = False) -> list[Status]:
    """Remove our triggers and functions, and with ``drop_data`` the schema ``svc`` with the log and the queue.

    Without ``drop_data`` the tables stay, the audit log is still guarded against change, and a later install goes on
    with them. Returns the steps taken: none, where svc-pg is not installed. ``conn`` must be outside a transaction.
    Raises InstallError where views outside ``svc`` depend on its tables.
    """
    with locked(conn):
        if not catalog.is_installed(conn):
            return []
        kept = Desired(schema=guards(), tables={}, events={})
        steps = [step for step in look(conn, kept) if step.action == "remove" and step.kind != "event"]
        done = _take(conn, steps)
        if drop_data:
            done.append(_drop_schema(conn))
        return done


def _drop_schema(conn: Connection[Any]) -> Status:
    if views := scalar(conn, _FOREIGN_VIEWS):
        raise InstallError(f"these views read from schema svc: {views}", hint="Drop them first.")
    step = Status("schema", "svc", "orphan", "drop schema svc cascade")
    conn.execute(step.sql.encode())
    return step


_FOREIGN_VIEWS = """
select string_agg(distinct v.oid::regclass::text, ', ')
  from pg_depend d
  join pg_rewrite w on d.classid = 'pg_rewrite'::regclass and w.oid = d.objid
  join pg_class v on v.oid = w.ev_class
  join pg_class t on d.refclassid = 'pg_class'::regclass and t.oid = d.refobjid
 where t.relnamespace = to_regnamespace('svc') and v.relnamespace <> t.relnamespace
"""

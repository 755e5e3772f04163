"""Make a database of MySQL or MariaDB equal to a configuration, or free of svc-pg, in independent steps."""

from collections.abc import Iterable
from datetime import timedelta
from functools import partial

from svc_pg import __version__
from svc_pg.config import Config
from svc_pg.database.dbapi import DbApiConnection, execute
from svc_pg.errors import InstallError, SvcError
from svc_pg.other_databases.schema.mysql import definers, installed, log_ids, migrations, preflight
from svc_pg.other_databases.schema.mysql.diagnosis import diagnose
from svc_pg.other_databases.schema.mysql.differences import look
from svc_pg.other_databases.schema.mysql.installation import Installation, read_installation
from svc_pg.other_databases.schema.mysql.installed import exchanges
from svc_pg.other_databases.schema.mysql.session import is_lost, locked, patiently, pinned
from svc_pg.other_databases.schema.mysql.target import guards, target_of
from svc_pg.rendering.schema_objects import Trigger
from svc_pg.schema.change import Removal
from svc_pg.schema.install_waits import FOR_INSTALL, FOR_TABLE
from svc_pg.schema.migration_files import by_name
from svc_pg.schema.refusals import refuse_lost, refuse_newer, refuse_removals, unfinished
from svc_pg.schema.status import Status, steps_of


def install(
    conn: DbApiConnection,
    config: Config,
    *,
    prune: bool = False,
    wait_for_table: timedelta = FOR_TABLE,
    wait_for_install: timedelta = FOR_INSTALL,
) -> list[Status]:
    """Make the database equal to ``config``. Returns the steps taken: none if it was equal already.

    DDL commits at once, so each step holds alone and is recorded right after it; the triggers of one table are
    exchanged while it is locked. ``conn`` must be outside a transaction and is left so. Two installs at a time wait for
    each other, also those of other databases of the server. The lock of a table is tried three times.

    Raises, before anything is changed: TransactionError; ConfigError and UnknownTableError; RemovalRefusedError if
    ``prune`` is missing; DatabaseNewerError, MigrationChangedError and InstallError if this program, the server and
    the installer's rights do not fit. Raises InstallError if a table could not be finished or the connection was lost:
    the finished tables stay, and the next install continues.
    """
    with pinned(conn) as server, locked(conn, wait_for_install, wait_for_table):
        preflight.check_server(server)
        preflight.check_rights(conn)
        present = read_installation(conn)
        refuse_newer(present.version)
        wanted = target_of(conn, server, config)
        definers.check_own(conn, server, [Trigger.parse(item.identity) for item in wanted])
        steps = steps_of(look(conn, server, present, wanted))
        refuse_lost(steps)
        if not prune:
            refuse_removals(steps)
        done = _make_schema(conn, present, steps)
        triggers = [step for step in steps if step.kind == "trigger"]
        done += _exchange(conn, [step for step in triggers if not step.audited_table], server.database, prune=prune)
        done += log_ids.renumber(conn, steps)  # which the guard of updates lets pass
        return done + _exchange(conn, [step for step in triggers if step.audited_table], server.database, prune=prune)


def _make_schema(conn: DbApiConnection, present: Installation, steps: Iterable[Status]) -> list[Status]:
    known = by_name(migrations.released())
    done = [step for step in steps if step.kind == "migration"]
    try:
        for step in done:
            migrations.apply(conn, known[step.identity])
        if done:
            migrations.finish(conn)
        if present.version != __version__:
            execute(conn, "replace into svc.installation (is_only, version) values (1, %s)", (__version__,))
            execute(conn, "commit")
    except Exception as error:
        raise diagnose(error) from error
    return done


def _exchange(conn: DbApiConnection, steps: Iterable[Status], database: str, *, prune: bool) -> list[Status]:
    """Exchange the triggers of one table after the other."""
    taken = [step for step in steps if prune or not step.needs_prune]
    removals = [step for step in taken if step.item is None]
    for step in removals:
        if not step.sql:  # gone with its table
            installed.forget(conn, Removal.of(step).recorded_as)
    left = exchanges(
        [step.item for step in taken if step.item is not None], [Removal.of(step) for step in removals if step.sql]
    )
    failures: dict[str, SvcError] = {}
    for exchange in list(left):
        table = str(exchange.tables[0])
        try:
            patiently(partial(installed.replace, conn, exchange, database))
        except Exception as error:  # noqa: BLE001 - each driver has errors of its own
            failures[table] = diagnose(error, table=table)
            if is_lost(conn):
                break
        else:
            left.remove(exchange)
    if failures:
        raise unfinished([str(exchange.tables[0]) for exchange in left], failures)
    return taken


def uninstall(conn: DbApiConnection, *, drop_data: bool = False, wait_for_table: timedelta = FOR_TABLE) -> list[Status]:
    """Remove the triggers of this database, and with ``drop_data`` the schema ``svc`` with the log of all databases.

    Without ``drop_data`` the log stays, guarded against change, and a later install continues with it. Returns the
    steps taken: none if svc-pg is not installed. ``conn`` must be outside a transaction. Raises InstallError if
    ``drop_data`` would take the log away from another database of the server, or a table stays locked.
    """
    with pinned(conn) as server, locked(conn, FOR_INSTALL, wait_for_table):
        preflight.check_sight(conn)
        present = read_installation(conn)
        if "installed_objects" not in present.tables:
            return []
        homes = {home for home, _ in present.notes.values()} - {server.database, installed.SERVER}
        if drop_data and homes:
            raise InstallError(
                f"the log in schema svc is that of other databases too: {', '.join(sorted(homes))}",
                hint="Uninstall there first, or leave out --drop-data.",
            )
        steps = [step for step in look(conn, server, present, guards()) if step.action == "remove"]
        done = _exchange(conn, steps, server.database, prune=True)
        if drop_data:
            done.append(Status("schema", "svc", "orphan", "drop database svc"))
            try:
                execute(conn, done[-1].sql)
            except Exception as error:
                raise diagnose(error) from error
        return done

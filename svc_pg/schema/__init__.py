"""Install svc-pg into a database, and list its differences from the configuration: by the dialect of the connection."""

from datetime import timedelta
from pathlib import Path
from typing import Any

from svc_pg.config import Config
from svc_pg.schema.costs import LONGEST, Costs
from svc_pg.schema.install_waits import FOR_INSTALL, FOR_TABLE
from svc_pg.schema.installer import installer_of
from svc_pg.schema.revision import down, up
from svc_pg.schema.revision_file import read_change
from svc_pg.schema.status import Status, steps_of

__all__ = [
    "Costs",
    "Status",
    "backfill",
    "down",
    "install",
    "measure",
    "plan",
    "plan_revision",
    "status",
    "uninstall",
    "up",
]


def install(
    conn: Any,
    config: Config,
    *,
    prune: bool = False,
    roles: bool | None = None,
    wait_for_table: timedelta = FOR_TABLE,
    wait_for_install: timedelta = FOR_INSTALL,
) -> list[Status]:
    """Make the database equal to ``config``. Returns the steps taken: none if it was equal already.

    ``conn`` is a driver's connection, SQLAlchemy's raw one or Django's, outside a transaction, and is left so. Two
    installs at a time wait for each other. Objects that the configuration no longer names are removed only with
    ``prune``.

    On PostgreSQL: one transaction for the schema, then one for each audited table, then one for removals. The lock of a
    table is tried three times, ``wait_for_table`` each. With ``roles`` everything belongs to the roles of
    ``svc_pg.schema.postgres.roles``, made if missing; without them to the installer, so that every connection as that
    role can disable the log's guards. Default: as it was installed, and with roles in a new database. Last, outside a
    transaction, the indexes of ``config.audit.search`` are built without stopping captures.

    On SQLite: one transaction, which waits ``wait_for_table`` for other writers of the file. On MySQL and MariaDB,
    whose DDL commits at once, each step holds alone, and the triggers of one table are exchanged while it is locked.

    Raises, before anything is changed: TransactionError; ConfigError and UnknownTableError; RemovalRefusedError if
    ``prune`` is missing; DatabaseNewerError, MigrationChangedError and InstallError if this program, the server and
    the installer's rights do not fit. Raises InstallError if a table could not be finished or the connection was lost:
    the finished tables stay, and the next install continues.
    """
    return installer_of(conn).install(
        config, prune=prune, roles=roles, wait_for_table=wait_for_table, wait_for_install=wait_for_install
    )


def plan(conn: Any, config: Config, *, roles: bool | None = None) -> list[Status]:
    """The steps of an install, in its order; removals are last and only done with ``prune``. Changes nothing."""
    return steps_of(installer_of(conn).status(config, roles=roles))


def plan_revision(conn: Any, revision: Path) -> list[Status]:
    """The steps of a revision that ``svc-pg migrate`` wrote, in this database before it runs. Changes nothing.

    ``revision`` is its file, which is read and not run. Removals that it does not make are left out. ``conn`` must be
    outside a transaction. Raises as ``up``, and ConfigError if the file has no call that svc-pg wrote.
    """
    change = read_change(revision)
    installer = installer_of(conn)
    steps = steps_of(installer.status(installer.configuration(change), roles=change.roles))
    return [step for step in steps if change.prune or not step.needs_prune]


def measure(conn: Any, config: Config, *, roles: bool | None = None, longest: timedelta = LONGEST) -> Costs:
    """Measure what capture costs a row of each audited table, on PostgreSQL, before the first install or after.

    Made-up rows of copies are written, in transactions that are rolled back: no row of users is read or written, no
    trigger of theirs fires, and nothing stays. ``conn`` must be outside a transaction, as a role that may install.
    Tables that cannot be measured within ``longest`` are named. Raises the errors of ``install`` that come before any
    change, InstallError if an upgrade must come first, and ConfigError on another database.
    """
    return installer_of(conn).measure(config, roles=roles, longest=longest)


def status(conn: Any, config: Config) -> list[Status]:
    """All objects that are or should be installed, with their states. Changes nothing.

    ``conn`` must be outside a transaction. Raises the errors of ``install`` that come before any change, and
    AccessError if the role may not read the record of the install.
    """
    return installer_of(conn).status(config, roles=None)


def uninstall(conn: Any, *, drop_data: bool = False, wait_for_table: timedelta = FOR_TABLE) -> list[Status]:
    """Remove our triggers, views and functions, and with ``drop_data`` the log and all other data of svc-pg.

    Without ``drop_data`` the tables stay, the audit log is still guarded against change, and a later install continues
    with them. With it, on PostgreSQL, roles that no database of the cluster needs go too. Returns the steps taken: none
    if svc-pg is not installed. ``conn`` must be outside a transaction. Raises InstallError if views outside ``svc``
    depend on its tables, a right is missing or a table stays locked.
    """
    return installer_of(conn).uninstall(drop_data=drop_data, wait_for_table=wait_for_table)


def backfill(conn: Any, config: Config) -> dict[str, int]:
    """Write a SNAPSHOT entry for every row missing from the log; return the number of entries for each table.

    A row is missing if the last entry of its record is a DELETE, if the table was truncated after that entry, or if
    there is none. On PostgreSQL a row that differs from its last image also gets a SNAPSHOT entry, with both images,
    and a record that the table lacks gets a GONE entry with its last one. So a second run writes nothing. Of a table
    without a key all rows are written, if it has no entries (on PostgreSQL: since it was last truncated). Run it after
    ``install``, on a connection outside a transaction. On PostgreSQL writers wait only while a piece of a table with
    missing entries is written, on other databases for the whole table. Raises the errors of ``install`` if the
    configuration does not fit the tables, and InstallError if a right is missing, or if the connection lacks a function
    that the rules need.
    """
    return installer_of(conn).backfill(config)

"""The installer of SQLite."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from svc_pg.config import Config
from svc_pg.database.dialects import driver_connection
from svc_pg.other_databases.schema.other_installer import OtherInstaller
from svc_pg.other_databases.schema.sqlite import backfill, differences, install, sql_script
from svc_pg.schema.export.script import Script
from svc_pg.schema.refusals import refuse_roles
from svc_pg.schema.status import Status


def installer_on(conn: Any) -> "SqliteInstaller":
    """The installer of a connection's database."""
    return SqliteInstaller(driver_connection(conn))


class SqliteInstaller(OtherInstaller):
    """An ``Installer``."""

    __slots__ = ()
    name = "SQLite"

    def install(
        self,
        config: Config,
        *,
        prune: bool,
        roles: bool | None,
        wait_for_table: timedelta,
        wait_for_install: timedelta,  # noqa: ARG002 - a writer waits for all others
    ) -> list[Status]:
        """Make the database equal to the configuration."""
        refuse_roles(roles=roles)
        return install.install(self.conn, config, prune=prune, wait=wait_for_table)

    def status(self, config: Config, *, roles: bool | None) -> list[Status]:
        """All objects that are or should be installed."""
        refuse_roles(roles=roles)
        return differences.status(self.conn, config)

    def uninstall(self, *, drop_data: bool, wait_for_table: timedelta) -> list[Status]:
        """Remove the installed objects."""
        return install.uninstall(self.conn, drop_data=drop_data, wait=wait_for_table)

    def backfill(self, config: Config) -> dict[str, int]:
        """Write entries for rows missing from the log."""
        return backfill.backfill(self.conn, config)

    def script(self, config: Config, *, prune: bool, roles: bool | None) -> Script | None:
        """The steps of an install as a script."""
        refuse_roles(roles=roles)
        return sql_script.script(self.conn, config, prune=prune)

    def removal(self, config: Config, tables: Sequence[str]) -> Script:
        """The removal of the capture of tables as a script."""
        return sql_script.removal(self.conn, config, tables)

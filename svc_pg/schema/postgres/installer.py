"""The installer of PostgreSQL."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from psycopg import Connection

from svc_pg.config import Config
from svc_pg.errors import ConfigError
from svc_pg.schema.configuration_change import ConfigurationChange
from svc_pg.schema.costs import Costs
from svc_pg.schema.export.script import Script
from svc_pg.schema.postgres import backfill, differences, install, measuring, revisions, sql_script, uninstall
from svc_pg.schema.status import Status


def installer_on(conn: Any) -> "PostgresInstaller":
    """The installer of a connection's database."""
    return PostgresInstaller(conn)


@dataclass(frozen=True, slots=True)
class PostgresInstaller:
    """An ``Installer``."""

    conn: Connection[Any]

    def install(
        self,
        config: Config,
        *,
        prune: bool,
        roles: bool | None,
        wait_for_table: timedelta,
        wait_for_install: timedelta,
    ) -> list[Status]:
        """Make the database equal to the configuration."""
        return install.install(
            self.conn,
            config,
            prune=prune,
            roles=roles,
            wait_for_table=wait_for_table,
            wait_for_install=wait_for_install,
        )

    def status(self, config: Config, *, roles: bool | None) -> list[Status]:
        """All objects that are or should be installed."""
        return differences.status(self.conn, config, roles=roles)

    def measure(self, config: Config, *, roles: bool | None, longest: timedelta) -> Costs:
        """Measure what capture costs, table by table."""
        return measuring.measure(self.conn, config, roles=roles, longest=longest)

    def uninstall(self, *, drop_data: bool, wait_for_table: timedelta) -> list[Status]:
        """Remove the installed objects."""
        return uninstall.uninstall(self.conn, drop_data=drop_data, wait_for_table=wait_for_table)

    def backfill(self, config: Config) -> dict[str, int]:
        """Write entries for differences between tables and the log."""
        return backfill.backfill(self.conn, config)

    def script(self, config: Config, *, prune: bool, roles: bool | None) -> Script | None:
        """The steps of an install as a script."""
        return sql_script.script(self.conn, config, prune=prune, roles=roles)

    def statements(self, change: ConfigurationChange, *, backwards: bool, is_printed: bool = False) -> list[str]:
        """The statements of a revision, for the caller's transaction."""
        return revisions.statements(self.conn, change, backwards=backwards, is_printed=is_printed)

    def configuration(self, change: ConfigurationChange) -> Config:
        """The configuration of the database after a revision."""
        return revisions.configuration_after(self.conn, change)

    def removal(self, config: Config, tables: Sequence[str]) -> Script:  # noqa: ARG002 - as the others take them
        """Not needed on PostgreSQL: raise ConfigError."""
        raise ConfigError("on PostgreSQL capture follows the columns of a table", hint="Leave out --drop-capture.")

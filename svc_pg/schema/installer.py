"""The interface of an installer of any database, and the choice of the installer for a connection."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from importlib import import_module
from typing import Any, Final, Protocol

from svc_pg.config import Config
from svc_pg.database.connections import refuse_async
from svc_pg.database.dialects import Dialect, dialect_of
from svc_pg.schema.configuration_change import ConfigurationChange
from svc_pg.schema.costs import Costs
from svc_pg.schema.export.script import Script
from svc_pg.schema.status import Status

_SYNC: Final = "it with a connection of psycopg, sqlite3, PyMySQL or another sync driver"
_INSTALLERS: Final[Mapping[Dialect, str]] = {
    "postgresql": "svc_pg.schema.postgres.installer",
    "sqlite": "svc_pg.other_databases.schema.sqlite.installer",
    "mysql": "svc_pg.other_databases.schema.mysql.installer",
}
"""The modules of the installers, each imported when it is first needed: most applications have one database."""


def installer_of(conn: Any) -> "Installer":
    """The installer of the database that a connection leads to. Raises ConfigError for one that svc-pg does not know,
    and if the connection is async.
    """
    refuse_async(conn, twin=_SYNC)
    installer: Installer = import_module(_INSTALLERS[dialect_of(conn)]).installer_on(conn)
    return installer


class Installer(Protocol):
    """The installer of one database, on a connection that is outside a transaction: see ``svc_pg.schema``."""

    def install(
        self,
        config: Config,
        *,
        prune: bool,
        roles: bool | None,
        wait_for_table: timedelta,
        wait_for_install: timedelta,
    ) -> list[Status]:
        """Make the database equal to the configuration, and return the steps taken."""

    def status(self, config: Config, *, roles: bool | None) -> list[Status]:
        """All objects that are or should be installed, with their states."""

    def measure(self, config: Config, *, roles: bool | None, longest: timedelta) -> Costs:
        """Measure what capture costs, table by table. Raises ConfigError if that is not possible here."""

    def uninstall(self, *, drop_data: bool, wait_for_table: timedelta) -> list[Status]:
        """Remove the installed objects, and with ``drop_data`` the log; return the steps taken."""

    def backfill(self, config: Config) -> dict[str, int]:
        """Write a SNAPSHOT entry for every row that the log does not know; return their numbers by table."""

    def script(self, config: Config, *, prune: bool, roles: bool | None) -> Script | None:
        """The steps of an install as a script; None if there are none."""

    def statements(self, change: ConfigurationChange, *, backwards: bool, is_printed: bool = False) -> list[str]:
        """The statements of a revision or of its way back, for the caller's transaction, or ``is_printed`` for
        somebody else to run. Raises ConfigError if a revision of this database must carry them itself.
        """

    def configuration(self, change: ConfigurationChange) -> Config:
        """The configuration of the database after a revision. Raises ConfigError as ``statements``."""

    def removal(self, config: Config, tables: Sequence[str]) -> Script:
        """The removal of the capture of tables as a script. Raises ConfigError if none is ever needed."""

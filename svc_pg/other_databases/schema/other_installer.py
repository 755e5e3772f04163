"""The part of an installer that SQLite, MySQL and MariaDB share: the refusal of what only PostgreSQL can."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any, ClassVar

from svc_pg.config import Config
from svc_pg.schema.configuration_change import ConfigurationChange
from svc_pg.schema.costs import Costs, refuse_measuring
from svc_pg.schema.refusals import refuse_statements


@dataclass(frozen=True, slots=True)
class OtherInstaller:
    """The base of an ``Installer`` on a connection of the database's driver; ``name`` is that of the database."""

    conn: Any
    name: ClassVar[str]

    def measure(self, config: Config, *, roles: bool | None, longest: timedelta) -> Costs:  # noqa: ARG002 - as PostgreSQL's
        """Not possible here: raise ConfigError."""
        raise refuse_measuring(self.name)

    def statements(
        self,
        change: ConfigurationChange,  # noqa: ARG002 - as PostgreSQL's
        *,
        backwards: bool,  # noqa: ARG002
        is_printed: bool = False,  # noqa: ARG002
    ) -> list[str]:
        """Not possible here: raise ConfigError."""
        raise refuse_statements(self.name)

    def configuration(self, change: ConfigurationChange) -> Config:  # noqa: ARG002 - as PostgreSQL's
        """Not possible here: raise ConfigError."""
        raise refuse_statements(self.name)

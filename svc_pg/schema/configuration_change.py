"""The change that a revision of Alembic or Django makes: from one configuration to another, at a version of ``svc``."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from svc_pg import __version__
from svc_pg.config import Config
from svc_pg.config.installed_parts import Difference, Parts, config_of, document_of, parts_in
from svc_pg.errors import InstallError

_SOURCE: Final = "this revision"


@dataclass(frozen=True, slots=True)
class ConfigurationChange:
    """The parts of the configuration that a revision changes, as they were before it and as they are after it.

    ``version`` is the number of the newest migration of schema ``svc`` when the revision was written. ``before`` is
    None in the first revision, before which nothing is installed. With ``prune`` captures and events that the new
    configuration does not name are removed; ``roles`` are those of ``install``.
    """

    version: int
    before: Mapping[str, Any] | None
    after: Mapping[str, Any]
    prune: bool = False
    roles: bool | None = None

    @property
    def is_first(self) -> bool:
        """True if nothing is installed before it."""
        return self.before is None

    @property
    def difference(self) -> Difference:
        """The parts that it changes. Raises ConfigError."""
        return Difference(parts_in(self.before or {}), parts_in(self.after))

    def check_version(self, newest: int) -> None:
        """Raise InstallError if this svc-pg, whose newest migration is ``newest``, is older than the revision."""
        if self.version > newest:
            raise InstallError(
                f"{_SOURCE} needs version {self.version} of schema svc, and svc-pg {__version__} has version {newest}",
                hint="Upgrade svc-pg where the migrations run, to the version with which the revision was written or a"
                " later one.",
            )

    def configuration(self, present: Parts | None, *, is_installed: bool, backwards: bool) -> Config:
        """The configuration after it, or after the way back, in a database that has ``present``: None if not known.

        Parts that the revision does not name stay as they are. Raises ConfigError if one that it names is neither as
        before nor as after it, and InstallError if it goes on from an installation that is not there.
        """
        if present is None and not self.is_first:
            raise InstallError(
                f"{_SOURCE} goes on from a configuration, and this database does not say with which one svc-pg was"
                " installed"
                if is_installed
                else f"svc-pg is not installed in this database, and {_SOURCE} goes on from an installation",
                hint="Run svc-pg install, and mark the revision as run (alembic stamp, manage.py migrate --fake)."
                if is_installed
                else "Run the revisions before it first. The first one has BEFORE = None: svc-pg migrate writes it for"
                " a database that has your tables and nothing of svc-pg.",
            )
        difference = self.difference.reversed() if backwards else self.difference
        return config_of(difference.applied_to(present or {}), source=_SOURCE)


def change_between(
    present: Parts | None, wanted: Parts, *, version: int, prune: bool, roles: bool | None
) -> ConfigurationChange:
    """The change from the configuration of a database, None if there is none or it is not known, to another one."""
    difference = Difference.between(present or {}, wanted)
    before = None if present is None else document_of(difference.before)
    return ConfigurationChange(version, before, document_of(difference.after), prune, roles)

"""The facts that a reconciliation knows of a database of PostgreSQL."""

from collections.abc import Sequence
from dataclasses import dataclass

from svc_pg.capture.postgres.installed_rules import InstalledRules
from svc_pg.capture.postgres.log_stretches import Stretch


@dataclass(frozen=True, slots=True)
class Database:
    """The version of its server; a standby cannot lock as others can, and the log may be the copy of another one.

    ``installed`` are its rules, which an installation may replace meanwhile, and ``stretches`` those of its log.
    """

    server_version: int
    is_standby: bool
    is_copy: bool
    installed: InstalledRules
    stretches: Sequence[Stretch]

"""Audit trail, webhooks and an admin console for applications on PostgreSQL.

Config and Settings are loaded when they are first used: a receiver that only verifies signatures loads no pydantic.
"""

from typing import TYPE_CHECKING

from svc_pg.errors import SvcError
from svc_pg.version import __version__

__all__ = ["Config", "Settings", "SvcError", "__version__"]

if TYPE_CHECKING:
    from svc_pg.config import Config
    from svc_pg.settings import Settings
else:

    def __getattr__(name: str) -> type:
        if name == "Config":
            from svc_pg.config import Config

            return Config
        if name == "Settings":
            from svc_pg.settings import Settings

            return Settings
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

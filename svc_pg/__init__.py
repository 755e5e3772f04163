"""Audit trail, webhooks and an admin console for applications on PostgreSQL.

Config is loaded when it is first used, so that a receiver that only verifies signatures loads no pydantic.
"""

from typing import TYPE_CHECKING

from svc_pg.errors import SvcError

__version__ = "0.1.0"
__all__ = ["Config", "SvcError", "__version__"]

if TYPE_CHECKING:
    from svc_pg.config import Config
else:

    def __getattr__(name: str) -> type:
        if name != "Config":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from svc_pg.config import Config

        return Config

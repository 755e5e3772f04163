"""Audit trail, webhooks and an admin console for applications on PostgreSQL."""

from svc_pg.config import Config
from svc_pg.errors import SvcError

__version__ = "0.1.0"
__all__ = ["Config", "SvcError", "__version__"]

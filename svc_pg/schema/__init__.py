"""Install svc-pg into a database, and list its differences from the configuration."""

from svc_pg.schema.backfill import backfill
from svc_pg.schema.install import install, uninstall
from svc_pg.schema.status import Status, plan, status

__all__ = ["Status", "backfill", "install", "plan", "status", "uninstall"]

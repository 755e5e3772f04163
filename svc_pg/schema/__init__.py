"""Install svc-pg into a database, and list its differences from the configuration."""

from svc_pg.schema.postgres.backfill import backfill
from svc_pg.schema.postgres.differences import plan, status
from svc_pg.schema.postgres.install import install, uninstall
from svc_pg.schema.status import Status

__all__ = ["Status", "backfill", "install", "plan", "status", "uninstall"]

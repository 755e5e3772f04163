"""The product ``audit``: read, count, export and purge the audit log."""

from svc_pg.config import AuditConfig
from svc_pg.console.built_in.audit_counts import CountRoutes
from svc_pg.console.built_in.audit_entries import EntryRoutes
from svc_pg.console.built_in.audit_files import FileRoutes
from svc_pg.console.built_in.audit_tables import TableRoutes
from svc_pg.console.database import Database
from svc_pg.console.products import Product


def audit_product(database: Database, *, config: AuditConfig) -> Product:
    """The product. ``config`` has the rules of tables, and the age of entries that a purge removes by default."""
    return Product(
        id="audit",
        name="Audit log",
        endpoints=[
            *EntryRoutes(database).endpoints(),
            *CountRoutes(database).endpoints(),
            *TableRoutes(database, config).endpoints(),
            *FileRoutes(database, config.retention_days).endpoints(),
        ],
    )

"""The product ``audit``: read, compare, count, export and purge the audit log."""

from svc_pg.config import AuditConfig
from svc_pg.console.audit_log import ConsoleLog
from svc_pg.console.built_in.audit_certificates import CertificateRoutes
from svc_pg.console.built_in.audit_changes import ChangeRoutes
from svc_pg.console.built_in.audit_counts import CountRoutes
from svc_pg.console.built_in.audit_coverage import CoverageRoutes
from svc_pg.console.built_in.audit_entries import EntryRoutes
from svc_pg.console.built_in.audit_files import FileRoutes
from svc_pg.console.built_in.audit_past import PastRoutes
from svc_pg.console.built_in.audit_proof import ProofRoutes
from svc_pg.console.built_in.audit_reads import ReadRoutes
from svc_pg.console.built_in.audit_related import RelatedRoutes
from svc_pg.console.built_in.audit_tables import TableRoutes
from svc_pg.console.built_in.audit_tracks import TrackRoutes
from svc_pg.console.built_in.audit_transactions import TransactionRoutes
from svc_pg.console.built_in.audit_values import ValueRoutes
from svc_pg.console.database.pool import Database
from svc_pg.console.http.products import Product
from svc_pg.console.http.tenant_cursors import TenantCursors
from svc_pg.settings import Settings


def audit_product(
    database: Database, log: ConsoleLog, *, settings: Settings, config: AuditConfig, cursors: TenantCursors
) -> Product:
    """The product, which reads ``log`` and records exports in ``database``.

    ``settings`` have the public keys of seals. ``config`` has the rules of tables, and the age of entries that a purge
    removes by default.
    """
    return Product(
        id="audit",
        name="Audit log",
        description="Changes of records: read, compare, count, export, prove and purge them.",
        endpoints=[
            *EntryRoutes(log, cursors).endpoints(),
            *TransactionRoutes(log, cursors).endpoints(),
            *PastRoutes(log, cursors).endpoints(),
            *TrackRoutes(log, cursors).endpoints(),
            *RelatedRoutes(log, cursors).endpoints(),
            *ReadRoutes(log, cursors).endpoints(),
            *ChangeRoutes(log).endpoints(),
            *ProofRoutes(log).endpoints(),
            *CertificateRoutes(log, settings).endpoints(),
            *CountRoutes(log).endpoints(),
            *ValueRoutes(log).endpoints(),
            *TableRoutes(log, config).endpoints(),
            *CoverageRoutes(log, config).endpoints(),
            *FileRoutes(database, log, config).endpoints(),
        ],
    )

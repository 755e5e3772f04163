"""Record who changed what in which table, and read it."""

from svc_pg.audit.context import aactor, actor
from svc_pg.audit.log import AuditQuery, Entry, EntryPage, query

__all__ = ["AuditQuery", "Entry", "EntryPage", "aactor", "actor", "query"]

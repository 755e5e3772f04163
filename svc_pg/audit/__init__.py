"""Record who changed what in which table, and read it."""

from svc_pg.audit.context import Actor, aactor, acting, acting_as, actor, current_actor
from svc_pg.audit.entries import capture_log
from svc_pg.audit.log import AuditQuery, Entry, EntryPage, query

__all__ = [
    "Actor",
    "AuditQuery",
    "Entry",
    "EntryPage",
    "aactor",
    "acting",
    "acting_as",
    "actor",
    "capture_log",
    "current_actor",
    "query",
]

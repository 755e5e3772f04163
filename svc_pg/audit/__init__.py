"""Record who changed what in which table, and read it."""

from svc_pg.audit.actors import aactor, actor
from svc_pg.audit.change import Change, FieldChange
from svc_pg.audit.context import Actor, acting, acting_as, current_actor
from svc_pg.audit.entry import Entry
from svc_pg.audit.export import aexport, export
from svc_pg.audit.export_fields import ExportReport
from svc_pg.audit.follow import follow
from svc_pg.audit.last_changes import alast_changes, last_changes
from svc_pg.audit.log import AuditQuery, query
from svc_pg.audit.manual import capture_log
from svc_pg.audit.purge_report import PurgeReport
from svc_pg.audit.retention import apurge, purge

__all__ = [
    "Actor",
    "AuditQuery",
    "Change",
    "Entry",
    "ExportReport",
    "FieldChange",
    "PurgeReport",
    "aactor",
    "acting",
    "acting_as",
    "actor",
    "aexport",
    "alast_changes",
    "apurge",
    "capture_log",
    "current_actor",
    "export",
    "follow",
    "last_changes",
    "purge",
    "query",
]

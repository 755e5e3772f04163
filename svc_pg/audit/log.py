"""Read the audit log: ``query().resource("public.invoice").since("1h").list(conn)``."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, LiteralString

from psycopg import AsyncConnection, Connection

from svc_pg.errors import QueryError
from svc_pg.names import TableName
from svc_pg.pages import EVERYTHING, Selection, decode
from svc_pg.query import Query, RawJson, afetch, fetch

OPERATIONS: Final = ("INSERT", "UPDATE", "DELETE", "TRUNCATE", "SNAPSHOT")

_SELECT: Final = """
select id::text, "timestamp", table_name, operation::text, record_id, actor_id, tenant_id, db_user, db_role,
       before_data, after_data, changed_fields, label, severity::text, compliance, description, redacted_fields,
       context, xact_id::text
  from svc.audit_logs
"""


@dataclass(frozen=True, slots=True)
class Entry:
    """One change of one record. The snapshots are JSON texts as PostgreSQL wrote them: ``entry.before_data.value``."""

    id: str
    timestamp: datetime
    table_name: str
    operation: str
    record_id: str | None
    actor_id: str | None
    tenant_id: str | None
    db_user: str
    db_role: str | None
    before_data: RawJson | None
    after_data: RawJson | None
    changed_fields: list[str] | None
    label: str | None
    severity: str | None
    compliance: list[str] | None
    description: str | None
    redacted_fields: list[str] | None
    context: RawJson | None
    xact_id: str


@dataclass(frozen=True, slots=True)
class EntryPage:
    """Entries, newest first, and the cursor of the next page, or None on the last."""

    entries: list[Entry]
    next_cursor: str | None


@dataclass(frozen=True, slots=True)
class AuditQuery:
    """A question to the audit log. Every method returns a new one; ``list`` or ``alist`` asks it."""

    selection: Selection = EVERYTHING

    def _where(self, condition: LiteralString, *params: object) -> "AuditQuery":
        return AuditQuery(self.selection.where(condition, *params))

    def resource(self, table: str) -> "AuditQuery":
        """Entries of one table, written ``schema.table`` or ``table`` for one in ``public``."""
        return self._where("table_name = %s", str(TableName.parse(table)))

    def record(self, record_id: str) -> "AuditQuery":
        """Entries of the record with that key; several key columns are written as a JSON array: ``[7, 2]``."""
        return self._where("record_id = %s", record_id)

    def actor(self, actor_id: str) -> "AuditQuery":
        """Entries of one actor."""
        return self._where("actor_id = %s", actor_id)

    def operation(self, operation: str) -> "AuditQuery":
        """Entries of one operation: INSERT, UPDATE, DELETE, TRUNCATE or SNAPSHOT."""
        if operation not in OPERATIONS:
            raise QueryError(f"{operation!r} is not an operation", hint=f"Write one of {', '.join(OPERATIONS)}.")
        return self._where("operation = %s::svc.audit_operation", operation)

    def since(self, moment: str | timedelta | datetime) -> "AuditQuery":
        """Entries from that moment on: an aware datetime, or a duration before now such as ``1h``."""
        return AuditQuery(self.selection.when('"timestamp" >=', moment))

    def until(self, moment: str | timedelta | datetime) -> "AuditQuery":
        """Entries before that moment: an aware datetime, or a duration before now such as ``1h``."""
        return AuditQuery(self.selection.when('"timestamp" <', moment))

    def limit(self, size: int) -> "AuditQuery":
        """At most so many entries a page: 1 to 1000, 100 unless told."""
        return AuditQuery(self.selection.limit(size))

    def after(self, cursor: str) -> "AuditQuery":
        """The page after the one whose ``next_cursor`` this is."""
        moment, entry_id = decode(cursor, datetime.fromisoformat, int)
        # the first condition prunes partitions, which a row comparison alone does not
        return self._where('"timestamp" <= %s and ("timestamp", id) < (%s, %s)', moment, moment, entry_id)

    def list(self, conn: Connection[Any]) -> EntryPage:
        """Ask on a sync connection. Never commits."""
        return self._page(fetch(conn, self._query()))

    async def alist(self, conn: AsyncConnection[Any]) -> EntryPage:
        """Ask on an async connection. Never commits."""
        return self._page(await afetch(conn, self._query()))

    def _query(self) -> Query[Entry]:
        return Query(*self.selection.statement(_SELECT, ' order by "timestamp" desc, id desc'), Entry)

    def _page(self, rows: Sequence[Entry]) -> EntryPage:
        return EntryPage(*self.selection.cut(rows, lambda entry: (entry.timestamp.isoformat(), entry.id)))


def query() -> AuditQuery:
    """A question to the audit log, with no conditions yet."""
    return AuditQuery()

"""Read the audit log: ``query().resource("public.invoice").since("1h").list(conn)``."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final, Literal, LiteralString, cast, get_args

from psycopg import AsyncConnection, Connection

from svc_pg.config.audit import Severity
from svc_pg.errors import QueryError, translating
from svc_pg.pagination import EVERYTHING, Selection, decode
from svc_pg.query import Query, RawJson, afetch, fetch, scalar
from svc_pg.table_names import TableName

Operation = Literal["INSERT", "UPDATE", "DELETE", "TRUNCATE", "SNAPSHOT"]

OPERATIONS: Final[tuple[Operation, ...]] = get_args(Operation)
SEVERITIES: Final[tuple[Severity, ...]] = get_args(Severity)

_ID_DIGITS: Final = 18

Order = Literal["newest", "oldest"]

SELECT: Final[LiteralString] = """
select id::text, "timestamp", table_name, operation::text, record_id, actor_id, tenant_id, db_user, db_role,
       before_data, after_data, changed_fields, label, severity::text, compliance, description, redacted_fields,
       context, xact_id::text
  from svc.audit_logs
"""
# with the name of the table, because SELECT gives its text the name id
ORDER_BY: Final[dict[Order, LiteralString]] = {
    "newest": " order by audit_logs.timestamp desc, audit_logs.id desc",
    "oldest": " order by audit_logs.timestamp, audit_logs.id",
}
HORIZON: Final = "select txid_snapshot_xmin(txid_current_snapshot())"
# the first condition prunes partitions, which a row comparison alone does not
BEYOND: Final[dict[Order, LiteralString]] = {
    "newest": '"timestamp" <= %s and ("timestamp", id) < (%s, %s)',
    "oldest": '"timestamp" >= %s and ("timestamp", id) > (%s, %s)',
}


@dataclass(frozen=True, slots=True)
class Entry:
    """One change of one record. The snapshots are JSON texts as PostgreSQL wrote them: ``entry.before_data.value``."""

    id: str
    timestamp: datetime
    table_name: str
    operation: Operation
    record_id: str | None
    actor_id: str | None
    tenant_id: str | None
    db_user: str
    db_role: str | None
    before_data: RawJson | None
    after_data: RawJson | None
    changed_fields: list[str] | None
    label: str | None
    severity: Severity | None
    compliance: list[str] | None
    description: str | None
    redacted_fields: list[str] | None
    context: RawJson | None
    xact_id: str


@dataclass(frozen=True, slots=True)
class EntryPage:
    """Entries in the order that was asked for, and the cursor of the next page, or None on the last."""

    entries: list[Entry]
    next_cursor: str | None


@dataclass(frozen=True, slots=True)
class AuditQuery:
    """A question to the audit log. Every method returns a new one; ``list`` or ``alist`` asks it."""

    selection: Selection = EVERYTHING
    first: Order = "newest"
    cursor: str | None = None

    def _where(self, condition: LiteralString, *params: object) -> "AuditQuery":
        return replace(self, selection=self.selection.where(condition, *map(_checked, params)))

    def resource(self, table: str) -> "AuditQuery":
        """Entries of one table, written ``schema.table`` or ``table`` for one in ``public``."""
        return self._where("table_name = %s", str(TableName.parse(table)))

    def record(self, record_id: str) -> "AuditQuery":
        """Entries of the record with that key; several key columns are written as a JSON array: ``[7, 2]``."""
        return self._where("record_id = %s", record_id)

    def actor(self, actor_id: str) -> "AuditQuery":
        """Entries of one actor."""
        return self._where("actor_id = %s", actor_id)

    def tenant(self, tenant_id: str) -> "AuditQuery":
        """Entries of one tenant."""
        return self._where("tenant_id = %s", tenant_id)

    def operation(self, operation: str) -> "AuditQuery":
        """Entries of one operation: INSERT, UPDATE, DELETE, TRUNCATE or SNAPSHOT."""
        _check_one_of("an operation", operation, OPERATIONS)
        return self._where("operation = %s::svc.audit_operation", operation)

    def label(self, label: str) -> "AuditQuery":
        """Entries that the rules of enrichment gave this label."""
        return self._where("label = %s", label)

    def severity(self, level: str | None = None, *, at_least: str | None = None) -> "AuditQuery":
        """Entries of one severity, or of that and all above: low, medium, high, critical. Entries without have none."""
        if (level is None) == (at_least is None):
            raise QueryError("severity takes either a level or at_least", hint='Such as severity(at_least="high").')
        _check_one_of("a severity", level or at_least, SEVERITIES)
        if level is not None:
            return self._where("severity = %s::svc.audit_severity", level)
        return self._where("severity >= %s::svc.audit_severity", at_least)

    def compliance(self, tag: str) -> "AuditQuery":
        """Entries with that tag among theirs."""
        return self._where("%s = any(compliance)", tag)

    def changed(self, field: str) -> "AuditQuery":
        """Updates that changed that field."""
        return self._where("%s = any(changed_fields)", field)

    def since(self, moment: str | timedelta | datetime) -> "AuditQuery":
        """Entries from that moment on: an aware datetime, or a duration before now such as ``1h``."""
        return replace(self, selection=self.selection.when('"timestamp" >=', moment))

    def until(self, moment: str | timedelta | datetime) -> "AuditQuery":
        """Entries before that moment: an aware datetime, or a duration before now such as ``1h``."""
        return replace(self, selection=self.selection.when('"timestamp" <', moment))

    def transactions(self, *, since: int | None = None, before: int | None = None) -> "AuditQuery":
        """Entries of the transactions from one id on, or before one, as they stand in ``xact_id``."""
        later = self if since is None else self._where("xact_id >= %s", since)
        return later if before is None else later._where("xact_id < %s", before)

    def order(self, first: str) -> "AuditQuery":
        """Which entries come first: the ``newest``, unless told, or the ``oldest``."""
        _check_one_of("an order", first, get_args(Order))
        return replace(self, first=cast(Order, first))

    def limit(self, size: int) -> "AuditQuery":
        """At most so many entries a page: 1 to 1000, 100 unless told."""
        return replace(self, selection=self.selection.limit(size))

    def after(self, cursor: str) -> "AuditQuery":
        """The page after the one whose ``next_cursor`` this is, in the same order."""
        decode(cursor, _moment, int)
        return replace(self, cursor=cursor)

    def list(self, conn: Connection[Any]) -> EntryPage:
        """Ask on a sync connection. Never commits. Raises NotInstalledError."""
        with translating():
            return self._page(fetch(conn, self._query()))

    async def alist(self, conn: AsyncConnection[Any]) -> EntryPage:
        """Ask on an async connection. Never commits. Raises NotInstalledError."""
        with translating():
            return self._page(await afetch(conn, self._query()))

    def _query(self) -> Query[Entry]:
        selection, order = self.selection, ORDER_BY[self.first]
        if self.cursor is not None:
            moment, entry_id = decode(self.cursor, _moment, int)
            selection = selection.where(BEYOND[self.first], moment, moment, entry_id)
        return Query(*selection.statement(SELECT, order), Entry)

    def _page(self, rows: Sequence[Entry]) -> EntryPage:
        return EntryPage(*self.selection.cut(rows, lambda entry: (entry.timestamp.isoformat(), entry.id)))


def entry(entry_id: str) -> Query[Entry]:
    """The one entry with that id, if there is one. Raises QueryError where it is no id."""
    if not (entry_id.isascii() and entry_id.isdecimal() and len(entry_id) <= _ID_DIGITS):
        raise QueryError(f"{entry_id!r} is not the id of an entry", hint="Ids are whole numbers, such as 812.")
    return Query(SELECT + " where id = %s", (int(entry_id),), Entry)  # unordered, or the index of ids is not used


def horizon(conn: Connection[Any]) -> int:
    """The id of the oldest running transaction: every one before it has ended, so of those no entry can follow."""
    xact_id: int = scalar(conn, HORIZON)
    return xact_id


def where(selection: Selection) -> LiteralString:
    """The conditions as a clause."""
    return " where " + " and ".join(selection.conditions) if selection.conditions else ""


def query() -> AuditQuery:
    """A question to the audit log, with no conditions yet."""
    return AuditQuery()


def _check_one_of(what: str, value: str | None, known: Sequence[str]) -> None:
    if value not in known:
        raise QueryError(f"{value!r} is not {what}", hint=f"Write one of {', '.join(known)}.")


def _checked(value: object) -> object:
    if isinstance(value, str) and ("\0" in value or any("\ud800" <= character <= "\udfff" for character in value)):
        raise QueryError(f"{value!r} contains NUL or a lone surrogate, which no text in PostgreSQL does")
    return value


def _moment(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError(f"{text} has no time zone")
    return moment

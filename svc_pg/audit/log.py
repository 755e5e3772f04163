"""Read the audit log: ``query().resource("public.invoice").since("1h").list(conn)``."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final, Literal, LiteralString, Protocol, Self, TypeVar, cast, get_args

from svc_pg.audit.change_order import by_change
from svc_pg.config.audit import Severity
from svc_pg.errors import QueryError
from svc_pg.pagination import Keyset, Listing, PointInTime, aware_time, decode
from svc_pg.query import Query, RawJson
from svc_pg.table_names import TableName

Operation = Literal["INSERT", "UPDATE", "DELETE", "TRUNCATE", "SNAPSHOT"]

OPERATIONS: Final[tuple[Operation, ...]] = get_args(Operation)
SEVERITIES: Final[tuple[Severity, ...]] = get_args(Severity)

_ID_DIGITS: Final = 18

Order = Literal["newest", "oldest"]

COLUMNS: Final[LiteralString] = """
select id::text, "timestamp", table_name, operation::text, record_id, actor_id, tenant_id, db_user, db_role,
       before_data, after_data, changed_fields, label, severity::text, compliance, description, redacted_fields,
       context, xact_id::text
"""
SELECT: Final[LiteralString] = COLUMNS + "  from svc.audit_logs"
# Qualified with the table: a bare id would be the text in SELECT
ORDER_BY: Final[dict[Order, LiteralString]] = {
    "newest": " order by audit_logs.timestamp desc, audit_logs.id desc",
    "oldest": " order by audit_logs.timestamp, audit_logs.id",
}
# the first condition prunes partitions, which a row comparison alone does not
_BEYOND: Final[dict[Order, LiteralString]] = {
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
class AuditQuery(Listing[Entry]):
    """A query of the audit log. Every method returns a new one; ``list`` or ``alist`` runs it.

    Entries of one transaction are in the order of capture. Those of one ``record`` are in the order of change, which
    differs if a trigger or a foreign key changed the record while its table was being changed.
    """

    is_of_record: bool = False

    def resource(self, table: str) -> Self:
        """Entries of one table: ``schema.table``, or ``table`` for one in ``public``."""
        return self._where("table_name = %s", str(TableName.parse(table)))

    def record(self, record_id: str) -> Self:
        """Entries of the record with this key, in the order of change; several key columns are a JSON array."""
        return replace(self._where("record_id = %s", record_id), is_of_record=True)

    def actor(self, actor_id: str) -> Self:
        """Entries of one actor."""
        return self._where("actor_id = %s", actor_id)

    def tenant(self, tenant_id: str) -> Self:
        """Entries of one tenant."""
        return self._where("tenant_id = %s", tenant_id)

    def operation(self, operation: str) -> Self:
        """Entries of one operation: INSERT, UPDATE, DELETE, TRUNCATE or SNAPSHOT."""
        _check_one_of("an operation", operation, OPERATIONS)
        return self._where("operation = %s::svc.audit_operation", operation)

    def label(self, label: str) -> Self:
        """Entries that the rules of enrichment gave this label."""
        return self._where("label = %s", label)

    def severity(self, level: str | None = None, *, at_least: str | None = None) -> Self:
        """Entries of one severity, or at least that: low, medium, high, critical. An entry may have none of them."""
        if (level is None) == (at_least is None):
            raise QueryError("severity takes either a level or at_least", hint='Such as severity(at_least="high").')
        _check_one_of("a severity", level or at_least, SEVERITIES)
        if level is not None:
            return self._where("severity = %s::svc.audit_severity", level)
        return self._where("severity >= %s::svc.audit_severity", at_least)

    def compliance(self, tag: str) -> Self:
        """Entries that have this tag."""
        return self._where("%s = any(compliance)", tag)

    def changed(self, field: str) -> Self:
        """Updates that changed this field."""
        return self._where("%s = any(changed_fields)", field)

    def since(self, point_in_time: PointInTime) -> Self:
        """Entries from then on: an aware datetime, or a duration before now, for example ``1h``."""
        return replace(self, filter=self.filter.compare('"timestamp" >=', point_in_time))

    def until(self, point_in_time: PointInTime) -> Self:
        """Entries before then: an aware datetime, or a duration before now, for example ``1h``."""
        return replace(self, filter=self.filter.compare('"timestamp" <', point_in_time))

    def transactions(self, *, since: int | None = None, before: int | None = None) -> Self:
        """Entries of the transactions from one id on, or before one; the ids are those in ``xact_id``."""
        later = self if since is None else self._where("xact_id >= %s", since)
        return later if before is None else later._where("xact_id < %s", before)

    def order(self, first: str) -> Self:
        """The order of the entries: the ``newest`` first, which is the default, or the ``oldest``."""
        _check_one_of("an order", first, get_args(Order))
        return replace(self, keyset=_KEYSETS[cast(Order, first)])

    def _query(self) -> Query[Entry]:
        if not self.is_of_record:
            return Listing._query(self)
        return by_change(COLUMNS, self.keyset, self.filter, position=self.position, limit=self.size + 1)


class _Dated(Protocol):
    @property
    def timestamp(self) -> datetime:
        """The time of the change."""

    @property
    def id(self) -> str:
        """The id of the entry."""


Found = TypeVar("Found", bound=_Dated)


def keyset(order: Order, select: LiteralString, row: Callable[..., Found]) -> Keyset[Found]:
    """The log in this order, its rows read by ``select``."""
    return Keyset(
        select=select,
        row=row,
        order=ORDER_BY[order],
        beyond=_BEYOND[order],
        key=lambda found: (found.timestamp.isoformat(), found.id),
        read=_position,
    )


def _position(cursor: str) -> Sequence[object]:
    timestamp, entry_id = decode(cursor, aware_time, int)
    return timestamp, timestamp, entry_id


_KEYSETS: Final[dict[Order, Keyset[Entry]]] = {order: keyset(order, SELECT, Entry) for order in get_args(Order)}


def entry(entry_id: str) -> Query[Entry]:
    """The entry with this id, if there is one. Raises QueryError if it is not an id."""
    if not (entry_id.isascii() and entry_id.isdecimal() and len(entry_id) <= _ID_DIGITS):
        raise QueryError(f"{entry_id!r} is not the id of an entry", hint="Ids are whole numbers, such as 812.")
    return Query(SELECT + " where id = %s", (int(entry_id),), Entry)  # unordered, or the index of ids is not used


def query() -> AuditQuery:
    """A query of the audit log, with no conditions yet."""
    return AuditQuery(_KEYSETS["newest"])


def _check_one_of(what: str, value: str | None, known: Sequence[str]) -> None:
    if value not in known:
        raise QueryError(f"{value!r} is not {what}", hint=f"Write one of {', '.join(known)}.")

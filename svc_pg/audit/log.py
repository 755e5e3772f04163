"""Read the audit log: ``query().resource("public.invoice").since("1h").list(conn)``."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, LiteralString, Self, cast, get_args

from svc_pg.audit.change_order import by_change
from svc_pg.audit.entry import (
    COLUMNS,
    FROM,
    OPERATIONS,
    SELECT,
    SEVERITIES,
    Entry,
    Order,
    chosen,
    columns,
    keyset,
    row_of,
)
from svc_pg.config.audit import Search
from svc_pg.errors import QueryError
from svc_pg.pagination import ALL, Filter, Keyset, Listing, PointInTime
from svc_pg.query import Query
from svc_pg.table_names import TableName

MAX_VALUES: Final = 20
"""The most values of one filter."""

_ID_DIGITS: Final = 18
_MISSING: Final[dict[str, LiteralString]] = {
    "actor": "actor_id is null",
    "tenant": "tenant_id is null",
    "record": "record_id is null",
    "label": "label is null",
    "severity": "severity is null",
    "compliance": "coalesce(compliance, '{}') = '{}'",
}
MISSING: Final = tuple(_MISSING)


@dataclass(frozen=True, slots=True)
class AuditQuery(Listing[Entry]):
    """A query of the audit log. Every method returns a new one; ``list`` or ``alist`` runs it.

    Entries of one transaction are in the order of capture. Those of one ``record`` are in the order of change, which
    differs if a trigger or a foreign key changed the record while its table was being changed. ``range`` are the
    conditions on time, and one by which an index finds entries in the order of time.
    """

    is_of_record: bool = False
    columns: LiteralString = COLUMNS
    range: Filter = ALL
    is_indexed: bool = False
    searches: frozenset[Search] = frozenset()

    def resource(self, *tables: str) -> Self:
        """Entries of one of these tables: ``schema.table``, or ``table`` for one in ``public``."""
        names = [str(TableName.parse(table)) for table in tables]
        return self._indexed("table_name", names)

    def record(self, record_id: str) -> Self:
        """Entries of the record with this key, in the order of change; several key columns are a JSON array."""
        found = replace(self._where("record_id = %s", record_id), is_of_record=True)
        if "table_name = %s" not in self.range.conditions:
            return found
        return replace(found, range=found.range.where("record_id = %s", record_id))

    def actor(self, *actor_ids: str) -> Self:
        """Entries of one of these actors."""
        return self._indexed("actor_id", actor_ids)

    def tenant(self, *tenant_ids: str) -> Self:
        """Entries of one of these tenants."""
        return self._among("tenant_id", tenant_ids)

    def operation(self, *operations: str) -> Self:
        """Entries of one of these operations: INSERT, UPDATE, DELETE, TRUNCATE, SNAPSHOT."""
        _check_one_of("an operation", operations, OPERATIONS)
        return self._among("operation", operations, cast="svc.audit_operation")

    def label(self, *labels: str) -> Self:
        """Entries that the rules of enrichment gave one of these labels."""
        return self._among("label", labels)

    def severity(self, *levels: str, at_least: str | None = None) -> Self:
        """Entries of one of these severities, or at least one: low, medium, high, critical. An entry may have none."""
        if (not levels) == (at_least is None):
            raise QueryError("severity takes either levels or at_least", hint='Such as severity(at_least="high").')
        if at_least is None:
            _check_one_of("a severity", levels, SEVERITIES)
            return self._among("severity", levels, cast="svc.audit_severity")
        _check_one_of("a severity", [at_least], SEVERITIES)
        return self._where("severity >= %s::svc.audit_severity", at_least)

    def compliance(self, *tags: str) -> Self:
        """Entries that have one of these tags."""
        return self._where("compliance && %s::text[]", _some(tags))

    def changed(self, *fields: str) -> Self:
        """Updates that changed one of these fields."""
        return self._where("changed_fields && %s::text[]", _some(fields))

    def missing(self, *values: str) -> Self:
        """Entries without an ``actor``, a ``tenant``, a ``record``, a ``label``, a ``severity`` or ``compliance``."""
        _check_one_of("a value that may be missing", _some(values), MISSING)
        found = self
        for value in values:
            found = found._where(_MISSING[value])
        return found

    def without(
        self,
        *,
        resource: Sequence[str] = (),
        actor: Sequence[str] = (),
        tenant: Sequence[str] = (),
        operation: Sequence[str] = (),
        label: Sequence[str] = (),
        severity: Sequence[str] = (),
        compliance: Sequence[str] = (),
    ) -> Self:
        """Leave out entries with one of these values; entries that have no such value stay."""
        _check_one_of("an operation", operation, OPERATIONS)
        _check_one_of("a severity", severity, SEVERITIES)
        found = self._not_among("table_name", [str(TableName.parse(table)) for table in resource])
        found = found._not_among("actor_id", actor)
        found = found._not_among("tenant_id", tenant)
        found = found._not_among("operation", operation, cast="svc.audit_operation")
        found = found._not_among("label", label)
        found = found._not_among("severity", severity, cast="svc.audit_severity")
        if compliance:
            found = found._where("not coalesce(compliance && %s::text[], false)", _some(compliance))
        return found

    def since(self, point_in_time: PointInTime) -> Self:
        """Entries from then on: an aware datetime, or a duration before now, for example ``1h``."""
        return self._when('"timestamp" >=', point_in_time)

    def until(self, point_in_time: PointInTime) -> Self:
        """Entries before then: an aware datetime, or a duration before now, for example ``1h``."""
        return self._when('"timestamp" <', point_in_time)

    def transactions(self, *, since: int | None = None, before: int | None = None) -> Self:
        """Entries of the transactions from one id on, or before one; the ids are those in ``xact_id``."""
        found = self
        if since is not None:
            found = found._in_range("xact_id >= %s", since)
        return found if before is None else found._in_range("xact_id < %s", before)

    def searched(self, search: Search, condition: LiteralString, *params: object) -> Self:
        """Entries whose snapshots fulfil a condition; see ``svc_pg.audit.search``, which reads such queries."""
        return replace(self._where(condition, *params), searches=self.searches | {search})

    def order(self, first: str) -> Self:
        """The order of the entries: the ``newest`` first, which is the default, or the ``oldest``."""
        _check_one_of("an order", [first], get_args(Order))
        return replace(self, keyset=keyset(cast(Order, first), self.keyset.select, self.keyset.row))

    def only(self, *fields: str) -> Self:
        """Read these fields alone, for example without snapshots, which can be large; other attributes are absent.

        An entry always has ``id``, ``timestamp`` and ``table_name``.
        """
        names = chosen(fields)
        shown = columns(names)
        return replace(self, columns=shown, keyset=replace(self.keyset, select=shown + FROM, row=row_of(names)))

    def _query(self) -> Query[Entry]:
        if not self.is_of_record:
            return Listing._query(self)
        return by_change(self.columns, self._direction, self.filter, position=self.position, limit=self.size + 1)

    def _when(self, comparison: LiteralString, point_in_time: PointInTime) -> Self:
        return replace(
            self,
            filter=self.filter.compare(comparison, point_in_time),
            range=self.range.compare(comparison, point_in_time),
        )

    def _in_range(self, condition: LiteralString, *params: object) -> Self:
        found = self._where(condition, *params)
        return replace(found, range=found.range.where(condition, *params))

    def _indexed(self, column: LiteralString, values: Sequence[str]) -> Self:
        """As ``_among``; the first condition on one value of such a column is also one of the range."""
        found = self._among(column, values)
        if self.is_indexed or len(values) > 1:
            return found
        return replace(found, is_indexed=True, range=found.range.where(column + " = %s", values[0]))

    def _among(self, column: LiteralString, values: Sequence[str], *, cast: LiteralString = "text") -> Self:
        if len(values) == 1:  # of one, PostgreSQL knows that an index has the order of time
            return self._where(column + " = %s::" + cast, values[0])
        return self._where(column + " = any(%s::" + cast + "[])", _some(values))

    def _not_among(self, column: LiteralString, values: Sequence[str], *, cast: LiteralString = "text") -> Self:
        if not values:
            return self
        return self._where("(" + column + " = any(%s::" + cast + "[])) is not true", _some(values))


_NEWEST: Final[Keyset[Entry]] = keyset("newest", SELECT, Entry)


def entry(entry_id: str) -> Query[Entry]:
    """The entry with this id, if there is one. Raises QueryError if it is not an id."""
    if not (entry_id.isascii() and entry_id.isdecimal() and len(entry_id) <= _ID_DIGITS):
        raise QueryError(f"{entry_id!r} is not the id of an entry", hint="Ids are whole numbers, such as 812.")
    return Query(SELECT + " where id = %s", (int(entry_id),), Entry)  # unordered, or the index of ids is not used


def query() -> AuditQuery:
    """A query of the audit log, with no conditions yet."""
    return AuditQuery(_NEWEST)


def _some(values: Sequence[str]) -> list[str]:
    if not 1 <= len(values) <= MAX_VALUES:
        raise QueryError(f"a filter cannot have {len(values)} values", hint=f"Pass 1 to {MAX_VALUES}.")
    return list(values)


def _check_one_of(what: str, values: Sequence[str], known: Sequence[str]) -> None:
    for value in values:
        if value not in known:
            raise QueryError(f"{value!r} is not {what}", hint=f"Write one of {', '.join(known)}.")

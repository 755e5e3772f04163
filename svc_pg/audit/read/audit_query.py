"""Read the audit log: ``query().resource("public.invoice").since("1h").list(conn)``."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Self, cast, get_args

from svc_pg.audit.context import Id
from svc_pg.audit.log.audit_log import log_of
from svc_pg.audit.log.conditions import (
    Among,
    AtLeast,
    BeforeTransaction,
    Column,
    Condition,
    Contains,
    HasFact,
    HasWords,
    Is,
    ListColumn,
    Missable,
    OfAnyDatabase,
    Overlaps,
    Since,
    SinceTransaction,
    Until,
    Without,
)
from svc_pg.audit.log.entry import OPERATIONS, SELECT, SEVERITIES, WITH_ID, Entry, Order, fields_to_read
from svc_pg.audit.log.numbers import number_of
from svc_pg.audit.log.record_ids import record_id
from svc_pg.audit.log.selection import Selection
from svc_pg.config.audited_table import Severity
from svc_pg.database.connections import async_connection, sync_connection
from svc_pg.database.filters import MAX_VALUES
from svc_pg.database.pagination import Page, PointInTime, time_or_age
from svc_pg.database.query import Query
from svc_pg.database.storable_texts import check_texts
from svc_pg.database.table_names import TableName
from svc_pg.errors import QueryError

MISSING: Final[tuple[Missable, ...]] = get_args(Missable)


@dataclass(frozen=True, slots=True)
class AuditQuery(Selection):
    """A query of the audit log. Every method returns a new one; ``list`` or ``alist`` runs it.

    Entries of one transaction are in the order of capture. Those of one ``record`` are in the order of change, which
    differs if a trigger or a foreign key changed the record while its table was being changed.
    """

    def resource(self, *tables: str) -> Self:
        """Entries of one of these tables: ``schema.table``, or ``table`` for one in ``public``."""
        return self._among("table_name", [str(TableName.parse(table)) for table in tables])

    def record(self, key: object) -> Self:
        """Entries of the record with this key, in the order of change; a tuple, if several columns are the key."""
        text = record_id(key)
        check_texts(text)
        return self._where(Is("record_id", text))

    def actor(self, *actor_ids: Id) -> Self:
        """Entries of one of these actors."""
        return self._among("actor_id", [str(actor_id) for actor_id in actor_ids])

    def tenant(self, *tenant_ids: Id) -> Self:
        """Entries of one of these tenants."""
        return self._among("tenant_id", [str(tenant_id) for tenant_id in tenant_ids])

    def db_user(self, *names: str) -> Self:
        """Entries of changes by one of these users of the database, whoever the actor was. No index serves it."""
        return self._among("db_user", names)

    def operation(self, *operations: str) -> Self:
        """Entries of one of these operations: INSERT, UPDATE, DELETE, TRUNCATE, SNAPSHOT, GONE, DDL, READ."""
        _check_one_of("an operation", operations, OPERATIONS)
        return self._among("operation", operations)

    def label(self, *labels: str) -> Self:
        """Entries that the rules of enrichment gave one of these labels."""
        return self._among("label", labels)

    def severity(self, *levels: str, at_least: str | None = None) -> Self:
        """Entries of one of these severities, or at least one: low, medium, high, critical. An entry may have none."""
        if (not levels) == (at_least is None):
            raise QueryError("severity takes either levels or at_least", hint='Such as severity(at_least="high").')
        if at_least is None:
            _check_one_of("a severity", levels, SEVERITIES)
            return self._among("severity", levels)
        _check_one_of("a severity", [at_least], SEVERITIES)
        return self._where(AtLeast(cast(Severity, at_least)))

    def compliance(self, *tags: str) -> Self:
        """Entries that have one of these tags."""
        return self._overlaps("compliance", tags)

    def changed(self, *fields: str) -> Self:
        """Updates that changed one of these fields."""
        return self._overlaps("changed_fields", fields)

    def missing(self, *values: str) -> Self:
        """Entries without an ``actor``, a ``tenant``, a ``record``, a ``label``, a ``severity`` or ``compliance``."""
        _check_one_of("a value that may be missing", _some(values), MISSING)
        return self._where(*(Without(cast(Missable, value)) for value in values))

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
        """Leave out entries with one of these values; entries without a value stay."""
        _check_one_of("an operation", operation, OPERATIONS)
        _check_one_of("a severity", severity, SEVERITIES)
        excluded: dict[Column, Sequence[str]] = {
            "table_name": [str(TableName.parse(table)) for table in resource],
            "actor_id": actor,
            "tenant_id": tenant,
            "operation": operation,
            "label": label,
            "severity": severity,
        }
        found = self
        for column, values in excluded.items():
            if values:
                found = found._among(column, values, is_excluded=True)
        return found._overlaps("compliance", compliance, is_excluded=True) if compliance else found

    def since(self, point_in_time: PointInTime) -> Self:
        """Entries from then on: an aware datetime, or a duration before now, for example ``1h``."""
        return self._where(Since(time_or_age(point_in_time)))

    def until(self, point_in_time: PointInTime) -> Self:
        """Entries before then: an aware datetime, or a duration before now, for example ``1h``."""
        return self._where(Until(time_or_age(point_in_time)))

    def transactions(self, *, since: int | None = None, before: int | None = None) -> Self:
        """Entries of the transactions from one id on, or before one; the ids are those in ``xact_id``."""
        found = self if since is None else self._where(SinceTransaction(since))
        return found if before is None else found._where(BeforeTransaction(before))

    def containing(self, members: str) -> Self:
        """Entries of which a snapshot has the members of this JSON object: see ``svc_pg.audit.read.search``."""
        check_texts(members)
        return self._where(Contains(members))

    def with_words(self, words: str) -> Self:
        """Entries that have these words in their snapshots or description: see ``svc_pg.audit.read.search``."""
        check_texts(words)
        return self._where(HasWords(words))

    def with_fact(self, value: str) -> Self:
        """Entries whose context has this value, as a request's id or an address: see ``svc_pg.audit.read.search``."""
        check_texts(value)
        return self._where(HasFact(value))

    def of_any_database(self) -> Self:
        """Entries of all databases of the server, where the log is one for all: on MySQL and MariaDB.

        Without it, they are those of the connection's database, or of the tables that ``resource`` names. A connection
        to database ``svc`` has those of all.
        """
        return self._where(OfAnyDatabase())

    def order(self, first: str) -> Self:
        """The order of the entries: the ``newest`` first, which is the default, or the ``oldest``."""
        _check_one_of("an order", [first], get_args(Order))
        return replace(self, first=cast(Order, first))

    def only(self, *fields: str) -> Self:
        """Read these fields alone, for example without snapshots, which can be large; other attributes are absent.

        An entry always has ``id``, ``timestamp`` and ``table_name``.
        """
        return replace(self, fields=fields_to_read(fields))

    def list(self, conn: Any) -> Page[Entry]:
        """Run on a connection or cursor of psycopg, sqlite3 or another driver, a session, or SQLAlchemy's or Django's.

        Never commits. Raises NotInstalledError, and QueryError for conditions that only PostgreSQL supports.
        """
        log = log_of(sync_connection(conn, twin="await query.alist(conn)"))
        return log.run(log.page(self))

    async def alist(self, conn: Any, *, max_bytes: int | None = None) -> Page[Entry]:
        """As ``list``, on an async connection: psycopg's, aiosqlite's, asyncmy's, or SQLAlchemy's on one of these.

        With ``max_bytes``, which PostgreSQL needs a transaction for, a page ends before it has more, but not before its
        first row.
        """
        log = log_of(await async_connection(conn, twin="query.list(conn)"))
        return await log.arun(log.page(self, max_bytes=max_bytes))

    def _where(self, *conditions: Condition) -> Self:
        return replace(self, conditions=(*self.conditions, *conditions))

    def _among(self, column: Column, values: Sequence[str], *, is_excluded: bool = False) -> Self:
        return self._where(Among(column, _some(values), is_excluded))

    def _overlaps(self, column: ListColumn, values: Sequence[str], *, is_excluded: bool = False) -> Self:
        return self._where(Overlaps(column, _some(values), is_excluded))


def entry(entry_id: str) -> Query[Entry]:
    """The entry with this id, if there is one. Raises QueryError if it is not an id."""
    number = number_of(entry_id)
    return Query(SELECT + WITH_ID, (number, number), Entry)


def query() -> AuditQuery:
    """A query of the audit log, with no conditions yet."""
    return AuditQuery()


def _some(values: Sequence[str]) -> tuple[str, ...]:
    if not 1 <= len(values) <= MAX_VALUES:
        raise QueryError(f"a filter cannot have {len(values)} values", hint=f"Pass 1 to {MAX_VALUES}.")
    check_texts(*values)
    return tuple(values)


def _check_one_of(what: str, values: Sequence[str], known: Sequence[str]) -> None:
    for value in values:
        if value not in known:
            raise QueryError(f"{value!r} is not {what}", hint=f"Write one of {', '.join(known)}.")

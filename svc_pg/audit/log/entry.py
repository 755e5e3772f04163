"""An entry of the audit log, and how it is read: its columns and its two orders."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, fields, make_dataclass
from datetime import datetime
from functools import lru_cache
from typing import Annotated, Any, Final, Literal, LiteralString, Protocol, TypeVar, cast, get_args

from svc_pg.audit.log import numbers
from svc_pg.audit.log.snapshot import Snapshot, read_snapshots
from svc_pg.config.audited_table import Severity
from svc_pg.database.pagination import Keyset, aware_time, decode
from svc_pg.errors import QueryError
from svc_pg.formats.doc import Doc

Operation = Literal["INSERT", "UPDATE", "DELETE", "TRUNCATE", "SNAPSHOT", "GONE", "DDL", "READ"]
Order = Literal["newest", "oldest"]

OPERATIONS: Final[tuple[Operation, ...]] = get_args(Operation)
SEVERITIES: Final[tuple[Severity, ...]] = get_args(Severity)
ERASED: Final = '{"erased": true}'
"""The snapshot of an erased entry."""
_FOUND_BY: Final = "found by "
ALWAYS: Final = ("id", "timestamp", "table_name")
"""The fields of every entry, also if others are chosen."""


ENTRY_ID: Final = Doc("The id of the entry in the audit log.", "184467")
TABLE: Final = Doc("The table, with its schema.", "public.customer")
OPERATION: Final = Doc(
    "The kind of the change. SNAPSHOT is a row that was there when capture began. GONE, a record that only the log had,"
    " and a SNAPSHOT labelled `found by ...`, a row that the log lacked or knew otherwise, were found by a comparison:"
    " nobody knows who made the change and when. DDL is a statement that changed the table itself, such as ALTER TABLE:"
    " the label is its tag, and before and after have what differs, such as `column email`."
    " READ tells who read records of the table that is its record: after has their keys."
)
RECORD: Final = Doc("The key of the record, of several columns as a JSON array; null without a key.", "42")
ACTOR: Final = Doc("The actor, as the application set it; null if it set none.", "ann@corp.example")
TENANT: Final = Doc("The tenant, as the application set it; null if it set none.", "acme")
DB_USER: Final = Doc("The role that connected to PostgreSQL; null on databases that do not tell.", "shop")
BEFORE: Final = Doc("The row before the change, without redacted values; null if there was none.", {"name": "Ann"})
AFTER: Final = Doc("The row after the change, without redacted values; null if there is none.", {"name": "Anne"})
CHANGED: Final = Doc(
    "The fields that differ; null unless it is an UPDATE, or a SNAPSHOT of a row that differed.", ["name"]
)
REDACTED: Final = Doc("The fields whose values are left out or disguised; null if none is.", ["iban"])
FOUND: Final = Doc("True if a comparison with the table found the change, so that nobody knows its actor and time.")
XACT: Final = Doc("The transaction: entries and webhook messages of one transaction have the same.", "7301")


@dataclass(frozen=True, slots=True)
class Entry:
    """One change of one record.

    On PostgreSQL every entry has a ``db_user`` and an ``xact_id``. SQLite knows neither, and MySQL no ``xact_id``.
    """

    id: Annotated[str, ENTRY_ID]
    timestamp: Annotated[datetime, Doc("The time of the entry.")]
    table_name: Annotated[str, TABLE]
    operation: Annotated[Operation, OPERATION]
    record_id: Annotated[str | None, RECORD]
    actor_id: Annotated[str | None, ACTOR]
    tenant_id: Annotated[str | None, TENANT]
    db_user: Annotated[str | None, DB_USER]
    db_role: Annotated[str | None, Doc("The role that was set (set role); null if none was.", "billing")]
    before_data: Annotated[Snapshot | None, BEFORE]
    after_data: Annotated[Snapshot | None, AFTER]
    changed_fields: Annotated[list[str] | None, CHANGED]
    label: Annotated[str | None, Doc("The name that a rule gives the change; null if none does.", "Customer changed")]
    severity: Annotated[Severity | None, Doc("The weight that a rule gives the change; null if none does.")]
    compliance: Annotated[
        list[str] | None, Doc("The tags of compliance that a rule gives the change; null if none does.", ["gdpr"])
    ]
    description: Annotated[
        str | None,
        Doc(
            "The change in a sentence, as a rule says; null if none does.",
            "ann@corp.example changed the e-mail address",
        ),
    ]
    redacted_fields: Annotated[list[str] | None, REDACTED]
    context: Annotated[
        Snapshot | None,
        Doc(
            "Facts about the request, as the application set them; null if it set none.",
            {"request_id": "2f1d0c9b", "ip": "203.0.113.7"},
        ),
    ]
    xact_id: Annotated[str | None, XACT]
    partition: Annotated[
        str | None,
        Doc(
            "The partition that held the row, or that a TRUNCATE emptied; null for a table without partitions. A"
            " TRUNCATE with null emptied the whole table.",
            "public.orders_2026_01",
        ),
    ]

    def __post_init__(self) -> None:
        read_snapshots(self)

    @property
    def is_erased(self) -> bool:
        """True if ``svc_pg.audit.erase`` erased it: its snapshots say only that."""
        return is_erased(self)

    @property
    def is_found(self) -> bool:
        """True if a comparison with the table found the change, so that nobody knows its actor and time."""
        return is_found(self)


class _Shown(Protocol):
    @property
    def before_data(self) -> Snapshot | None:
        """The snapshot before."""

    @property
    def after_data(self) -> Snapshot | None:
        """The snapshot after."""

    @property
    def redacted_fields(self) -> list[str] | None:
        """The fields that are not recorded."""


def is_disguised(field: str, redacted: Collection[str] | None) -> bool:
    """True if the ``redacted_fields`` of an entry or a row say that its value of this field is not the real one."""
    return not {field, "*"}.isdisjoint(redacted or ())


def is_erased(entry: _Shown) -> bool:
    """True if the snapshots are those of an erased entry; see sql/audit/erase.sql.j2."""
    return entry.redacted_fields == ["*"] and ERASED in (str(entry.before_data), str(entry.after_data))


class _Change(Protocol):
    @property
    def table_name(self) -> str:
        """The table, or another name, without a dot."""

    @property
    def operation(self) -> Operation:
        """The kind of the change."""

    @property
    def label(self) -> str | None:
        """The name of the change."""


def is_found(entry: _Change) -> bool:
    """True if a comparison with the table found the change; see sql/audit/audit_is_found.sql."""
    return "." in entry.table_name and is_of_comparison(entry.operation, entry.label)


def is_of_comparison(operation: Operation, label: str | None) -> bool:
    """The same of an entry about a table."""
    return operation == "GONE" or (operation == "SNAPSHOT" and (label or "").startswith(_FOUND_BY))


FIELDS: Final[tuple[str, ...]] = tuple(field.name for field in fields(Entry))
_EXPRESSIONS: Final[dict[str, LiteralString]] = {
    "id": "id::text",
    "timestamp": '"timestamp"',
    "table_name": "table_name",
    "operation": "operation::text",
    "record_id": "record_id",
    "actor_id": "actor_id",
    "tenant_id": "tenant_id",
    "db_user": "db_user",
    "db_role": "db_role",
    "before_data": "before_data",
    "after_data": "after_data",
    "changed_fields": "changed_fields",
    "label": "label",
    "severity": "severity::text",
    "compliance": "compliance",
    "description": "description",
    "redacted_fields": "redacted_fields",
    "context": "context",
    "xact_id": "xact_id::text",
    "partition": "partition",
}


def columns(names: Sequence[str] = FIELDS) -> LiteralString:
    """The beginning of a statement that selects these fields."""
    return "\nselect " + ", ".join([_EXPRESSIONS[name] for name in names]) + "\n"


COLUMNS: Final = columns()
FROM: Final = "  from svc.audit_logs"
SELECT: Final[LiteralString] = COLUMNS + FROM
WITH_ID: Final = ' where "timestamp" = (select svc.audit_entry_time(%s)) and id = %s'
"""The condition that an entry has an id, which stands in it twice."""
# Qualified with the table: a bare id would be the text in SELECT
ORDER_BY: Final[dict[Order, LiteralString]] = {
    "newest": " order by audit_logs.timestamp desc, audit_logs.id desc",
    "oldest": " order by audit_logs.timestamp, audit_logs.id",
}
# the first condition prunes partitions, which a row comparison alone does not
BEYOND: Final[dict[Order, LiteralString]] = {
    "newest": '"timestamp" <= %s and ("timestamp", id) < (%s, %s)',
    "oldest": '"timestamp" >= %s and ("timestamp", id) > (%s, %s)',
}
_REVERSE: Final[dict[Order, Order]] = {"newest": "oldest", "oldest": "newest"}


def fields_to_read(names: Sequence[str]) -> tuple[str, ...]:
    """These fields and the fields of every entry, in the order of ``Entry``. Raises QueryError."""
    for name in names:
        if name not in FIELDS:
            raise QueryError(f"{name!r} is not a field of an entry", hint=f"Fields are {', '.join(FIELDS)}.")
    return tuple(name for name in FIELDS if name in names or name in ALWAYS)


@lru_cache(maxsize=64)
def row_of(names: tuple[str, ...]) -> Callable[..., Entry]:
    """A class like ``Entry`` with only these fields."""
    members = {"__post_init__": read_snapshots}
    kind = make_dataclass("Entry", [(name, Any) for name in names], frozen=True, slots=True, namespace=members)
    return cast(Callable[..., Entry], kind)


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
        beyond=BEYOND[order],
        reverse_order=ORDER_BY[_REVERSE[order]],
        before=BEYOND[_REVERSE[order]],
        key=lambda found: (found.timestamp.isoformat(), found.id),
        read=lambda cursor: beyond_parameters(*position(cursor)),
    )


def position(cursor: str) -> tuple[datetime, int]:
    """The time and the id of the entry in a cursor. Raises QueryError."""
    timestamp, entry_id = decode(cursor, aware_time, numbers.in_cursor)
    return cast(datetime, timestamp), cast(int, entry_id)


def beyond_parameters(timestamp: datetime, entry_id: int) -> tuple[datetime, datetime, int]:
    """The parameters of the condition on the entries beyond this one."""
    return timestamp, timestamp, entry_id

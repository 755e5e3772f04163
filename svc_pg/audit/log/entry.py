"""An entry of the audit log, and how it is read: its columns and its two orders."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, make_dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any, Final, Literal, LiteralString, Protocol, TypeVar, cast, get_args

from svc_pg.audit.log.snapshot import Snapshot, read_snapshots
from svc_pg.config.audited_table import Severity
from svc_pg.database.pagination import Keyset, aware_time, decode
from svc_pg.errors import QueryError

Operation = Literal["INSERT", "UPDATE", "DELETE", "TRUNCATE", "SNAPSHOT"]
Order = Literal["newest", "oldest"]

OPERATIONS: Final[tuple[Operation, ...]] = get_args(Operation)
SEVERITIES: Final[tuple[Severity, ...]] = get_args(Severity)
ERASED: Final = '{"erased": true}'
"""The snapshot of an erased entry."""
ALWAYS: Final = ("id", "timestamp", "table_name")
"""The fields of every entry, also if others are chosen."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One change of one record. Snapshots are mappings that keep PostgreSQL's text: ``entry.after_data["email"]``.

    ``partition`` is the partition that held the row, for example ``public.orders_2026_01``, or that a TRUNCATE emptied;
    a TRUNCATE without it emptied the whole table. On PostgreSQL every entry has a ``db_user`` and an ``xact_id``.
    SQLite knows neither, and MySQL no ``xact_id``.
    """

    id: str
    timestamp: datetime
    table_name: str
    operation: Operation
    record_id: str | None
    actor_id: str | None
    tenant_id: str | None
    db_user: str | None
    db_role: str | None
    before_data: Snapshot | None
    after_data: Snapshot | None
    changed_fields: list[str] | None
    label: str | None
    severity: Severity | None
    compliance: list[str] | None
    description: str | None
    redacted_fields: list[str] | None
    context: Snapshot | None
    xact_id: str | None
    partition: str | None

    def __post_init__(self) -> None:
        read_snapshots(self)

    @property
    def is_erased(self) -> bool:
        """True if ``svc_pg.audit.erase`` erased it: its snapshots say only that."""
        return is_erased(self)


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


def is_erased(entry: _Shown) -> bool:
    """True if the snapshots are those of an erased entry; see sql/audit/erase.sql.j2."""
    return entry.redacted_fields == ["*"] and ERASED in (str(entry.before_data), str(entry.after_data))


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


def chosen(names: Sequence[str]) -> tuple[str, ...]:
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
    timestamp, entry_id = decode(cursor, aware_time, int)
    return cast(datetime, timestamp), cast(int, entry_id)


def beyond_parameters(timestamp: datetime, entry_id: int) -> tuple[datetime, datetime, int]:
    """The parameters of the condition on the entries beyond this one."""
    return timestamp, timestamp, entry_id

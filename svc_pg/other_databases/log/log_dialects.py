"""The SQL of SQLite and of MySQL for queries of the audit log, as far as it differs."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial, reduce
from typing import Final, LiteralString

from svc_pg.audit.log.conditions import (
    Among,
    AtLeast,
    BeforeTransaction,
    Condition,
    Contains,
    HasFact,
    HasWords,
    Is,
    Missable,
    OfAnyDatabase,
    OfOtherTransactions,
    Overlaps,
    Since,
    SinceTransaction,
    Until,
    Without,
)
from svc_pg.audit.log.entry import SEVERITIES
from svc_pg.audit.log.numbers import HIGHEST
from svc_pg.database.pagination import ALL, Filter
from svc_pg.database.table_names import DEFAULT_SCHEMA, TableName
from svc_pg.errors import UnsupportedQueryError
from svc_pg.formats.json_writer import encode

_MICROSECOND: Final = timedelta(microseconds=1)

Phrase = tuple[LiteralString, tuple[object, ...]]
"""A condition or an expression, and its parameters."""


@dataclass(frozen=True, slots=True)
class LogDialect:
    """The SQL that differs.

    - ``log_name``: the log's own name in an entry
    - ``timestamp``: the time of an entry
    - ``equals``: compares exactly, regardless of the collation
    - ``has``: looks for a text in a JSON array
    - ``ago``: a time before the database's now
    - ``time``: writes a time in the log's format
    - ``size``: the size of a text in bytes
    - ``text``: reads a text of an application as bytes, because on SQLite it may be invalid UTF-8
    - ``context``: the actor, the tenant and the context of the session, as triggers read them; on MySQL parameters
    - ``begin``: begins a transaction that may write
    - ``open_guard``, ``close_guard``: between them, entries from before a time may be deleted
    - ``undo``: rolls the transaction back, the open guard included
    - ``leftovers``: deletes copies of rows that no entry needs
    - ``delete_old``: deletes some entries of a table from before a time, the oldest first
    - ``deleted``: the number of those entries
    - ``last_id``: the id of the entry written last
    """

    log: LiteralString
    log_name: str
    timestamp: LiteralString
    now: LiteralString
    equals: Callable[[LiteralString, str], Phrase]
    has: Callable[[LiteralString, str], Phrase]
    ago: Callable[[timedelta], Phrase]
    time: Callable[[datetime], str]
    size: Callable[[LiteralString], LiteralString]
    text: Callable[[LiteralString], LiteralString]
    no_compliance: LiteralString
    context: LiteralString
    db_user: LiteralString
    begin: LiteralString
    open_guard: LiteralString
    close_guard: LiteralString
    undo: Sequence[LiteralString]
    leftovers: Sequence[LiteralString]
    delete_old: Callable[[LiteralString], LiteralString]
    deleted: LiteralString
    last_id: LiteralString


def _naive(time: datetime) -> str:
    try:
        return f"{time.astimezone(UTC):%Y-%m-%d %H:%M:%S.%f}".rjust(26, "0")
    except OverflowError:  # its zone is ahead in the year 1, or behind in the year 9999
        return "0001-01-01 00:00:00.000000" if time.year == 1 else "9999-12-31 23:59:59.999999"


SQLITE: Final = LogDialect(
    log="svc_audit_logs",
    log_name="main.svc_audit_logs",
    timestamp="timestamp",
    now="strftime('%Y-%m-%dT%H:%M:%f000Z', 'now')",
    equals=lambda column, value: (column + " = %s", (value,)),
    has=lambda column, value: (
        "exists (select 1 from json_each(case when json_valid(" + column + ") then " + column + " end)"  # noqa: S608
        " where value = %s)",
        (value,),
    ),
    ago=lambda age: (
        "strftime('%Y-%m-%dT%H:%M:%f000Z', 'now', %s)",
        (f"-{age.total_seconds():.6f} seconds",),
    ),
    time=lambda time: _naive(time).replace(" ", "T") + "Z",
    size=lambda column: "coalesce(length(cast(" + column + " as blob)), 0)",
    # bytes, which no driver decodes; but a database in UTF-16 gives texts, which SQLite turns into UTF-8
    text=lambda column: "case cast('a' as blob) when x'61' then cast(" + column + " as blob) else " + column + " end",
    no_compliance="case when json_valid(compliance) then json_array_length(compliance) else 0 end = 0",
    context="json_extract(printf(), '$.actor_id'), json_extract(printf(), '$.tenant_id'),"
    " json_extract(printf(), '$.context')",
    db_user="null",
    begin="begin immediate",
    open_guard="insert into svc_audit_purge (before) values (%s)",
    close_guard="delete from svc_audit_purge",
    undo=("rollback",),
    # INSERT OR IGNORE leaves the row that it would have replaced; between transactions no statement needs it
    leftovers=("begin immediate", "delete from svc_audit_replaced", "commit"),
    delete_old=lambda which: (
        "delete from svc_audit_logs where id in ("  # noqa: S608 - ours
        "select id from svc_audit_logs where " + which + " order by timestamp limit %s)"
    ),
    deleted="select changes()",
    last_id="select last_insert_rowid()",
)
MYSQL: Final = LogDialect(
    log="svc.audit_logs",
    log_name="svc.audit_logs",
    timestamp="cast(timestamp as char)",
    now="cast(utc_timestamp(6) as char)",
    # its collations of code points take 'a' and 'a ' for the same
    equals=lambda column, value: (
        "(" + column + " = %s and char_length(" + column + ") = %s)",
        (value, len(value)),
    ),
    has=lambda column, value: ("coalesce(json_contains(" + column + ", %s), 0)", (encode(value).decode(),)),
    ago=lambda age: ("utc_timestamp(6) - interval %s microsecond", (age // _MICROSECOND,)),
    time=_naive,
    size=lambda column: "coalesce(length(" + column + "), 0)",
    # bytes, in which the server replaces no character that the connection's character set lacks by ?
    text=lambda column: "cast(" + column + " as binary)",
    no_compliance="coalesce(json_length(compliance), 0) = 0",
    context="%s, %s, %s",
    db_user="user()",
    begin="start transaction",
    open_guard="set @svc_purge_before = %s",
    close_guard="set @svc_purge_before = null",
    undo=("rollback", "set @svc_purge_before = null"),
    leftovers=(),
    delete_old=lambda which: "delete from svc.audit_logs where " + which + " order by timestamp limit %s",  # noqa: S608
    deleted="select row_count()",
    last_id="select last_insert_id()",
)

_WITHOUT: Final[dict[Missable, LiteralString]] = {
    "actor": "actor_id is null",
    "tenant": "tenant_id is null",
    "record": "record_id is null",
    "label": "label is null",
    "severity": "severity is null",
}


def filter_of(dialect: LogDialect, conditions: Iterable[Condition], *, default_schema: str) -> Filter:
    """The conditions, and their parameters. Raises UnsupportedQueryError for conditions of PostgreSQL alone."""
    return reduce(partial(_with, dialect, default_schema), conditions, ALL)


def names_default_schema(conditions: Iterable[Condition]) -> bool:
    """True if a table of the default schema is among the conditions."""
    tables = [
        name
        for condition in conditions
        if isinstance(condition, Is | Among) and condition.column == "table_name"
        for name in ([condition.value] if isinstance(condition, Is) else condition.values)
    ]
    return any(TableName.parse(name).schema == DEFAULT_SCHEMA for name in tables)


def real_name(table: str, default_schema: str) -> str:
    """The name of a table in entries."""
    return str(TableName.parse(table).within(default_schema))


def _with(dialect: LogDialect, default_schema: str, found: Filter, condition: Condition) -> Filter:
    match condition:
        case Is("table_name", value):
            return found.where(*_flat(dialect.equals("table_name", real_name(value, default_schema))))
        case Is(column, value):
            return found.where(*_flat(dialect.equals(column, value)))
        case Among("table_name", values, is_excluded):
            names = [real_name(value, default_schema) for value in values]
            return _one_of(found, [dialect.equals("table_name", name) for name in names], is_excluded=is_excluded)
        case Among(column, values, is_excluded):
            return _one_of(found, [dialect.equals(column, value) for value in values], is_excluded=is_excluded)
        case Overlaps(column, values, is_excluded):
            return _one_of(found, [dialect.has(column, value) for value in values], is_excluded=is_excluded)
        case AtLeast(severity):
            levels = SEVERITIES[SEVERITIES.index(severity) :]
            return _one_of(found, [dialect.equals("severity", level) for level in levels], is_excluded=False)
        case Without("compliance"):
            return found.where(dialect.no_compliance)
        case Without(value):
            return found.where(_WITHOUT[value])
        case Since(time):
            return _compared(dialect, found, "timestamp >= ", time)
        case Until(time):
            return _compared(dialect, found, "timestamp < ", time)
        case SinceTransaction(xact_id):
            return found.where("xact_id >= %s", min(xact_id, HIGHEST))
        case BeforeTransaction(xact_id):
            return found.where("xact_id < %s", min(xact_id, HIGHEST))
        case OfAnyDatabase():
            return found
        case OfOtherTransactions():
            raise UnsupportedQueryError(
                "entries have a transaction in an audit log on PostgreSQL only", hint="Read them one by one."
            )
        case Contains() | HasWords() | HasFact():
            raise UnsupportedQueryError(
                "snapshots and contexts can be searched in an audit log on PostgreSQL only",
                hint="Select by table, record, actor, changed fields or time.",
            )


def _one_of(found: Filter, phrases: list[Phrase], *, is_excluded: bool) -> Filter:
    either: LiteralString = "(" + " or ".join([text for text, _ in phrases]) + ")"
    params = [param for _, params in phrases for param in params]
    return found.where(either + " is not true" if is_excluded else either, *params)


def _compared(dialect: LogDialect, found: Filter, comparison: LiteralString, time: datetime | timedelta) -> Filter:
    if isinstance(time, datetime):
        return found.where(comparison + "%s", dialect.time(time))
    text, params = dialect.ago(time)
    return found.where(comparison + text, *params)


def _flat(phrase: Phrase) -> tuple[LiteralString, *tuple[object, ...]]:
    text, params = phrase
    return text, *params

"""Entries of the audit log: pages of a selection, and one by its id."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, LiteralString, cast

from svc_pg.audit.log.conditions import Among, Condition, Is, OfAnyDatabase
from svc_pg.audit.log.entry import FIELDS, Entry, row_of
from svc_pg.audit.log.numbers import HIGHEST
from svc_pg.audit.log.selection import Selection
from svc_pg.database.dialects import dialect_of
from svc_pg.database.effects import Effects, Statement
from svc_pg.database.pagination import ALL, Filter, Page
from svc_pg.database.query import RawJson
from svc_pg.errors import QueryError
from svc_pg.other_databases.log.change_order import by_change
from svc_pg.other_databases.log.databases import of_this_database
from svc_pg.other_databases.log.invalid_texts import in_json
from svc_pg.other_databases.log.keys import Key, beyond, forged, in_order, time_of, within
from svc_pg.other_databases.log.log_dialects import (
    MYSQL,
    SQLITE,
    LogDialect,
    filter_of,
    names_default_schema,
)


def log_dialect_of(conn: object) -> LogDialect:
    """The log's dialect for a connection."""
    return SQLITE if dialect_of(conn) == "sqlite" else MYSQL


def wanted(dialect: LogDialect, conditions: Sequence[Condition]) -> Effects[Filter]:
    """The conditions in the SQL of the database. Raises QueryError if a table needs a schema.

    On MySQL the entries are those of the connection's database, unless tables are named or all databases are wanted.
    """
    schema = (yield from default_schema_of(dialect)) if names_default_schema(conditions) else "main"
    found = filter_of(dialect, conditions, default_schema=schema)
    if _names_tables(conditions) or OfAnyDatabase() in conditions:
        return found
    return found.joined((yield from of_this_database(dialect)))


def _names_tables(conditions: Sequence[Condition]) -> bool:
    return any(
        isinstance(each, Is | Among) and each.column == "table_name" and not getattr(each, "is_excluded", False)
        for each in conditions
    )


def default_schema_of(dialect: LogDialect) -> Effects[str]:
    """The schema of unqualified tables. Raises QueryError if the connection has no database."""
    if dialect is not MYSQL:
        return "main"
    [[database]] = yield Statement("select database()")
    if database is None:
        raise QueryError("the connection has no database", hint="Write the table with its own: shop.customer.")
    return str(database)


def page(
    dialect: LogDialect, selection: Selection, *, max_bytes: int | None = None, also: Filter = ALL
) -> Effects[Page[Entry]]:
    """A page of the entries, ``also`` of these; with ``max_bytes`` it ends before it has more, but has a first row."""
    found = (yield from wanted(dialect, selection.conditions)).joined(also)
    is_falling = (selection.first == "newest") != selection.is_backward
    keys = yield from _keys_beyond(dialect, found, selection, is_falling=is_falling, limit=selection.size + 1)
    shown = within(keys[: selection.size], max_bytes)
    entries = yield from entries_of(dialect, shown, selection.fields)
    return selection.page_of(
        entries, has_more=len(keys) > len(shown), key=lambda entry: (entry.timestamp.isoformat(), entry.id)
    )


def one(dialect: LogDialect, entry_id: int, fields: Sequence[str] = FIELDS) -> Effects[Entry | None]:
    """The entry with this id, if there is one."""
    if entry_id > HIGHEST:
        return None
    here = (yield from of_this_database(dialect)).where("id = %s", entry_id)
    rows = yield _select(dialect, fields, here)
    return next(map(_reader(fields), rows), None)


def around(dialect: LogDialect, selection: Selection, entry_id: int, *, max_bytes: int) -> Effects[Page[Entry] | None]:
    """An entry with its neighbours: see ``svc_pg.audit.read.around``. None if there is no entry with this id."""
    found = yield from one(dialect, entry_id, selection.fields)
    if found is None:
        return None
    half = replace(selection, size=(selection.size - 1) // 2, position=(found.timestamp, entry_id))
    earlier = yield from page(dialect, replace(half, is_backward=True), max_bytes=max_bytes // 2)
    later = yield from page(dialect, replace(half, is_backward=False), max_bytes=max_bytes // 2)
    return Page([*earlier.data, found, *later.data], later.next_cursor, earlier.prev_cursor)


def entries_of(dialect: LogDialect, keys: Sequence[Key], fields: Sequence[str] = FIELDS) -> Effects[list[Entry]]:
    """The entries at these positions, in their order."""
    if not keys:
        return []
    marks: LiteralString = ", ".join(["%s"] * len(keys))
    rows = yield _select(dialect, fields, ALL.where("id in (" + marks + ")", *(key.id for key in keys)))
    by_id = {entry.id: entry for entry in map(_reader(fields), rows)}
    return [by_id[str(key.id)] for key in keys if str(key.id) in by_id]  # a purge may be quicker


def _keys_beyond(
    dialect: LogDialect, found: Filter, selection: Selection, *, is_falling: bool, limit: int
) -> Effects[list[Key]]:
    """The positions of the next entries; of one record in the order of change."""
    # MySQL lets no trigger change the table that is being changed
    if selection.is_of_record and dialect is SQLITE:
        return (yield from by_change(dialect, found, selection.edge, is_falling=is_falling, limit=limit))
    later = beyond(dialect, found, selection.edge, is_falling=is_falling)
    return (yield from in_order(dialect, later, is_falling=is_falling, limit=limit))


def _select(dialect: LogDialect, fields: Sequence[str], found: Filter) -> Statement:
    texts = {name: dialect.text(column) for name, column in _TEXTS.items()}
    known: Mapping[str, LiteralString] = {**_COLUMNS, **texts, "timestamp": dialect.timestamp}
    shown: LiteralString = ", ".join([known[name] for name in fields])
    return Statement("select " + shown + " from " + dialect.log + found.clause, found.params)  # noqa: S608


def _reader(fields: Sequence[str]) -> Callable[[Sequence[Any]], Entry]:
    """Make the function that makes an entry of a row."""
    make = Entry if tuple(fields) == FIELDS else row_of(tuple(fields))
    readers = [_READERS.get(name, _as_it_is) for name in fields]

    def entry(row: Sequence[Any]) -> Entry:
        try:
            return make(*(read(value) for read, value in zip(readers, row, strict=True)))
        except ValueError as error:
            raise forged(row[fields.index("id")]) from error

    return entry


def _as_it_is(value: Any) -> Any:
    return value


def _json(value: str | None) -> RawJson | None:
    return None if value is None else RawJson(in_json(value))


def _list(value: str | None) -> list[str] | None:
    return None if value is None else cast(list[str], json.loads(value))


_COLUMNS: Final[Mapping[str, LiteralString]] = {
    "id": "id",
    "table_name": "table_name",
    "operation": "operation",
    "severity": "severity",
    "compliance": "compliance",
    "xact_id": "xact_id",
    "partition": "null",
}
_TEXTS: Final[Mapping[str, LiteralString]] = {
    "record_id": "record_id",
    "actor_id": "actor_id",
    "tenant_id": "tenant_id",
    "db_user": "db_user",
    "db_role": "db_role",
    "before_data": "before_data",
    "after_data": "after_data",
    "changed_fields": "changed_fields",
    "label": "label",
    "description": "description",
    "redacted_fields": "redacted_fields",
    "context": "context",
}
"""The fields that come from applications."""
_READERS: Final[Mapping[str, Callable[[Any], Any]]] = {
    "id": str,
    "timestamp": time_of,
    "before_data": _json,
    "after_data": _json,
    "context": _json,
    "changed_fields": _list,
    "compliance": _list,
    "redacted_fields": _list,
    "xact_id": lambda value: None if value is None else str(value),
}

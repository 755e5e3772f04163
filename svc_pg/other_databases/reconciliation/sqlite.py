"""SQLite's side of a comparison: a transaction sees a change and its entry or neither, and one at a time writes."""

import json
import sqlite3
from collections.abc import Collection, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, LiteralString

from svc_pg.audit.reconciliation.result import FOUND
from svc_pg.capture.rules import TableRules
from svc_pg.config import Config
from svc_pg.database.effects import Effects, Statement
from svc_pg.database.statements import statement
from svc_pg.errors import ConfigError
from svc_pg.other_databases.capture.entry_sql import EntrySql, entry_sql, json_list
from svc_pg.other_databases.capture.sqlite.catalog import SCHEMA
from svc_pg.other_databases.capture.sqlite.expressions import Sqlite
from svc_pg.other_databases.capture.sqlite.table import ROWIDS, SqliteTable, UniqueKey
from svc_pg.other_databases.capture.sqlite.triggers import capture_objects
from svc_pg.other_databases.log.change_order import last_of
from svc_pg.other_databases.log.keys import time_of
from svc_pg.other_databases.log.log_dialects import SQLITE
from svc_pg.other_databases.log.omissions import omissions_of
from svc_pg.other_databases.log.statements import PARAM, stated
from svc_pg.other_databases.reconciliation.key_values import sqlite_values
from svc_pg.other_databases.reconciliation.side import (
    NOT_INSTALLED,
    AuditedSide,
    Kept,
    Row,
    RowKey,
    State,
    no_unique_index,
)
from svc_pg.other_databases.reconciliation.table_statements import TableStatements, facts_of
from svc_pg.other_databases.schema.sqlite.installed import notes
from svc_pg.other_databases.schema.sqlite.session import reading
from svc_pg.other_databases.schema.sqlite.target import audited_tables
from svc_pg.rendering.schema_objects import SchemaObject
from svc_pg.rendering.sql_text import Sql, chained, joined, sql

_DIALECT: Final = Sqlite(old=sql('"svc row"'), new=sql('"svc row"'))
_PARAM: Final = Sql(PARAM)
_COPIED: Final = sql("(select k.after_data from main.svc_audit_logs k where k.id = {})", _PARAM)
_ALWAYS: Final = "9999-12-31T23:59:59.999999Z"
_LAST_ID: Final[LiteralString] = """
select max(id), (select max(id) from svc_audit_logs where table_name = %s and moved_from = %s)
  from svc_audit_logs where table_name = %s and record_id = %s
"""
_LAST_TIME: Final = statement("sqlite/queries/last_time.sql")
_PURGED: Final[LiteralString] = """
select max(json_extract(before_data, '$.before'))
  from svc_audit_logs
 where table_name = 'main.svc_audit_logs' and operation = 'DELETE' and label = 'audit log purged'
   and case when json_valid(before_data) then json_extract(before_data, '$.table') end = %s
"""
_ENTRY: Final[LiteralString] = (
    "select timestamp, operation, "  # noqa: S608 - constants
    + (SQLITE.text("after_data") + ", " + SQLITE.text("redacted_fields") + " from svc_audit_logs where id = %s")
)
_GONE: Final[LiteralString] = """
insert into main.svc_audit_logs (table_name, operation, record_id, before_data, redacted_fields, label, context)
select table_name, 'GONE', record_id, {before}, {redacted}, %s, '{"found": "gone"}'
  from main.svc_audit_logs where id = %s
"""
_GONE_AS_IS: Final[LiteralString] = _GONE.replace("{before}", "after_data").replace("{redacted}", "redacted_fields")
_GONE_KEPT: Final[LiteralString] = _GONE.replace("{before}", "cast(%s as text)").replace("{redacted}", "%s")


def side_of(conn: Any) -> "SqliteSide":
    """The side of a connection's database. Raises ConfigError for one that is async."""
    if not hasattr(conn, "in_transaction") or type(conn).__module__.startswith("aiosqlite"):
        raise ConfigError("this connection is async", hint="Call audit.reconcile(conn, ...) with one of sqlite3.")
    return SqliteSide(conn)


@dataclass(frozen=True, slots=True)
class SqliteSide:
    """A ``Side``."""

    conn: sqlite3.Connection
    dialect = SQLITE
    looks: Sequence[LiteralString] = ("begin",)
    writes: Sequence[LiteralString] = ("begin immediate",)
    sizes: str = "by their sizes"
    entries_by_time: LiteralString = "svc_audit_logs"

    @contextmanager
    def session(self) -> Iterator[None]:
        """Raise TransactionError inside a transaction."""
        with reading(self.conn):
            pass
        yield

    def tables(self, config: Config) -> dict[str, AuditedSide]:
        """The audited tables by name."""
        with reading(self.conn) as cursor:
            recorded = {note.identity: note.source_sha256 for note in notes(cursor)}
            found = {}
            for name, each in audited_tables(cursor, config).items():
                wanted = capture_objects(each.facts, each.rules, unattributed=config.audit.unattributed)
                entry = entry_sql(_DIALECT, each.rules, each.facts.columns, "INSERT")
                side = SqliteTableSide(each.facts, each.rules, entry)
                found[str(name)] = AuditedSide(side, _problem(side, wanted, recorded))
        return found

    def default_schema(self) -> str:
        """The main database."""
        return SCHEMA

    def omissions(self, table: str) -> Effects[tuple[bool, Sequence[str]]]:
        """The rules that the table had at some time."""
        found = yield from omissions_of(table, _ALWAYS)
        return (False, []) if found is None else (found.is_conditional, found.ignored)

    def purged_before(self, table: str) -> Effects[datetime | None]:
        """As the entries of purges tell."""
        [[before]] = yield Statement(_PURGED, (table,))
        return None if before is None else time_of(before)

    def repairing(self) -> AbstractContextManager[bool]:
        """A transaction that writes keeps all others off."""
        return nullcontext(enter_result=True)


def _problem(side: "SqliteTableSide", wanted: Sequence[SchemaObject], recorded: dict[str, str]) -> str | None:
    if any(recorded.get(each.identity) != each.source_sha256 for each in wanted):
        return NOT_INSTALLED
    names = {column.lower() for column in side.table.table.columns}
    if names.issuperset(ROWIDS) and not any(key.is_rowid for key in side.table.unique):
        return "nothing tells its rows apart: columns have all names of the rowid"
    return None if side.apart else no_unique_index(side.rules)


@dataclass(frozen=True, slots=True)
class SqliteTableSide:
    """A ``TableSide``."""

    table: SqliteTable
    rules: TableRules
    entry: EntrySql
    statements: TableStatements = field(default_factory=lambda: TableStatements("sqlite"), compare=False)

    @property
    def apart(self) -> Sequence[UniqueKey]:
        """The unique indexes within the key: a record is of one row if a row has no null in one of them."""
        within = [each for each in self.table.unique if {name for name, _ in each.columns} <= {*self.rules.key}]
        return sorted(within, key=lambda each: (not each.is_rowid, len(each.columns)))

    def begin(self, *, locks: bool) -> Effects[None]:  # noqa: ARG002 - as MySQL's
        """Nothing to do: SQLite has no TRUNCATE."""
        yield from ()

    def unkeyed(self) -> Effects[int]:
        """None: rows come in the order of their rowid or primary key."""
        yield from ()
        return 0

    def last(self) -> Effects[RowKey | None]:
        """The last row of now."""
        values = self._values(self.table.row_key)
        text = self._rendered(
            "last",
            keys=joined(", ", [part for value in values for part in _typed(value)]),
            order=joined(", ", [sql("{} desc", value) for value in values]),
        )
        found = yield stated(text)
        return _key(found[0]) if found else None

    def rows(self, after: RowKey | None, upto: RowKey, limit: int) -> Effects[list[Row]]:
        """The next rows, and if their last entries say the same."""
        values = self._values(self.table.row_key)
        names = [f"v_{part}{number}" for number in range(len(values)) for part in ("type", "value")]
        text = self._rendered(
            "rows",
            keys=[_DIALECT.ident(name) for name in names],
            names=[
                sql("{} as {}", each, _DIALECT.ident(name))
                for each, name in zip((part for value in values for part in _typed(value)), names, strict=True)
            ],
            within=chained(
                " and ", [self._compared("<=", upto), *([] if after is None else [self._compared(">", after)])]
            ),
            order=joined(", ", values),
            limit=limit,
            compares=self.rules.audited.record_when is None,
        )
        found = yield stated(text, *_params(upto), *([] if after is None else _params(after)))
        return [_row(each) for each in found]

    def lock(self, keys: Sequence[RowKey]) -> Effects[None]:  # noqa: ARG002 - as MySQL's
        """Nothing to do: the transaction writes."""
        yield from ()

    def row(self, key: RowKey) -> Effects[tuple[Row, str] | None]:
        """One row and its image."""
        found = yield stated(self._rendered("row", here=self._compared("=", key)), *_params(key))
        for record, is_wanted, image in found:
            return Row(key, _valid(record), bool(is_wanted), is_suspect=True), image
        return None

    def live(self, records: Collection[str], *, locks: bool) -> Effects[set[str]]:  # noqa: ARG002 - as MySQL's
        """Those that the table has: found by the values that the key may have, and compared as they are recorded."""
        kinds = {column.name: column.kind for column in self.table.columns}
        found: set[str] = set()
        for record in records:
            values = sqlite_values(record, {name: kinds[name] for name in self.rules.key})
            if values is None:
                continue
            names = next(
                (_names(key) for key in self.apart if all(values[name] is not None for name in _names(key))), None
            )
            if names is None:  # a null in each
                found.add(record)
                continue
            given = [values[name] or [] for name in names]
            places = [
                sql("{} in ({})", value, joined(", ", [_PARAM for _ in each]))
                for value, each in zip(self._values(names), given, strict=True)
            ]
            text = self._rendered("live", here=chained(" and ", places), given=_PARAM)
            if (yield stated(text, *(value for each in given for value in each), record)):
                found.add(record)
        return found

    def states(self, record: str) -> Effects[Sequence[State]]:
        """The last states by the order of change and by ids, which follow the order of commits."""
        name = self._name
        [[at]] = yield Statement(_LAST_TIME, (name, record, name, record))
        if at is None:
            return []
        entry_id, image = yield from last_of(SQLITE, name, record, time_of(at))
        states = [(yield from self._state(entry_id, image))]
        [[own, moved]] = yield Statement(_LAST_ID, (name, record, name, record))
        latest = max(own or 0, moved or 0)
        if latest != entry_id:
            state = yield from self._state(latest, None if latest == moved else ...)
            states.append(state)
        return states

    def _state(self, entry_id: int, image: Any) -> Effects[State]:
        [[at, operation, after, redacted]] = yield Statement(_ENTRY, (entry_id,))
        if image is ...:
            image = None if operation in ("DELETE", "GONE") else after
        return State(entry_id, time_of(at), image, redacted)

    def image_of(self, known: int) -> Effects[tuple[str | None, str | None]]:
        """Its image and its redacted fields."""
        [[_, _, image, redacted]] = yield Statement(_ENTRY, (known,))
        return image, redacted

    def snapshot(
        self, key: RowKey, kind: str, known: int | None, fields: Sequence[str] | None, kept: Kept | None
    ) -> Statement:
        """Write a SNAPSHOT of a row."""
        before = _COPIED if kept is None else sql("cast({} as text)", _PARAM)
        text = self._rendered("snapshot", here=self._compared("=", key), given=_PARAM, before=before, label=FOUND)
        image = known if kept is None else _storable(kept.image)
        changed = None if fields is None else json_list(fields)
        return stated(text, image, changed, json.dumps({"found": kind}), *_params(key))

    def gone(self, known: int, kept: Kept | None) -> Statement:
        """Write that a record is gone."""
        if kept is None:
            return Statement(_GONE_AS_IS, (FOUND, known))
        return Statement(_GONE_KEPT, (_storable(kept.image), kept.redacted, FOUND, known))

    @property
    def _name(self) -> str:
        return str(self.rules.table.name)

    def _values(self, names: Sequence[str]) -> list[Sql]:
        """Columns with the collations of their unique index."""
        unique = next((key.columns for key in self.table.unique if [name for name, _ in key.columns] == [*names]), ())
        collations = dict(unique)
        return [
            sql('"svc row".{} collate {}', _DIALECT.ident(name), _DIALECT.ident(collations[name]))
            if name in collations and name.lower() not in ROWIDS
            else sql('"svc row".{}', _DIALECT.ident(name))
            for name in names
        ]

    def _own_record(self) -> Sql:
        """The record of a row; null if another row may have the same."""
        if any(key.is_rowid for key in self.apart):
            return self.entry.record_id
        whole = [
            chained(" and ", [sql("{} is not null", value) for value in self._values(_names(key))])
            for key in self.apart
        ]
        return sql("case when {} then {} end", chained(" or ", whole), self.entry.record_id)

    def _compared(self, operator: LiteralString, key: RowKey) -> Sql:
        values, given = self._values(self.table.row_key), [_mark(kind) for kind, _ in key]
        if len(values) == 1:
            return sql("{} " + operator + " {}", values[0], given[0])
        return sql("({}) " + operator + " ({})", joined(", ", values), joined(", ", given))

    def _rendered(self, template: str, **values: object) -> str:
        return self.statements.rendered(_DIALECT, template, self._facts, values)

    def _facts(self) -> dict[str, object]:
        own = {"table": self.rules.table.name.table, "own_record": self._own_record()}
        return facts_of(_DIALECT, self.rules, self.entry) | own


def _names(key: UniqueKey) -> list[str]:
    return [name for name, _ in key.columns]


def _storable(image: str | None) -> bytes | str | None:
    """The text of an image; bytes if it is invalid UTF-8."""
    if image is None or image.isascii():
        return image
    try:
        image.encode()
    except UnicodeEncodeError:
        return image.encode(errors="surrogateescape")
    return image


def _typed(value: Sql) -> tuple[Sql, Sql]:
    return (
        sql("typeof({})", value),
        sql("case when typeof({0}) in ('text', 'blob') then hex(cast({0} as blob)) else {0} end", value),
    )


def _mark(kind: str) -> Sql:
    """A parameter for a value of a row's key."""
    return sql("cast({} as text)", _PARAM) if kind == "text" else _PARAM


def _params(key: RowKey) -> list[object]:
    return [bytes.fromhex(value) if kind in ("text", "blob") else value for kind, value in key]


def _row(found: Sequence[Any]) -> Row:
    *parts, record, is_wanted, is_suspect = found
    return Row(_key(parts), _valid(record), bool(is_wanted), bool(is_suspect))


def _key(parts: Sequence[Any]) -> RowKey:
    return [[parts[place], parts[place + 1]] for place in range(0, len(parts), 2)]


def _valid(record: str | None) -> str | None:
    """The record of a row; None if it is no valid text, by which no entry is found."""
    return None if hasattr(record, "original") else record

"""MySQL's side of a comparison, and MariaDB's: a snapshot sees a change and its entry, a repair locks single rows."""

import json
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, Literal, LiteralString

from svc_pg.audit.reconciliation.result import FOUND
from svc_pg.capture.rules import TableRules
from svc_pg.config import Config
from svc_pg.database.dbapi import DbApiConnection, execute, rows
from svc_pg.database.effects import Effects, Statement
from svc_pg.database.statements import statement
from svc_pg.other_databases.capture.entry_sql import NULL, EntrySql, entry_sql, json_list
from svc_pg.other_databases.capture.mysql.expressions import MySql
from svc_pg.other_databases.capture.mysql.table import MySqlColumn, MySqlTable
from svc_pg.other_databases.capture.mysql.triggers import capture_objects
from svc_pg.other_databases.log.driver_errors import is_too_long
from svc_pg.other_databases.log.keys import time_of
from svc_pg.other_databases.log.log_dialects import MYSQL
from svc_pg.other_databases.log.statements import PARAM, stated
from svc_pg.other_databases.reconciliation.key_values import mysql_value, texts_of, value_of_row
from svc_pg.other_databases.reconciliation.side import AuditedSide, Kept, Row, RowKey, State, no_unique_index, too_large
from svc_pg.other_databases.schema.mysql.installed import recorded_objects
from svc_pg.other_databases.schema.mysql.session import LOCK, Server, is_lost, pinned
from svc_pg.other_databases.schema.mysql.target import audited_tables
from svc_pg.rendering.sql_text import Sql, chained, joined, sql
from svc_pg.rendering.templates import render_for

_PARAM: Final = Sql(PARAM)
_TRUE: Final = sql("1 = 1")
_ENDS: Final = ("DELETE", "GONE", "TRUNCATE")
_PATIENCE: Final = 2
"""The most seconds to wait for a lock of a row, and for another repair or install."""
COUNTING: Final = 3
"""The most seconds to count the rows without a key."""
_AT_ONCE: Final = 100
"""The keys of several columns to look for in one statement."""
_SNAPSHOT: Final[Sequence[LiteralString]] = (
    "rollback",
    "set transaction isolation level repeatable read",
    "start transaction read only",
)
# The first read makes the snapshot, so what is locked before it is seen as it is
_WRITES: Final[Sequence[LiteralString]] = (
    "rollback",
    "set transaction isolation level repeatable read",
    "start transaction",
)
_ENTRY: Final[LiteralString] = (
    "select id, cast(timestamp as char), operation, "  # noqa: S608 - constants
    + (MYSQL.text("after_data") + ", " + MYSQL.text("redacted_fields") + " from svc.audit_logs where id = %s")
)
_LAST: Final[LiteralString] = """
select (select max(id) from svc.audit_logs where table_name = %s and record_id = %s and octet_length(record_id) = %s),
       (select max(id) from svc.audit_logs where table_name = %s and moved_from = %s and octet_length(moved_from) = %s)
"""
_TRUNCATED: Final[LiteralString] = """
select coalesce(max(id), 0) from svc.audit_logs where table_name = %s and record_id is null and operation = 'TRUNCATE'
"""
_PURGED: Final = statement("mysql/queries/purged_before.sql")
_KNOWS_ENDS: Final = statement("mysql/queries/knows_ends.sql")
_OLDER: Final = "the log is of an older svc-pg, and cannot say that a record is gone; run svc-pg install"
_PLAIN: Final = (None, "utf8mb4")
"""The character sets of a column whose values are compared with any text."""


def side_of(conn: Any) -> "MySqlSide":
    """The side of a connection's database."""
    return MySqlSide(conn)


@dataclass(slots=True)
class MySqlSide:
    """A ``Side``."""

    conn: DbApiConnection
    server: Server | None = None
    dialect = MYSQL
    looks = _SNAPSHOT
    writes = _WRITES
    sizes = "by their digests"
    # both servers may choose another index that begins with the table's name, and read all its entries
    entries_by_time = "svc.audit_logs force index (audit_logs_table)"

    @contextmanager
    def session(self) -> Iterator[None]:
        """Times of keys are compared in UTC. Raises TransactionError inside a transaction."""
        with pinned(self.conn) as self.server:
            [(zone,)] = rows(self.conn, "select @@time_zone")
            waits = "set time_zone = '+00:00', lock_wait_timeout = %s, innodb_lock_wait_timeout = %s"
            # a key may be a day that is none, and the server refuses to compare it otherwise
            days = ", sql_mode = concat(@@sql_mode, ',ALLOW_INVALID_DATES')"
            execute(self.conn, waits + days, (_PATIENCE, _PATIENCE))
            try:
                yield
            finally:
                if not is_lost(self.conn):
                    execute(self.conn, "set time_zone = %s", (zone,))

    def tables(self, config: Config) -> dict[str, AuditedSide]:
        """The audited tables by name."""
        dialect = MySql(self._server.is_mariadb)
        installed = {identity: note.source_sha256 for (_, identity), (_, note) in recorded_objects(self.conn).items()}
        knows_ends = bool(rows(self.conn, _KNOWS_ENDS))
        found = {}
        for name, (table, rules) in audited_tables(self.conn, self._server, config)[0].items():
            wanted = capture_objects(dialect, table, rules)
            is_installed = all(installed.get(each.identity) == each.source_sha256 for each in wanted)
            side = MySqlTableSide.of(table, rules, is_mariadb=self._server.is_mariadb)
            problem = side.problem(is_installed=is_installed) if knows_ends else _OLDER
            found[str(name)] = AuditedSide(side, problem)
        return found

    def default_schema(self) -> str:
        """The database of the connection."""
        return self._server.database

    def omissions(self, table: str) -> Effects[tuple[bool, Sequence[str]]]:  # noqa: ARG002 - as SQLite's
        """Nothing keeps the rules that a table once had."""
        yield from ()
        return False, []

    def purged_before(self, table: str) -> Effects[datetime | None]:
        """As the entries of purges tell."""
        [[before]] = yield Statement(_PURGED, (table,))
        return None if before is None else time_of(before)

    @contextmanager
    def repairing(self) -> Iterator[bool]:
        """Hold the lock of installs, and so of backfills: two that miss a record do not keep each other off."""
        [(is_ours,)] = rows(self.conn, "select get_lock(%s, %s)", (LOCK, _PATIENCE))
        try:
            yield bool(is_ours)
        finally:
            if is_ours and not is_lost(self.conn):
                rows(self.conn, "select release_lock(%s)", (LOCK,))

    @property
    def _server(self) -> Server:
        assert self.server is not None  # noqa: S101 - the session is open
        return self.server


@dataclass(frozen=True, slots=True)
class MySqlTableSide:
    """A ``TableSide``."""

    rules: TableRules
    dialect: MySql
    key: Sequence[MySqlColumn]
    row_key: Sequence[MySqlColumn]
    """The columns within the key that tell rows apart, in the order of their index."""
    nullable: Sequence[MySqlColumn]
    """Those of them that may be null: then the row has no record that is its own."""
    entry: EntrySql
    truncated: list[int] = field(default_factory=list)
    """The id of the last TRUNCATE's entry, or 0, once it is known in this transaction."""
    texts: dict[tuple[str, ...], str] = field(default_factory=dict, compare=False)
    """Rendered statements."""

    @classmethod
    def of(cls, table: MySqlTable, rules: TableRules, *, is_mariadb: bool) -> "MySqlTableSide":
        """The side of a table."""
        child = MySql(is_mariadb, old=sql("child"), new=sql("child"))
        columns = {column.name: column for column in table.columns}
        entry = entry_sql(child, rules, table.columns, "INSERT", has_variable=False)
        key = [columns[name] for name in rules.key]
        row_key = [columns[name] for name in next((each for each in table.unique if {*each} <= {*rules.key}), ())]
        return cls(rules, child, key, row_key, [each for each in row_key if each.name in table.nullable], entry)

    def problem(self, *, is_installed: bool) -> str | None:
        """The reason for which it cannot be compared, if there is one."""
        if not is_installed:
            return (
                "its triggers were not made for the configuration and the table as they are now; run svc-pg install,"
                " or name the configuration that is installed"
            )
        odd = [column.name for column in self.key if column.kind in ("json", "shape")]
        if odd:
            return f"no order of its rows is known: {', '.join(odd)} is part of the key"
        return None if self.row_key else no_unique_index(self.rules)

    def begin(self, *, locks: bool) -> Effects[None]:
        """Open the table, so that a TRUNCATE waits until the snapshot that is made then has ended.

        A snapshot that is older than a TRUNCATE sees an empty table, and not its entry.
        """
        self.truncated.clear()
        if not locks:
            yield stated(self._rendered("opened"))

    def unkeyed(self) -> Effects[int | None]:
        """Those with a null in a unique index, which no index may find."""
        if not self.nullable:
            return 0
        here = chained(" or ", [sql("{} is null", self._name(column)) for column in self.nullable])
        try:
            [[number]] = yield stated(self._rendered("unkeyed", here=here, seconds=COUNTING))
        except Exception as error:
            if not is_too_long(error):
                raise
            return None
        return int(number)

    def last(self) -> Effects[RowKey | None]:
        """The last row of now."""
        keys = [self.dialect.text("new", column) for column in self.row_key]
        text = self._rendered(
            "last",
            keys=joined(", ", [sql("cast({} as binary)", key) for key in keys]),
            within=chained(" and ", self._keyed() or [_TRUE]),
            order=joined(", ", [sql("{} desc", self._place(column)) for column in self.row_key]),
        )
        found = yield stated(text)
        return [*found[0]] if found else None

    def rows(self, after: RowKey | None, upto: RowKey, limit: int) -> Effects[list[Row]]:
        """The next rows, and if their last entries say the same."""
        names = [self.dialect.ident(f"v_key{number}") for number in range(len(self.row_key))]
        keys = [self.dialect.text("new", column) for column in self.row_key]
        within = [*self._keyed(), self._beyond("<", upto), *([] if after is None else [self._beyond(">", after)])]
        text = self._rendered(
            "rows",
            keys=names,
            names=[sql("{} as {}", key, name) for key, name in zip(keys, names, strict=True)],
            within=chained(" and ", within),
            order=joined(", ", [self._place(column) for column in self.row_key]),
            limit=limit,
            compares=self.rules.audited.record_when is None,
            truncated=_PARAM,
        )
        params = [*self._params_beyond(upto), *([] if after is None else self._params_beyond(after))]
        truncated = yield from self._truncated()
        found = yield stated(text, truncated, *params)
        return [Row([*each[:-3]], each[-3], bool(each[-2]), bool(each[-1])) for each in found]

    def lock(self, keys: Sequence[RowKey]) -> Effects[None]:
        """Lock each row by its key."""
        text = self._rendered("live", here=self._here(), locks=True)
        for key in keys:
            yield stated(text, *self._params(key))

    def row(self, key: RowKey) -> Effects[tuple[Row, str] | None]:
        """One row and its image."""
        found = yield stated(self._rendered("row", here=self._here()), *self._params(key))
        for record, is_wanted, image in found:
            if image is None:  # the server gives NULL with a warning
                raise too_large(record)
            return Row(key, record, bool(is_wanted), is_suspect=True), image
        return None

    def live(self, records: Collection[str], *, locks: bool) -> Effects[set[str]]:
        """Those that the table has. Each is locked by a statement of its own, which scans nothing else."""
        parsed = {record: self._key_of(record) for record in records}
        keys = [key for key in parsed.values() if key is not None and None not in key]
        found = {record for record, key in parsed.items() if key is not None and None in key}
        size = 1 if locks else _AT_ONCE
        for start in range(0, len(keys), size):
            some = keys[start : start + size]
            here = joined(" or ", [sql("({})", self._here()) for _ in some])
            text = self._rendered("live", here=here, locks=locks)
            rows = yield stated(text, *(value for key in some for value in self._params(key)))
            found.update(record for (record,) in rows)
        return found.intersection(records)

    def states(self, record: str) -> Effects[Sequence[State]]:
        """The last state by ids: writers of one row wait for each other, so ids follow its changes."""
        place = (str(self.rules.table.name), record, len(record.encode()))
        [[own, moved]] = yield Statement(_LAST, (*place, *place))
        latest = max(own or 0, moved or 0)
        if not latest:
            return []
        [[entry_id, at, operation, after, redacted]] = yield Statement(_ENTRY, (latest,))
        is_over = latest == moved or operation in _ENDS or latest <= (yield from self._truncated())
        return [State(entry_id, time_of(at), None if is_over else after, redacted)]

    def image_of(self, known: int) -> Effects[tuple[str | None, str | None]]:
        """Its image and its redacted fields."""
        [[_, _, _, image, redacted]] = yield Statement(_ENTRY, (known,))
        return image, redacted

    def snapshot(
        self, key: RowKey, kind: str, known: int | None, fields: Sequence[str] | None, kept: Kept | None
    ) -> Statement:
        """Write a SNAPSHOT of a row."""
        before, params = self._before(kept)
        text = self._rendered("snapshot", here=self._here(), given=_PARAM, before=before, label=FOUND)
        changed = None if fields is None else json_list(fields)
        return stated(text, *params, changed, json.dumps({"found": kind}), known, *self._params(key))

    def gone(self, known: int, kept: Kept | None) -> Statement:
        """Write that a record is gone."""
        before, params = self._before(kept)
        redacted = sql("known.redacted_fields") if kept is None else _PARAM
        text = self._rendered("gone", given=_PARAM, before=before, redacted_before=redacted, label=FOUND)
        return stated(text, *params, *([] if kept is None else [kept.redacted]), known)

    def _before(self, kept: Kept | None) -> tuple[Sql, Sequence[object]]:
        """The image before. MySQL leaves fields out itself, because it would read a given decimal as a double."""
        if kept is None:
            return sql("known.after_data"), ()
        if self.dialect.is_mariadb:
            return _PARAM, [kept.image]
        places = joined(", ", [_PARAM for _ in kept.left_out])
        paths = ["$." + json.dumps(name, ensure_ascii=False) for name in kept.left_out]
        return sql("json_remove(known.after_data, {})", places), paths

    def _truncated(self) -> Effects[int]:
        if not self.truncated:
            [[entry_id]] = yield Statement(_TRUNCATED, (str(self.rules.table.name),))
            self.truncated.append(int(entry_id))
        return self.truncated[0]

    def _key_of(self, record: str) -> Sequence[str | None] | None:
        """The texts of a row's key; None if no row has this record, as of ``audit.capture_log``."""
        texts = texts_of(record, [column.name for column in self.key])
        if texts is None:
            return None
        found = [(texts[column.name], column) for column in self.row_key]
        if any(text is not None and mysql_value(text, column) is None for text, column in found):
            return None
        return [text for text, _ in found]

    def _keyed(self) -> list[Sql]:
        """The conditions that a row has a key."""
        return [sql("{} is not null", self._name(column)) for column in self.nullable]

    def _name(self, column: MySqlColumn) -> Sql:
        return sql("child.{}", self.dialect.ident(column.name))

    def _place(self, column: MySqlColumn) -> Sql:
        """A column in the order of the keys, which an index has; a set, or an enum of odd labels, by its texts."""
        name = self._name(column)
        return sql("cast({} as char)", name) if column.is_listed and not column.labels else name

    def _here(self) -> Sql:
        """A row by its key, with an index: of an enum too, whose texts are compared then."""
        found = []
        for column in self.row_key:
            found.append(sql("{} = {}", self._name(column), self._given(column)))
            if column.is_listed:
                found.append(sql("cast({} as char) = {}", self._name(column), _PARAM))
        return chained(" and ", found)

    def _given(self, column: MySqlColumn) -> Sql:
        """A text in the character set of its column: the server refuses one that has not all its characters."""
        if column.charset in _PLAIN or column.charset is None or column.collation is None:
            return _PARAM
        charset, collation = self.dialect.ident(column.charset), self.dialect.ident(column.collation)
        return sql("convert({} using {}) collate {}", _PARAM, charset, collation)

    def _beyond(self, way: Literal["<", ">"], key: RowKey) -> Sql:
        """The rows behind a key, or up to it, as MySQL finds them by an index: it has no ranges of (a, b) > (1, 2)."""
        end: LiteralString = "{} > {}" if way == ">" else "{} <= {}"
        beyond: LiteralString = "({0} >= {1} and ({0} > {1} or {2}))"
        if way == "<":
            beyond = "({0} <= {1} and ({0} < {1} or {2}))"
        found: Sql | None = None
        for column, text in reversed([*zip(self.row_key, key, strict=True)]):
            place = self._place(column)
            if column.labels:
                found = _beyond_label(place, column, text, way, found)
            else:
                found = sql(end, place, _PARAM) if found is None else sql(beyond, place, _PARAM, found)
        assert found is not None  # noqa: S101 - a key has columns
        return found

    def _params_beyond(self, key: RowKey) -> list[object]:
        values = [value_of_row(text, column) for text, column in zip(key, self.row_key, strict=True)]
        numbers = [*(2 for _ in values[1:]), 1]
        each = zip(self.row_key, values, numbers, strict=True)
        return [value for column, value, number in each if not column.labels for _ in range(number)]

    def _params(self, key: RowKey) -> list[object]:
        """Those of ``_here``."""
        return [
            value_of_row(text, column)
            for text, column in zip(key, self.row_key, strict=True)
            for _ in range(2 if column.is_listed else 1)
        ]

    def _rendered(self, template: str, **values: object) -> str:
        key = (template, *(str(value) for value in values.values()))
        if key not in self.texts:
            if len(self.texts) >= _AT_ONCE:
                self.texts.clear()
            path = f"mysql/reconciliation/{template}.sql.j2"
            self.texts[key] = render_for(self.dialect, path, **self._always(), **values)
        return self.texts[key]

    def _always(self) -> dict[str, object]:
        redacted = sorted(self.rules.redactions)
        return {
            "table": tuple(self.rules.table.name),
            "table_name": str(self.rules.table.name),
            "record_id": self.entry.record_id,
            "image": self.entry.after,
            "recorded": self.entry.recorded or _TRUE,
            "redacted": self.dialect.literal(json_list(redacted)) if redacted else NULL,
            "is_hashed": self.rules.is_hashed,
            "is_mariadb": self.dialect.is_mariadb,
        }


def _beyond_label(place: Sql, column: MySqlColumn, text: str | None, way: Literal["<", ">"], rest: Sql | None) -> Sql:
    """As ``_beyond``, of an enum. Both servers find single numbers by an index, but no range of them.

    The end of the rows is no condition of an index: with both, they would forget the other columns of the key. A value
    that is none of the enum has the number 0, and no text.
    """
    numbers = {label: number for number, label in enumerate(column.labels, start=1)} | {"": 0}
    number = numbers[text or ""]
    own = Sql(str(number))
    if way == "<":
        return (
            sql("{0} + 0 <= {1}", place, own)
            if rest is None
            else sql("({0} + 0 < {1} or ({0} + 0 = {1} and {2}))", place, own, rest)
        )
    beyond = [Sql(str(each)) for each in range(number + 1, len(numbers))]
    found = [sql("{} in ({})", place, joined(", ", beyond))] if beyond else []
    if rest is not None and beyond:
        found.append(sql("({} = {} and {})", place, own, rest))
    elif rest is not None:  # the servers forget the order of the index if one equality is all
        found.append(sql("({0} in (0, {1}) and {0} + 0 = {1} and {2})", place, own, rest))
    return sql("({})", chained(" or ", found)) if found else sql("1 = 0")

"""A connection of psycopg's kind that relays each statement to another driver's connection, inside its transaction.

An installer looks at a database through psycopg, whose loaders read each type in one way. A revision of Alembic or
Django may run on another driver, and only that driver's connection sees the tables that its transaction has made.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import psycopg
from psycopg import errors, pq
from psycopg.adapt import AdaptersMap, Transformer
from psycopg.rows import tuple_row
from psycopg.sql import Composable

_HOLE: Final = re.compile(r"%(?:%|s|\((?P<name>\w+)\)s)")
_NUMBERED: Final = re.compile(r"\$(?P<number>\d+)")
_READS: Final = re.compile(r"(?:\s|--[^\n]*\n)*(?:select|with|values)\b", re.IGNORECASE)
_TEXT: Final = "case when pg_catalog.num_nonnulls({0}) = 1 then pg_catalog.format('%s', {0}) end"
"""The text of a column as the server writes it to any client; a cast to text would write true for t."""
_SAVEPOINT: Final = "svc_pg_look"

Answer = tuple[Sequence[tuple[str, int]], Sequence[Sequence[Any]]]
"""The name and the type's oid of each column, and the rows."""
Relay = Callable[[str], Answer]
"""Executes one statement, without parameters, on the other driver's connection."""


class RelayedConnection(psycopg.Connection[Any]):
    """A connection for reading. Raises psycopg's errors, by their SQLSTATE, if the relay does."""

    def __init__(self, relay: Relay) -> None:
        """``relay`` executes a statement. The base has no connection of its own, so it is not initialized."""
        self._relay = relay

    closed = False  # as the other driver's connection, which is in a transaction
    autocommit = False

    @property
    def info(self) -> Any:
        """The facts that an installer asks for."""
        return _Info(self)

    def execute(self, query: Any, params: Any = None, *, prepare: bool | None = None, binary: bool = False) -> Any:  # noqa: ARG002 - as psycopg's
        """Execute a statement; of several without rows, one after the other."""
        return self.cursor().execute(query, params)

    def cursor(self, *_args: Any, row_factory: Any = tuple_row, **_options: Any) -> Any:
        """A cursor whose parameters are psycopg's."""
        return _Cursor(self._relay, row_factory, with_holes)

    def numbered_cursor(self, *, row_factory: Any = tuple_row) -> Any:
        """A cursor whose parameters are $1, $2."""
        return _Cursor(self._relay, row_factory, with_numbers)

    @contextmanager
    def transaction(
        self,
        savepoint_name: str | None = None,
        force_rollback: bool = False,  # noqa: FBT001, FBT002 - as psycopg's
    ) -> Iterator[Any]:
        """A savepoint."""
        name = savepoint_name or _SAVEPOINT
        is_kept = False
        self.execute(f"savepoint {name}")
        try:
            yield
            is_kept = not force_rollback
        finally:
            if not is_kept:
                self.execute(f"rollback to savepoint {name}")
            self.execute(f"release savepoint {name}")


@dataclass(frozen=True, slots=True)
class _Info:
    conn: RelayedConnection

    transaction_status = pq.TransactionStatus.INTRANS
    encoding = "utf-8"

    @property
    def server_version(self) -> int:
        return int(self.parameter_status("server_version_num"))

    @property
    def dbname(self) -> str:
        return str(self.conn.execute("select current_database()").fetchone()[0])

    def parameter_status(self, name: str) -> str:
        return str(self.conn.execute("select current_setting(%s)", (name,)).fetchone()[0])


class _Cursor:
    """The part of psycopg's cursor that queries and row factories use."""

    connection = None
    _encoding = "utf-8"

    def __init__(self, relay: Relay, row_factory: Any, fill: Callable[[str, Any], str]) -> None:
        self.adapters = AdaptersMap(psycopg.adapters)
        self.pgresult: _Result | None = None
        self._relay, self._row_factory, self._fill = relay, row_factory, fill
        self._rows: Iterator[Any] = iter(())

    @property
    def description(self) -> Sequence[str] | None:
        return self.pgresult.names if self.pgresult else None

    def execute(self, query: Any, params: Any = None, **_options: Any) -> "_Cursor":
        text = query.as_string(None) if isinstance(query, Composable) else query
        text = text.decode() if isinstance(text, bytes) else text
        text = text if params is None else self._fill(text, params)
        if _READS.match(text):
            self._read(text.rstrip().removesuffix(";"))
        else:
            for statement in text.split(";") if text.startswith("set ") else [text]:
                self._perform(statement)
        return self

    def fetchall(self) -> list[Any]:
        return list(self._rows)

    def fetchone(self) -> Any:
        return next(self._rows, None)

    def __iter__(self) -> Iterator[Any]:
        return self._rows

    def _read(self, text: str) -> None:
        """Ask for the types, and then for the texts by which the server writes each value, which psycopg loads."""
        columns, _ = self._perform(f"select * from (\n{text}\n) answer limit 0")  # noqa: S608 - our own text
        names = [f"c{index}" for index, _ in enumerate(columns)]
        texts = ", ".join(_TEXT.format(name) for name in names)
        again = f"select {texts} from (\n{text}\n) answer ({', '.join(names)})"  # noqa: S608 - our own text
        _, rows = self._perform(again)
        transformer = Transformer(self)
        load = [transformer.get_loader(oid, pq.Format.TEXT).load for _, oid in columns]
        self.pgresult = _Result([name for name, _ in columns])
        make = self._row_factory(self)
        self._rows = iter(
            [
                make(tuple(None if text is None else read(text.encode()) for read, text in zip(load, row, strict=True)))
                for row in rows
            ]
        )

    def _perform(self, statement: str) -> Answer:
        try:
            return self._relay(statement)
        except Exception as error:
            raise _as_psycopgs(error) from error


@dataclass(frozen=True, slots=True)
class _Result:
    """The part of libpq's result that row factories use."""

    names: list[str]
    status = pq.ExecStatus.TUPLES_OK

    @property
    def nfields(self) -> int:
        return len(self.names)

    def fname(self, index: int) -> bytes:
        return self.names[index].encode()


def with_holes(text: str, params: Any) -> str:
    """Put literals into the holes ``%s`` or ``%(name)s``; ``%%`` is a percent sign."""
    values = iter(params if isinstance(params, Sequence) else ())

    def filled(hole: re.Match[str]) -> str:
        if hole[0] == "%%":
            return "%"
        return _literal(params[hole["name"]] if hole["name"] else next(values))

    return _HOLE.sub(filled, text)


def with_numbers(text: str, params: Sequence[Any]) -> str:
    """Put literals in place of $1, $2."""
    return _NUMBERED.sub(lambda hole: _literal(params[int(hole["number"]) - 1]), text)


def _literal(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool() | int():
            return str(value).lower()
        case str():
            quoted = "'" + value.replace("'", "''") + "'"
            return " E" + quoted.replace("\\", "\\\\") if "\\" in quoted else quoted
        case list() | tuple():
            return f"array[{', '.join(map(_literal, value))}]::text[]"
        case _:
            raise TypeError(f"a parameter of type {type(value).__name__}")


def _as_psycopgs(error: Exception) -> Exception:
    """The error of psycopg's that has the SQLSTATE of another driver's; an error without one stays."""
    code = getattr(error, "sqlstate", None) or getattr(error, "pgcode", None)
    if not isinstance(code, str):
        return error
    try:
        kind = errors.lookup(code)
    except KeyError:
        kind = psycopg.DatabaseError
    words = str(error).strip().splitlines()[0].removeprefix(f"{type(error.__cause__)}: ")  # SQLAlchemy's for asyncpg
    info: defaultdict[Any, bytes | None] = defaultdict(lambda: None)
    info[pq.DiagnosticField.MESSAGE_PRIMARY] = words.encode()
    info[pq.DiagnosticField.SQLSTATE] = code.encode()
    made = kind(words)
    made._info = info  # as that of an error that was pickled
    return made


def relayed(perform: Callable[[str], Any]) -> RelayedConnection:
    """The connection whose statements ``perform`` executes: it returns a DB-API cursor, or an equal of one."""
    return RelayedConnection(partial(_answer, perform))


def _answer(perform: Callable[[str], Any], statement: str) -> Answer:
    cursor = perform(statement)
    if cursor.description is None:
        return (), ()
    return [(column[0], column[1]) for column in cursor.description], cursor.fetchall()

"""Settings for a statement whose planner has one choice, because its statistics are wrong or absent."""

import re
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, AbstractContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Final, LiteralString
from weakref import WeakKeyDictionary

from psycopg.pq import TransactionStatus
from psycopg.rows import tuple_row

from svc_pg.database.connections import apsycopg_connection, psycopg_connection

_INDEXES: Final[Mapping[LiteralString, LiteralString]] = dict.fromkeys(
    ("enable_seqscan", "enable_bitmapscan", "enable_sort", "jit"), "off"
)
"""Without sorts a price is 10^10, for which a statement would be compiled at each call."""
_WHOLE: Final[Mapping[LiteralString, LiteralString]] = {"enable_nestloop": "off", "jit": "off"}
_OF_FUNCTIONS: Final = files("svc_pg.sql").joinpath("include/range_settings.sql.j2")
_RANGES: Final[Mapping[LiteralString, LiteralString]] = dict(
    re.findall(r"^set (\w+) = (\w+)$", _OF_FUNCTIONS.read_text(encoding="utf-8"), re.MULTILINE)
)
"""Those of functions, but for the path, which a statement of ours does not need."""


def _chosen(settings: Mapping[LiteralString, LiteralString]) -> LiteralString:
    return ", ".join([f"set_config('{name}', '{value}', true)" for name, value in settings.items()])


BY_INDEXES: Final = f"select set_config('statement_timeout', '3s', true), {_chosen(_INDEXES)}"
"""Run it before the statement, in the same transaction; it also limits the statement to 3 seconds."""


@dataclass(frozen=True, slots=True)
class _Choice:
    """Settings that leave the planner one choice."""

    settings: Mapping[LiteralString, LiteralString]

    @property
    def choose(self) -> LiteralString:
        return "select " + _chosen(self.settings)

    @property
    def choose_and_tell(self) -> LiteralString:
        """Tells the settings of before first."""
        return (
            "select "
            + ", ".join([f"current_setting('{name}')" for name in self.settings])
            + ", "
            + _chosen(self.settings)
        )

    @property
    def restore(self) -> LiteralString:
        return "select " + ", ".join([f"set_config('{name}', %s, true)" for name in self.settings])


_BY_INDEXES: Final = _Choice(_INDEXES)
_BY_RANGES: Final = _Choice(_RANGES)
_OF_WHOLE: Final = _Choice(_WHOLE)


@dataclass(eq=False, slots=True)
class _Block:
    """A block with its choice, and the one around it. Blocks of several tasks need not end in the order of nesting."""

    choice: _Choice
    around: "_Block | None"
    is_over: bool = False


_innermost: Final[WeakKeyDictionary[Any, _Block]] = WeakKeyDictionary()
"""The innermost block that a connection is in. A block within it with the same choice does nothing."""


def by_indexes(conn: Any) -> AbstractContextManager[None]:
    """Enter to leave the planner no choice but indexes on a caller's connection; leaving restores its settings."""
    return _choosing(conn, _BY_INDEXES)


def by_ranges(conn: Any) -> AbstractContextManager[None]:
    """As ``by_indexes``, but no choice but BRIN indexes."""
    return _choosing(conn, _BY_RANGES)


def of_whole(conn: Any) -> AbstractContextManager[None]:
    """As ``by_indexes``, but no nested loops: each relation is read once, however few rows are expected of others."""
    return _choosing(conn, _OF_WHOLE)


def aby_indexes(conn: Any) -> AbstractAsyncContextManager[None]:
    """As ``by_indexes``, for an async connection."""
    return _achoosing(conn, _BY_INDEXES)


def aby_ranges(conn: Any) -> AbstractAsyncContextManager[None]:
    """As ``by_ranges``, for an async connection."""
    return _achoosing(conn, _BY_RANGES)


def aof_whole(conn: Any) -> AbstractAsyncContextManager[None]:
    """As ``of_whole``, for an async connection."""
    return _achoosing(conn, _OF_WHOLE)


def _is_chosen(conn: Any, choice: _Choice) -> bool:
    block = _innermost.get(conn)
    return block is not None and block.choice is choice


@contextmanager
def _noted(conn: Any, choice: _Choice) -> Iterator[None]:
    own = _innermost[conn] = _Block(choice, _innermost.get(conn))
    try:
        yield
    finally:
        own.is_over = True
        block = _innermost.pop(conn, None)
        while block is not None and block.is_over:
            block = block.around
        if block is not None:
            _innermost[conn] = block


@contextmanager
def _choosing(conn: Any, choice: _Choice) -> Iterator[None]:
    conn = psycopg_connection(conn)
    if _is_chosen(conn, choice):
        yield
    elif conn.autocommit and conn.info.transaction_status == TransactionStatus.IDLE:
        with conn.transaction(), _noted(conn, choice):
            conn.execute(choice.choose)
            yield
    else:
        [others] = conn.cursor(row_factory=tuple_row).execute(choice.choose_and_tell).fetchall()
        try:
            with _noted(conn, choice):
                yield
        finally:
            if conn.info.transaction_status == TransactionStatus.INTRANS:  # otherwise it ended in an error
                conn.execute(choice.restore, others[: len(choice.settings)])


@asynccontextmanager
async def _achoosing(conn: Any, choice: _Choice) -> AsyncIterator[None]:
    conn = await apsycopg_connection(conn)
    if _is_chosen(conn, choice):
        yield
    elif conn.autocommit and conn.info.transaction_status == TransactionStatus.IDLE:
        async with conn.transaction():
            with _noted(conn, choice):
                await conn.execute(choice.choose)
                yield
    else:
        [others] = await (await conn.cursor(row_factory=tuple_row).execute(choice.choose_and_tell)).fetchall()
        try:
            with _noted(conn, choice):
                yield
        finally:
            if conn.info.transaction_status == TransactionStatus.INTRANS:  # as above
                await conn.execute(choice.restore, others[: len(choice.settings)])

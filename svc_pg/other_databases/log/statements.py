"""Perform the statements of a call on a driver of SQLite, MySQL or MariaDB, sync or async."""

import inspect
import re
import secrets
from collections.abc import Sequence
from contextlib import closing
from functools import partial
from typing import Any, Final

from svc_pg.database import effects
from svc_pg.database.dbapi import values_of
from svc_pg.database.dialects import dialect_of, driver_connection
from svc_pg.database.effects import Effects, Result, Statement
from svc_pg.other_databases.log.driver_errors import translating
from svc_pg.other_databases.log.invalid_texts import read_text

Answer = Sequence[Sequence[Any]]

PARAM: Final = f"/*{secrets.token_hex(16)}*/"
"""A parameter in the text of ``stated``: one that nobody could choose as a name."""
_MARK: Final = re.compile("%([%s])")


def stated(text: str, *params: object) -> Statement:
    """A statement of rendered SQL, whose parameters are ``PARAM``: any % in it is part of a name or a text."""
    if not params:
        return Statement(text)
    return Statement(text.replace("%", "%%").replace(PARAM, "%s"), params)


def run(conn: object, wanted: Effects[Result]) -> Result:
    """Perform the effects on a connection of sqlite3, PyMySQL or another driver, or on one of SQLAlchemy's or Django's.

    Each takes the rows of the one before, or its error.
    """
    driver, is_sqlite = driver_connection(conn), dialect_of(conn) == "sqlite"
    with translating(), closing(driver.cursor()) as cursor:
        return effects.run(wanted, partial(_perform, cursor, is_sqlite))


async def arun(conn: object, wanted: Effects[Result]) -> Result:
    """As ``run``, on a connection of aiosqlite, asyncmy or aiomysql."""
    driver, is_sqlite = driver_connection(conn), dialect_of(conn) == "sqlite"
    with translating():
        cursor = driver.cursor()
        cursor = await cursor if inspect.isawaitable(cursor) else cursor
        try:
            return await effects.arun(wanted, partial(_aperform, cursor, is_sqlite))
        finally:
            await cursor.close()


def _perform(cursor: Any, is_sqlite: bool, statement: Statement) -> Answer:  # noqa: FBT001 - bound by position
    cursor.execute(*_call(statement, is_sqlite=is_sqlite))
    return [_values(row) for row in cursor.fetchall()] if cursor.description else []


async def _aperform(cursor: Any, is_sqlite: bool, statement: Statement) -> Answer:  # noqa: FBT001 - as above
    await cursor.execute(*_call(statement, is_sqlite=is_sqlite))
    return [_values(row) for row in await cursor.fetchall()] if cursor.description else []


def _call(statement: Statement, *, is_sqlite: bool) -> tuple[Any, ...]:
    """The arguments of a cursor: without parameters, a % is none of one, and drivers leave it alone."""
    if not statement.params:
        return (statement.text,)
    text = _MARK.sub(_question_mark, statement.text) if is_sqlite else statement.text
    return text, statement.params


def _question_mark(mark: "re.Match[str]") -> str:
    return "?" if mark[1] == "s" else "%"


def _values(row: Any) -> Sequence[Any]:
    """The values of a row, bytes as texts."""
    return [read_text(bytes(value)) if isinstance(value, bytes | bytearray) else value for value in values_of(row)]

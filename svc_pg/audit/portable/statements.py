"""Run the steps of a call, statements that each take the answer to the one before, on any driver, sync or async."""

import inspect
from collections.abc import Generator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any, LiteralString, TypeVar, cast

from svc_pg.audit.portable.driver_errors import translating
from svc_pg.audit.portable.invalid_texts import read_text
from svc_pg.database.dbapi import values_of
from svc_pg.database.dialects import dialect_of, driver_connection

Result = TypeVar("Result")
Answer = Sequence[Sequence[Any]]


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement; its parameters are ``%s``, whatever the driver calls them, so it has no other %."""

    text: LiteralString
    params: tuple[object, ...] = ()


Steps = Generator[Statement, Answer, Result]
"""The statements of a call. Each takes the rows of the one before, or its error; the last returns the result."""


@dataclass(frozen=True, slots=True)
class _Done:
    result: Any


def run(conn: object, steps: Steps[Result]) -> Result:
    """Take the steps on a connection of sqlite3, PyMySQL or another driver, or on one of SQLAlchemy's or Django's."""
    driver, is_sqlite = driver_connection(conn), dialect_of(conn) == "sqlite"
    answer: Answer | BaseException | None = None
    with translating(), closing(driver.cursor()) as cursor:
        while not isinstance(step := _next(steps, answer), _Done):
            try:
                cursor.execute(_text(step, is_sqlite=is_sqlite), step.params)
                answer = [_values(row) for row in cursor.fetchall()] if cursor.description else []
            except BaseException as error:  # noqa: BLE001 - the steps raise it, when they have ended what they began
                answer = error
    return cast(Result, step.result)


async def arun(conn: object, steps: Steps[Result]) -> Result:
    """As ``run``, on a connection of aiosqlite, asyncmy or aiomysql."""
    driver, is_sqlite = driver_connection(conn), dialect_of(conn) == "sqlite"
    answer: Answer | BaseException | None = None
    with translating():
        cursor = driver.cursor()
        cursor = await cursor if inspect.isawaitable(cursor) else cursor
        try:
            while not isinstance(step := _next(steps, answer), _Done):
                try:
                    await cursor.execute(_text(step, is_sqlite=is_sqlite), step.params)
                    answer = [_values(row) for row in await cursor.fetchall()] if cursor.description else []
                except BaseException as error:  # noqa: BLE001 - as above
                    answer = error
        finally:
            await cursor.close()
    return cast(Result, step.result)


def _next(steps: Steps[Any], answer: Answer | BaseException | None) -> Statement | _Done:
    try:
        if isinstance(answer, BaseException):
            return steps.throw(answer)
        return next(steps) if answer is None else steps.send(answer)
    except StopIteration as end:
        return _Done(end.value)


def _text(statement: Statement, *, is_sqlite: bool) -> str:
    return statement.text.replace("%s", "?") if is_sqlite else statement.text


def _values(row: Any) -> Sequence[Any]:
    """The values of a row, bytes as texts."""
    return [read_text(bytes(value)) if isinstance(value, bytes | bytearray) else value for value in values_of(row)]

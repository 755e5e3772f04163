"""The actor on MySQL and MariaDB: variables of the session, which last longer than a transaction."""

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, closing, contextmanager, suppress
from typing import Any, Final

from svc_pg.audit.context import Actor, acting_as, current_actor, parameters
from svc_pg.database.dbapi import values_of

_GET_ACTOR: Final = """
select hex(convert(@svc_actor_id using utf8mb4)) as actor_id, hex(convert(@svc_tenant_id using utf8mb4)) as tenant_id,
       hex(convert(@svc_context using utf8mb4)) as context
"""


def set_actor(actor: Actor | None) -> str:
    """The statement that sets the session's actor; None removes it.

    It is ASCII, so that it does not depend on the connection's character set or the session's ``sql_mode``.
    """
    return _set({name: text.encode().hex() for name, text in parameters(actor).items()})


def _set(hexadecimal: Mapping[str, str | None]) -> str:
    texts = {name: f"_utf8mb4 x'{text}'" if text else "null" for name, text in hexadecimal.items()}
    return "set @svc_actor_id = {actor_id}, @svc_tenant_id = {tenant_id}, @svc_context = {context}".format(**texts)


@contextmanager
def block(conn: Any, who: Actor) -> Iterator[None]:
    """Make ``who`` the session's actor, and restore the previous one at its end, also after an error."""
    with closing(conn.cursor()) as cursor:
        cursor.execute(_GET_ACTOR)
        before = _before(cursor.fetchall())
    try:
        with acting_as(who):
            _run(conn, set_actor(current_actor()))
            yield
    except BaseException:
        with suppress(Exception):  # of a lost connection
            _restore(conn, before)
        raise
    _restore(conn, before)


@asynccontextmanager
async def ablock(conn: Any, who: Actor) -> AsyncIterator[None]:
    """As ``block``, for a connection of asyncmy or aiomysql."""
    async with conn.cursor() as cursor:
        await cursor.execute(_GET_ACTOR)
        before = _before(await cursor.fetchall())
    try:
        with acting_as(who):
            await _arun(conn, set_actor(current_actor()))
            yield
    except BaseException:
        with suppress(Exception):
            await _arestore(conn, before)
        raise
    await _arestore(conn, before)


def _before(rows: Sequence[Any]) -> str:
    """The statement that restores the variables read before."""
    [row] = rows
    return _set(dict(zip(("actor_id", "tenant_id", "context"), values_of(row), strict=True)))


def _restore(conn: Any, before: str) -> None:
    try:
        _run(conn, before)
    except BaseException:
        with suppress(Exception):
            conn.close()  # or the next user of the session would act as the previous one
        raise


async def _arestore(conn: Any, before: str) -> None:
    try:
        await _arun(conn, before)
    except BaseException:
        with suppress(Exception):
            conn.close()
        raise


def _run(conn: Any, statement: str) -> None:
    with closing(conn.cursor()) as cursor:
        cursor.execute(statement)


async def _arun(conn: Any, statement: str) -> None:
    async with conn.cursor() as cursor:
        await cursor.execute(statement)

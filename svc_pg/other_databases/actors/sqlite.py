"""The actor on SQLite: functions of the connection, which the triggers call as they write a row.

Nothing is set, reset or left behind. On a connection without them, ``printf()`` is SQLite's own, which without
arguments is NULL, so its entries have no actor; ``svc_context()`` is missing, so if the triggers call it, writes are
refused.
"""

import hashlib
import hmac
import json
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from contextvars import copy_context
from typing import Any

from svc_pg.audit.context import Actor, acting_as, current_actor, parameters
from svc_pg.database.swap_class import become
from svc_pg.errors import ConfigError


@contextmanager
def block(conn: Any, who: Actor) -> Iterator[None]:
    """Run the block as the actor, on a connection with the functions of the triggers."""
    answer(conn)
    with acting_as(who):
        yield


@asynccontextmanager
async def ablock(conn: Any, who: Actor) -> AsyncIterator[None]:
    """As ``block``, for a connection of aiosqlite."""
    answer_async(conn)
    with acting_as(who):
        yield


def answer(conn: Any) -> None:
    """Register the functions on a connection of sqlite3 or pysqlite3. Idempotent.

    Raises ConfigError if ``trusted_schema`` is off.
    """
    cursor = conn.cursor()
    cursor.row_factory = None
    [is_trusting] = cursor.execute("pragma trusted_schema").fetchone()
    if not is_trusting:
        raise ConfigError(
            "trusted_schema is off on this connection, so triggers may not ask it for the actor",
            hint="Leave the pragma trusted_schema on, its default, in applications that write to audited tables.",
        )
    if cursor.execute("select 1 from pragma_function_list where name = 'svc_context'").fetchone():
        return
    tell = _teller()
    for name in ("printf", "svc_context"):
        conn.create_function(name, 0, tell)
    conn.create_function("svc_hash", 2, _keyed_hash, deterministic=True)
    # statements that the connection has prepared would go on with the printf() that they were prepared with
    cursor.execute("pragma trusted_schema = on")


def answer_async(conn: Any) -> None:
    """As ``answer``, on a connection of aiosqlite, which need not be open: the first statement registers them."""
    if not callable(getattr(conn, "_execute", None)):
        raise ConfigError("this version of aiosqlite runs statements in a way that svc-pg does not know")
    become(conn, _AuditedConnection)


class _AuditedConnection:
    """Carries the context of each call to the thread that aiosqlite runs statements in."""

    _svc_answers = False

    async def _execute(self, function: Callable[..., Any], *args: Any, **options: Any) -> Any:
        given: Any = super()
        return await given._execute(copy_context().run, self._svc_run, function, *args, **options)

    def _svc_run(self, function: Callable[..., Any], *args: Any, **options: Any) -> Any:
        conn = self._conn  # type: ignore[attr-defined] # of aiosqlite's class
        if not self._svc_answers and function not in (conn.close, conn.rollback):
            answer(conn)
            self._svc_answers = True
        return function(*args, **options)


def _teller() -> Callable[[], str | None]:
    """Make the function that returns the current actor to triggers; it writes an actor's JSON once, not once a row."""
    last: tuple[Actor | None, str | None] = (None, None)

    def tell() -> str | None:
        nonlocal last
        known, text = last
        actor = current_actor()
        if actor is not known:
            text = _json(actor)
            last = (actor, text)
        return text

    return tell


def _json(actor: Actor | None) -> str | None:
    if actor is None:
        return None
    texts = parameters(actor)
    ids = {name: texts[name] for name in ("actor_id", "tenant_id") if texts[name]}
    known = json.dumps(ids)
    return f'{known[:-1]}, "context": {texts["context"]}}}' if texts["context"] else known  # with all its digits


def _keyed_hash(text: bytes | None, key: bytes) -> str | None:
    """HMAC-SHA-256 (RFC 2104), as PostgreSQL's ``svc.audit_hash``, of a blob: a text may be invalid UTF-8."""
    return None if text is None else hmac.digest(key, text, hashlib.sha256).hex()

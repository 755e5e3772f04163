"""A connection that ended in the pool is replaced, and one that was used a moment ago is not asked if it works."""

import asyncio
from typing import Any

import psycopg
from psycopg import AsyncConnection
from psycopg_pool import AsyncConnectionPool

from svc_pg.console.database import idle_checks
from svc_pg.database.query import scalar
from tests.support.waiting import wait_until

_PID = "select pg_backend_pid()"
_LAST_QUERY = "select query_start::text || query from pg_stat_activity where pid = %s"


def pool_of(conninfo: str) -> AsyncConnectionPool[AsyncConnection[Any]]:
    return AsyncConnectionPool(conninfo, min_size=1, max_size=1, open=False, check=idle_checks.check)


async def pid_of(pool: AsyncConnectionPool[AsyncConnection[Any]]) -> int:
    async with pool.connection() as conn:
        [(pid,)] = await (await conn.execute(_PID)).fetchall()
        idle_checks.note_use(conn)
    return int(pid)


def test_a_connection_that_the_server_ended_a_moment_ago_is_replaced(database: str) -> None:
    async def ended() -> tuple[int, int]:
        async with pool_of(database) as pool:
            first = await pid_of(pool)
            with psycopg.connect(database, autocommit=True) as other:
                other.execute("select pg_terminate_backend(%s)", (first,))
                wait_until(lambda: other.execute(_LAST_QUERY, (first,)).fetchone() is None)
            return first, await pid_of(pool)

    first, second = asyncio.run(ended())
    assert first != second


def test_a_connection_that_was_used_a_moment_ago_is_not_asked(database: str, monkeypatch: Any) -> None:
    async def looked_at() -> list[str]:
        async with pool_of(database) as pool:
            pid, found = await pid_of(pool), []
            with psycopg.connect(database, autocommit=True) as other:
                for longest in (3600.0, 0.0):
                    monkeypatch.setattr(idle_checks, "_LONGEST_REST", longest)
                    before = scalar(other, _LAST_QUERY, (pid,))
                    async with pool.connection():
                        found.append("rested" if scalar(other, _LAST_QUERY, (pid,)) == before else "asked")
            return found

    assert asyncio.run(looked_at()) == ["rested", "asked"]

"""Take the steps of a call that seals or verifies, which may also be inside the caller's transaction."""

from typing import Any

from psycopg import AsyncConnection, Connection

from svc_pg.database.connections import apsycopg_connection, psycopg_connection
from svc_pg.database.query import Query, afetch, fetch
from svc_pg.database.retrying import Result, Steps, atake_by, take_by


def run(conn: Connection[Any], steps: Steps[Result]) -> Result:
    """Run each query in a transaction of its own, or inside the caller's, and return the result."""
    driver = psycopg_connection(conn)

    def rows(query: Query[Any]) -> list[Any]:
        with driver.transaction():
            return fetch(driver, query)

    return take_by(steps, rows)


async def arun(conn: AsyncConnection[Any], steps: Steps[Result]) -> Result:
    """As ``run``, on an async connection."""
    driver = await apsycopg_connection(conn)

    async def rows(query: Query[Any]) -> list[Any]:
        async with driver.transaction():
            return await afetch(driver, query)

    return await atake_by(steps, rows)

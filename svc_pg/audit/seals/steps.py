"""Take the steps of a call that seals or verifies: queries, each of which takes the rows of the one before."""

import asyncio
from collections.abc import Generator
from concurrent.futures import Future
from contextlib import closing
from typing import Any, TypeVar

from psycopg import AsyncConnection, Connection

from svc_pg.connections import apsycopg_connection, psycopg_connection
from svc_pg.query import Query, afetch, fetch

Result = TypeVar("Result")
Step = Query[Any] | Future[list[Any]]
"""A query to run, or the work of another thread to wait for."""
Steps = Generator[Step, list[Any], Result]


def run(conn: Connection[Any], steps: Steps[Result]) -> Result:
    """Run each query in a transaction of its own, or inside the caller's, and return the result."""
    driver = psycopg_connection(conn)
    with closing(steps):
        try:
            step = next(steps)
            while True:
                if isinstance(step, Future):
                    step = steps.send(step.result())
                    continue
                with driver.transaction():
                    rows = fetch(driver, step)
                step = steps.send(rows)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return] # the type that the generator returns


async def arun(conn: AsyncConnection[Any], steps: Steps[Result]) -> Result:
    """As ``run``, on an async connection."""
    driver = await apsycopg_connection(conn)
    with closing(steps):
        try:
            step = next(steps)
            while True:
                if isinstance(step, Future):
                    step = steps.send(await asyncio.wrap_future(step))
                    continue
                async with driver.transaction():
                    rows = await afetch(driver, step)
                step = steps.send(rows)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return] # the type that the generator returns

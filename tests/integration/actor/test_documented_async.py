"""The examples of docs/howto/async.md keep actors and webhooks."""

import asyncio
from functools import partial
from typing import Any

import asyncpg
import psycopg
import pytest
from sqlalchemy.ext.asyncio import create_async_engine

from svc_pg import Config, audit, schema
from svc_pg.testing import sent
from tests.support.documents import examples
from tests.support.postgres import Prepare

CONFIG = {"audit": {"tables": [{"name": "orders"}]}, "webhooks": {"events": {"order.paid": {}}}}


def install(conninfo: str) -> None:
    with psycopg.connect(conninfo) as conn:
        conn.execute("create table orders (id bigint primary key, status text)")
        conn.execute("insert into orders select n, 'open' from generate_series(1, 9) n")
        conn.commit()
        schema.install(conn, Config.model_validate(CONFIG))


@pytest.fixture(scope="module")
def prepare() -> Prepare:
    return install


def example(section: str) -> dict[str, Any]:
    names: dict[str, Any] = {}
    [block] = examples("howto/async.md", section)
    exec(block, names)
    return names


def test_the_documented_calls_record_their_actors_and_send(database: str) -> None:
    async def run() -> None:
        psycopgs, asyncpgs, sqlalchemys, tasks = map(
            example, ("psycopg", "asyncpg", "SQLAlchemy", "Tasks, queues and threads")
        )
        await psycopgs["pay_all"](database, [1, 2])
        conn = await asyncpg.connect(dsn=None, **_arguments(database))
        [change] = await asyncpgs["pay"](conn, 3)
        assert change.actor == "ben"
        await conn.close()
        for number, driver in ((4, "asyncpg"), (5, "psycopg")):
            arguments = _arguments(database)
            place = f"{arguments['user']}@{arguments['host']}:{arguments['port']}/{arguments['database']}"
            engine = create_async_engine(f"postgresql+{driver}://{place}")
            await sqlalchemys["pay"](engine, number)
            await engine.dispose()
        jobs: Any = asyncio.Queue()
        pool = psycopgs["with_audit"](psycopgs["AsyncConnectionPool"](database, open=False))
        async with pool, asyncio.TaskGroup() as group:
            consumer = group.create_task(tasks["consume"](jobs, partial(psycopgs["pay"], pool)))
            for number, actor in ((6, "mara"), (7, "jonas")):
                with audit.acting(actor):
                    await tasks["later"](jobs, number)
            await tasks["later"](jobs, 8)
            await jobs.join()
            consumer.cancel()

    asyncio.run(run())
    with psycopg.connect(database) as conn:
        entries = audit.query().operation("UPDATE").list(conn).data
        actors = {int(entry.record_id or 0): entry.actor_id for entry in entries}
        assert sorted(webhook.payload["id"] for webhook in sent(conn)) == [*range(1, 9)]
    assert actors == dict(enumerate(["nightly", "nightly", "ben", "ann", "ann", "mara", "jonas", None], start=1))


def _arguments(conninfo: str) -> dict[str, Any]:
    found = psycopg.conninfo.conninfo_to_dict(conninfo)
    return {
        name: found[key] for name, key in (("host", "host"), ("port", "port"), ("user", "user"), ("database", "dbname"))
    }


def test_executors_take_no_actor_along() -> None:
    async def run() -> list[object]:
        loop = asyncio.get_running_loop()
        with audit.acting("ann"):
            task = asyncio.create_task(asyncio.to_thread(audit.current_actor))
            inside = await loop.run_in_executor(None, audit.current_actor)
        return [await task, inside]

    assert asyncio.run(run()) == [audit.Actor("ann"), None]

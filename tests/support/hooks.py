"""A database with events, an endpoint and a worker for tests of webhooks."""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import timedelta
from hashlib import sha256
from threading import Thread
from typing import Any

import psycopg
import uvloop
from psycopg.rows import dict_row
from psycopg.sql import SQL

from svc_pg import Config, schema
from svc_pg.config import EventDefinition, WebhooksConfig
from svc_pg.database.advisory_locks import Lock
from svc_pg.database.query import fetch_one, scalar
from svc_pg.webhooks.endpoints import endpoint_queries as endpoints
from svc_pg.webhooks.http.guard import Guard
from svc_pg.webhooks.secrets import KeyRing, new_key
from svc_pg.webhooks.worker.worker import Worker

KEYS_TEXT = new_key("test")
KEYS = KeyRing.parse(KEYS_TEXT)
PLACES = """(
    select *, case when key is not null then dense_rank() over (partition by tenant, key order by sequence) end as place
      from svc.webhook_messages
) as places"""
"""Messages, with the place of those with a key among their tenant and key; a copy has its original's place."""

_ASLEEP = """
select 1 from pg_locks l join pg_database d on d.oid = l.database
 where d.datname = current_database() and l.locktype = 'advisory' and l.mode = 'ExclusiveLock'
   and (l.classid, l.objid) = (%s, %s) and l.granted
"""


def hooks_config(*events: str) -> Config:
    """A configuration with these events, for receivers on this machine, with quick retries."""
    return Config(
        webhooks=WebhooksConfig(
            allow_http=True,
            allow_cidrs=["127.0.0.0/8"],
            allow_for_customers=True,
            retry=[timedelta(milliseconds=50)] * 4,
            events={event: EventDefinition() for event in events},
        )
    )


def endpoint(
    conninfo: str, config: Config, url: str, *, events: Sequence[str] = ("*",), **options: Any
) -> tuple[str, str]:
    """Register an endpoint, with the configuration installed; return its id and its secret."""
    with psycopg.connect(conninfo) as conn:
        if scalar(conn, "select obj_description('public'::regnamespace, 'pg_namespace')") != _note(config):
            conn.rollback()
            _install(conn, config)
        registration = endpoints.create(url=url, events=events, keys=KEYS, guard=Guard.of(config.webhooks), **options)
        created = fetch_one(conn, registration)
    return created.id, created.secret


def install(conninfo: str, config: Config) -> None:
    """Install the configuration, and note that in the database, so that its copies have the note too."""
    with psycopg.connect(conninfo) as conn:
        _install(conn, config)


def _install(conn: psycopg.Connection[Any], config: Config) -> None:
    schema.install(conn, config)
    conn.execute(SQL("comment on schema public is {}").format(_note(config)))
    conn.commit()


def _note(config: Config) -> str:
    return sha256(config.model_dump_json().encode()).hexdigest()


@contextmanager
def working(conninfo: str, config: Config, *, is_uvloop: bool = False, **options: Any) -> Iterator[Worker]:
    """Run a worker in a thread of its own until the end of the block, which raises its errors."""
    worker = Worker(conninfo, keys=KEYS, config=config, **options)
    runner = asyncio.Runner(loop_factory=uvloop.new_event_loop if is_uvloop else asyncio.new_event_loop)
    loop = runner.get_loop()
    failures: list[BaseException] = []

    def run() -> None:
        try:
            with runner:  # leaving ends waits for a silent server
                runner.run(worker.run())
        except BaseException as error:  # noqa: BLE001 - raised again in the thread of the test
            failures.append(error)

    thread = Thread(target=run)
    thread.start()
    try:
        yield worker
    finally:
        with suppress(RuntimeError):  # it has ended, and its loop is closed
            loop.call_soon_threadsafe(worker.stop)
        thread.join()
    if failures:
        raise failures[0]


def rows(conninfo: str, table: str) -> list[dict[str, Any]]:
    """All rows of one of our tables, oldest first."""
    own = {"webhook_queue": "next_attempt_at", "webhook_leases": "leased_at", "webhook_blocks": "delivery_id"}
    order = own.get(table, "id")
    with psycopg.connect(conninfo, row_factory=dict_row) as conn:
        return conn.execute(f"select * from svc.{table} order by {order}").fetchall()


def is_asleep(conn: psycopg.Connection[Any]) -> bool:
    """True if a worker of the database holds the lock by which senders know to wake it."""
    return conn.execute(_ASLEEP, Lock.WAKEUP.key).fetchone() is not None

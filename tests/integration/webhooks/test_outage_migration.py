"""The migration that adds outages: what it knows of an open breaker, and that workers who record results go on."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any, Final

import psycopg
import pytest

from svc_pg.database.query import scalar
from svc_pg.schema import migration_files
from svc_pg.webhooks import endpoints
from tests.support.hooks import endpoint, hooks_config
from tests.support.postgres import Prepare
from tests.support.waiting import wait_until

CONFIG: Final = hooks_config("order.created")
BEFORE: Final = """
drop index svc.webhook_delivery_attempts_failed;
alter table svc.webhook_endpoint_state drop column first_failure_at, drop column recovered_at,
    drop column breaker_opened_at, drop column breaker_opened_until;
"""
WAITING: Final = "select exists (select from pg_locks where not granted)"

Connection = psycopg.Connection[Any]


@pytest.fixture(scope="module")
def prepare() -> Prepare:
    return lambda conninfo: endpoint(conninfo, CONFIG, "http://127.0.0.1:9/hook")


@pytest.fixture
def db(database: str) -> Iterator[Connection]:
    """As it was before the migration, in autocommit."""
    with psycopg.connect(database, autocommit=True) as conn:
        conn.execute(BEFORE)
        yield conn


def migrate(conn: Connection) -> None:
    [migration] = [each for each in migration_files.released("migrations") if each.name == "outages"]
    with conn.transaction():
        conn.execute(migration.sql.encode())


def key(db: Connection) -> str:
    found: str = scalar(db, "select id::text from svc.webhook_endpoints")
    return found


def test_an_open_breaker_has_its_step_and_a_resume_ends_that(db: Connection) -> None:
    db.execute(
        """update svc.webhook_endpoint_state
              set failure_streak = 12, failing_since = now() - interval '4 min', breaker_count = 2,
                  breaker_until = now() + interval '1 min'"""
    )
    migrate(db)
    found = endpoints.outage(db, key(db))
    [step] = found.steps
    assert (step.until - step.since, step.until) == (timedelta(minutes=2), found.breaker_until)
    endpoints.resume(db, key(db))
    [step] = endpoints.outage(db, key(db)).steps
    assert step.until <= endpoints.outage(db, key(db)).at


def test_an_endpoint_without_failures_has_no_step(db: Connection) -> None:
    migrate(db)
    found = endpoints.outage(db, key(db))
    assert (found.since, found.steps) == (None, [])


def test_an_index_that_was_built_before_is_kept(db: Connection) -> None:
    db.execute(
        """create index concurrently webhook_delivery_attempts_failed
               on svc.webhook_delivery_attempts (endpoint_id, started_at)
            where outcome not in ('success', 'lost')"""
    )
    is_built = "select 'svc.webhook_delivery_attempts_failed'::regclass::oid"
    before = scalar(db, is_built)
    migrate(db)
    assert scalar(db, is_built) == before


def test_who_records_an_attempt_and_then_the_health_goes_on(db: Connection, database: str) -> None:
    with psycopg.connect(database) as other, ThreadPoolExecutor(1) as pool:
        with psycopg.connect(database) as worker:
            worker.execute("lock table svc.webhook_delivery_attempts in row exclusive mode")
            migrating = pool.submit(migrate, other)
            wait_until(lambda: scalar(db, WAITING), "the migration waits for the worker")
            worker.execute("select from svc.webhook_endpoint_state for no key update")
        migrating.result(timeout=60)
    assert endpoints.outage(db, key(db)).since is None

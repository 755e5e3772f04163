"""Making a month of the log while others write into it."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Event
from time import monotonic
from typing import Any

import psycopg
import pytest

from svc_pg.database.query import scalar
from tests.support.postgres import Prepare
from tests.support.tables import audited, create_and_audit
from tests.support.waiting import wait_until

WRITERS = 4
BEFORE = 2000
WAITING = "select count(*) from pg_locks where not granted"


@pytest.fixture(scope="module")
def prepare() -> Prepare:
    return lambda conninfo: create_and_audit(
        conninfo, "create table t (id bigint generated always as identity primary key, n int)", audited("t")
    )


@pytest.fixture
def db(database: str) -> Iterator[psycopg.Connection[Any]]:
    """A database that lacks the partition of this month, so that entries go to the default one."""
    with psycopg.connect(database, autocommit=True) as conn:
        conn.execute("""do $$ begin
            execute to_char(now() at time zone 'UTC', '"drop table svc.audit_logs_"YYYY_MM');
        end $$""")
        yield conn


class Writer:
    """Writes rows, each in a transaction of its own, until told to stop; then raises what went wrong."""

    def __init__(self, conninfo: str, stopping: Event) -> None:
        self.rows = 0
        self.slowest = 0.0
        self._conninfo = conninfo
        self._stopping = stopping

    def run(self) -> None:
        with psycopg.connect(self._conninfo, autocommit=True) as conn:
            while not self._stopping.is_set():
                started = monotonic()
                conn.execute("insert into t (n) values (1)")
                self.slowest = max(self.slowest, monotonic() - started)
                self.rows += 1

    def has_written(self, rows: int) -> None:
        wait_until(lambda: self.rows >= rows or self._stopping.is_set(), f"a writer has written {rows} rows")


@contextmanager
def writing(conninfo: str) -> Iterator[list[Writer]]:
    stopping = Event()
    writers = [Writer(conninfo, stopping) for _ in range(WRITERS)]
    with ThreadPoolExecutor(WRITERS) as threads:
        running = [threads.submit(writer.run) for writer in writers]
        for each in running:
            each.add_done_callback(lambda _: stopping.set())  # the first that fails stops all
        try:
            yield writers
        finally:
            stopping.set()
    assert [each.exception() for each in running] == [None] * WRITERS


def test_a_month_whose_rows_are_in_the_default_partition_is_made_while_others_write(
    db: psycopg.Connection[Any], database: str
) -> None:
    db.execute("insert into t (n) select n from generate_series(1, %s) n", (BEFORE,))
    with writing(database) as writers:
        for writer in writers:
            writer.has_written(20)
        [leaf] = scalar(db, "select svc.audit_ensure_partitions()")
        for writer in writers:
            writer.has_written(writer.rows + 20)
    assert scalar(db, "select count(*) from svc.audit_logs_default") == 0
    rows = BEFORE + sum(writer.rows for writer in writers)
    assert scalar(db, f"select count(*) from svc.{leaf}") == rows


def test_a_month_into_which_somebody_writes_for_the_first_time_is_made_when_that_ends(
    db: psycopg.Connection[Any], database: str
) -> None:
    with psycopg.connect(database) as first, psycopg.connect(database) as second, ThreadPoolExecutor() as threads:
        first.execute("insert into t (n) values (1)")
        making = threads.submit(scalar, db, "select svc.audit_ensure_partitions()")
        with psycopg.connect(database, autocommit=True) as observer:
            wait_until(lambda: scalar(observer, WAITING) == 1)
            writing = threads.submit(second.execute, "insert into t (n) values (2)")
            wait_until(lambda: scalar(observer, WAITING) == 2)
        first.commit()
        [leaf] = making.result()
        writing.result()
        second.commit()
    assert scalar(db, "select count(*) from svc.audit_logs_default") == 0
    assert scalar(db, f"select count(*) from svc.{leaf}") == 2


def test_months_to_come_are_made_without_waiting_for_writers(db: psycopg.Connection[Any], database: str) -> None:
    scalar(db, "select svc.audit_ensure_partitions()")
    with psycopg.connect(database) as writer:
        writer.execute("insert into t (n) values (1)")
        assert len(scalar(db, "select svc.audit_ensure_partitions(5)")) == 2

"""Logical replication between two servers."""

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from psycopg.conninfo import make_conninfo

from svc_pg.database.query import scalar
from tests.support.waiting import wait_until


@contextmanager
def subscribed(publisher: str, subscriber: str) -> Iterator[None]:
    """Replicate all tables: copy them before the block, and wait at its end until its writes have arrived."""
    with psycopg.connect(publisher, autocommit=True) as source, psycopg.connect(subscriber, autocommit=True) as target:
        source.execute("create publication everything for all tables")
        address = make_conninfo(publisher)
        target.execute(f"create subscription copy connection '{address}' publication everything".encode())
        rest = "select count(*) from pg_subscription_rel where srsubstate <> 'r'"
        wait_until(lambda: scalar(target, rest) == 0, "all tables are copied")
        yield
        reached = scalar(source, "select pg_current_wal_insert_lsn()")  # commits may not be written yet
        arrived = "select max(replay_lsn) >= %s::pg_lsn from pg_stat_replication where application_name = 'copy'"
        wait_until(lambda: scalar(source, arrived, (reached,)), "all changes have arrived")
        target.execute("drop subscription copy")

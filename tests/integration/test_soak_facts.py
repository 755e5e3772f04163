"""The soak notices a delivery that is lost or out of order, and a change that the log or its seals do not know."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import psycopg
import pytest

from svc_pg import webhooks
from svc_pg.audit import SealKey
from tests.benchmarks.delivery.receivers import Counts
from tests.benchmarks.soak import end
from tests.benchmarks.soak.findings import Fact
from tests.support.hooks import endpoint, hooks_config
from tests.support.postgres import Prepare
from tests.support.tables import audited, create_and_audit

KEY = SealKey("s1", b"k" * 32)
CONFIG = audited("t").model_copy(update={"webhooks": hooks_config("order.created").webhooks})
WHOLE = Counts(posts=2, deliveries=2, repeated=0, delays_ms=[], backwards=0, refused=0, busiest_second=1, seconds=1.0)


@pytest.fixture(scope="module")
def prepare() -> Prepare:
    def fill(conninfo: str) -> None:
        create_and_audit(conninfo, "create table t (id int primary key, a text)", CONFIG)
        with psycopg.connect(conninfo) as conn:
            conn.execute("insert into t values (1, 'a'), (2, 'b')")

    return fill


@pytest.fixture
def conn(database: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(database, autocommit=True) as conn:
        yield conn


def missed(facts: list[Fact]) -> list[str]:
    return [name for name, _, is_good in facts if is_good is False]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, []),
        ({"repeated": 1, "refused": 3}, []),
        ({"deliveries": 1}, ["arrived at least once"]),
        ({"deliveries": 3}, ["arrived at least once"]),
        ({"backwards": 1}, ["arrived after a later one of their key"]),
    ],
)
def test_what_a_receiver_got_is_compared_with_what_was_sent(
    conn: psycopg.Connection[Any], changes: dict[str, Any], expected: list[str]
) -> None:
    counts = replace(WHOLE, **changes)
    assert missed(end.webhook_facts(conn, counts, sent=2)) == expected


def test_a_delivery_that_is_left_is_told(conn: psycopg.Connection[Any], database: str) -> None:
    endpoint(database, CONFIG, "http://127.0.0.1:9/hook")
    with conn.transaction():
        webhooks.send(conn, "order.created", {})
    assert missed(end.webhook_facts(conn, WHOLE, sent=2)) == ["pending at the end"]
    webhooks.deliveries.cancel_all(conn, event="order.created")
    assert missed(end.webhook_facts(conn, WHOLE, sent=2)) == ["failed or canceled"]


def test_a_log_that_does_not_tell_the_rows_or_its_seals_is_told(conn: psycopg.Connection[Any]) -> None:
    assert missed(end.audit_facts(conn, CONFIG, KEY)) == []
    conn.execute("set session_replication_role = replica")
    conn.execute("update t set a = 'x' where id = 2")
    assert missed(end.audit_facts(conn, CONFIG, KEY)) == ["rows that differ from it"]
    conn.execute("alter table svc.audit_logs disable trigger all")
    conn.execute("""update svc.audit_logs set after_data = '{"id": 2, "a": "x"}' where record_id = '2'""")
    assert missed(end.audit_facts(conn, CONFIG, KEY)) == ["findings of the verification"]

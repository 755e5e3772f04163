"""A filter is tried on the newest messages: it tells what an endpoint with it would get."""

import asyncio
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from psycopg import AsyncConnection

from svc_pg import Config, webhooks
from svc_pg.errors import EndpointError, QueryError
from svc_pg.webhooks.endpoints import tried_filters
from tests.support.hooks import endpoint, install
from tests.support.postgres import Prepare
from tests.support.sent_in_order import send_in_order

EVENTS = ("order.paid", "order.refunded", "user.gone")
CONFIG = Config.model_validate({"webhooks": {"events": {name: {} for name in EVENTS}}})


@pytest.fixture(scope="module")
def prepare() -> Prepare:
    return lambda conninfo: install(conninfo, CONFIG)


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave a trial the time that a busy machine needs."""
    monkeypatch.setattr(tried_filters, "LONGEST", timedelta(hours=1))


@pytest.fixture
def conn(database: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(database, autocommit=True) as conn:
        yield conn


def answers(conn: psycopg.Connection[Any], path: str, **which: Any) -> list[tuple[str, bool | None]]:
    return [(each.event_name, each.is_met) for each in webhooks.endpoints.try_filter(conn, path, **which)]


def test_the_answer_is_what_a_delivery_would_get(conn: psycopg.Connection[Any], database: str) -> None:
    payloads = [{"amount": 50}, {"amount": 150}, {"amount": "much"}, {}, {"amount": [7, 700]}]
    for path in ("$.amount > 100", "strict $.amount > 100", "exists($.amount)", '$.amount == "much"'):
        made, _ = endpoint(database, CONFIG, "https://example.com/", events=["order.paid"], filter=path)
        for payload in payloads:
            webhooks.send(conn, "order.paid", payload)
        tried = webhooks.endpoints.try_filter(conn, path, events=["order.paid"])[: len(payloads)]
        found = conn.execute(
            "select m.id::text, d.status::text, d.last_error from svc.webhook_messages m"
            " left join svc.webhook_deliveries d on d.message_id = m.id and d.endpoint_id = %s",
            (made,),
        ).fetchall()
        facts = {message: (status, error) for message, status, error in found}
        for each in tried:
            status, error = facts[each.id]
            assert {True: "pending", False: None, None: "failed"}[each.is_met] == status
            assert each.problem == error
        webhooks.endpoints.delete(conn, made)
    assert any(each.problem for each in webhooks.endpoints.try_filter(conn, "strict $.amount > 100"))


def test_it_looks_at_the_messages_that_the_endpoint_would_get(conn: psycopg.Connection[Any]) -> None:
    for event in EVENTS:
        send_in_order(conn, event, {"a": 1}, tenant="acme")
        send_in_order(conn, event, {"a": 2}, tenant="globex")
    send_in_order(conn, "order.paid", {"a": 3})
    newest = [(event, True) for event in ("order.paid", *("user.gone",) * 2, *("order.refunded",) * 2)]
    assert answers(conn, "$.a > 0")[:5] == newest
    assert answers(conn, "$.a > 0", tenant="acme") == [(event, True) for event in reversed(EVENTS)]
    assert answers(conn, "$.a > 1", tenant="acme", events=["order.*"]) == [
        ("order.refunded", False), ("order.paid", False),
    ]  # fmt: skip
    assert answers(conn, "$.a > 1", tenant="nobody") == []
    assert answers(conn, "$.a > 1", events=["order.lost"]) == []


def test_nothing_is_made_or_changed_and_what_is_no_filter_is_refused(conn: psycopg.Connection[Any]) -> None:
    webhooks.send(conn, "order.paid", {"a": 1})
    for path in ("$.a >", "$.a", "", '$.a like_regex "x"', "$" * 1001):
        for events in (("*",), ("order.lost",)):  # also if no message is to be looked at
            with pytest.raises(EndpointError) as refused:
                webhooks.endpoints.try_filter(conn, path, events=events)
            assert refused.value.field == "filter"
    for wrong in ({"events": ["a"] * 101}, {"events": ["a\0"]}, {"tenant": "\0"}):
        with pytest.raises(QueryError):
            webhooks.endpoints.try_filter(conn, "$.a > 1", **wrong)
    with conn.transaction():
        conn.execute("set transaction read only")
        assert answers(conn, "$.a > 0") == [("order.paid", True)]


def test_after_its_time_a_trial_reads_no_further_payload(
    conn: psycopg.Connection[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    large = {"items": list(range(30_000))}
    for _ in range(20):
        webhooks.send(conn, "order.paid", large)
    dear = " || ".join(f"$.items == {-number}" for number in range(1, 15))

    def tried(longest: timedelta) -> list[tuple[bool | None, str | None]]:
        monkeypatch.setattr(tried_filters, "LONGEST", longest)
        return [(each.is_met, each.problem) for each in webhooks.endpoints.try_filter(conn, dear)]

    left = (None, "not tried: the time of a trial was over")
    assert tried(timedelta(hours=1)) == 20 * [(False, None)]
    assert tried(timedelta(0)) == 20 * [left]
    part = tried(timedelta(milliseconds=100))  # as many as this machine tries in it, the newest first
    assert part == sorted(part, key=lambda each: each == left)
    assert set(part) <= {(False, None), left}


def test_an_async_connection_gets_the_same(conn: psycopg.Connection[Any], database: str) -> None:
    webhooks.send(conn, "order.paid", {"a": 1})

    async def tried() -> Any:
        async with await AsyncConnection.connect(database) as other:
            return await webhooks.endpoints.atry_filter(other, "$.a > 0")

    assert asyncio.run(tried()) == webhooks.endpoints.try_filter(conn, "$.a > 0")


def test_a_page_has_the_newest_messages_alone(conn: psycopg.Connection[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(5):
        send_in_order(conn, "order.paid", {"a": number})
    monkeypatch.setattr(tried_filters, "MOST_MESSAGES", 2)
    assert answers(conn, "$.a > 3") == [("order.paid", True), ("order.paid", False)]


PAGES = "select coalesce(sum(pg_stat_get_xact_blocks_fetched(oid)), 0)::int from pg_class where relname ^@ 'webhook_'"


@pytest.mark.parametrize("is_analyzed", [True, False])
def test_the_read_is_bounded_however_many_messages_there_are(database: str, *, is_analyzed: bool) -> None:
    with psycopg.connect(database, autocommit=True) as conn:
        conn.execute(
            "insert into svc.webhook_messages (id, event_name, tenant, payload)"
            " select svc.webhook_uuid7(), 'order.paid', case when n % 9 > 0 then 'big' when n = 9 then 'rare' end,"
            " json_build_object('a', n) from generate_series(1, 60000) n"
        )
        if is_analyzed:
            conn.execute("analyze svc.webhook_messages")
        for which in ({}, {"tenant": "big"}, {"tenant": "rare"}, {"tenant": "nobody"}, {"events": ["user.gone"]}):
            answers(conn, "$.a > 3", **which)
            with conn.transaction():
                [before] = conn.execute(PAGES).fetchone() or [0]
                answers(conn, "$.a > 3", **which)
                [after] = conn.execute(PAGES).fetchone() or [0]
            assert after - before < 2_500, which

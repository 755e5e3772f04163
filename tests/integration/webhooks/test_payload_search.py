"""Messages and deliveries are found by the values that their payloads have at the keys of the configuration."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from functools import partial
from hashlib import sha256
from typing import Any, Final
from uuid import UUID

import psycopg
import pytest

from svc_pg import Config, schema, webhooks
from svc_pg.config import EventDefinition
from svc_pg.database.by_indexes import by_indexes
from svc_pg.database.query import scalar
from svc_pg.errors import ConfigError, QueryError
from svc_pg.maintenance import maintain
from svc_pg.maintenance.payload_search import fill_search
from svc_pg.webhooks.deliveries import delivery_queries
from svc_pg.webhooks.messages import message_queries
from svc_pg.webhooks.payload_search import MAX_VALUE_BYTES, unsearched
from tests.support.hooks import endpoint, hooks_config
from tests.support.plans import page_query
from tests.support.waiting import wait_until

PAID: Final = "order.paid"
STORED: Final = "select count(*) from svc.webhook_search_values"


def config(**search: list[str]) -> Config:
    made = hooks_config("order.created")
    made.webhooks.event(PAID, search=search.get("paid", ["number", "customer.id"]))
    return made


@pytest.fixture(scope="module")
def prepare() -> Any:
    def prepared(conninfo: str) -> None:
        endpoint(conninfo, config(), "http://127.0.0.1:9/all")
        endpoint(conninfo, config(), "http://127.0.0.1:9/acme", tenant="acme")

    return prepared


@pytest.fixture
def conn(database: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(database, autocommit=True) as conn:
        yield conn


def found(conn: Any, payload: str, **others: Any) -> list[str]:
    return [each.id for each in webhooks.messages.list(conn, payload=payload, **others)]


def sent(conn: Any, payload: Any, **others: Any) -> str:
    return str(webhooks.send(conn, PAID, payload, **others))


def send_text(conn: Any, payload: str) -> str:
    return str(scalar(conn, "select svc.send(%s, %s::text)", (PAID, payload)))


@pytest.mark.parametrize(
    ("payload", "wanted"),
    [
        ({"number": 1045}, "number=1045"),
        ({"number": "1045"}, "number=1045"),
        ({"number": True}, "number=true"),
        ({"number": "ä €7 🦊"}, "number=ä €7 🦊"),
        ({"number": "a=b,c' --\\ \" %s"}, "number=a=b,c' --\\ \" %s"),
        ({"number": "x" * MAX_VALUE_BYTES}, "number=" + "x" * MAX_VALUE_BYTES),
        ({"customer": {"id": "c-7"}}, "customer.id=c-7"),
        ({f"k{n}": n for n in range(15_000)} | {"number": 1}, "number=1"),
    ],
)
def test_a_value_finds_its_message(conn: Any, payload: Any, wanted: str) -> None:
    others = [sent(conn, {"number": "another", "customer": {"id": 1}}), sent(conn, payload, tenant="acme")]
    [message] = found(conn, wanted)
    assert message == others[1]
    assert found(conn, wanted, tenant="acme") == [message]
    assert found(conn, wanted, tenant="other") == []
    assert len(webhooks.deliveries.list(conn, payload=wanted).data) == 2


@pytest.mark.parametrize(
    "payload",
    [
        '{"number": null}',
        '{"number": ""}',
        '{"number": [1045]}',
        '{"number": {"a": 1045}}',
        '{"Number": 1045}',
        '{"a": {"number": 1045}}',
        "[1045]",
        "1045",
        '{"number": "x\\u0000"}',
        '{"number": "\\ud800"}',
        '{"number": 7, "other": "\\u0000"}',
        json.dumps({"number": "x" * (MAX_VALUE_BYTES + 1)}),
        json.dumps({"number": "x" * 200_000}),
        '{"a":' * 3000 + "1" + "}" * 3000,
    ],
)
def test_what_is_no_such_value_is_sent_and_not_stored(conn: Any, payload: str) -> None:
    assert send_text(conn, payload)
    assert scalar(conn, STORED) == 0


def test_the_last_of_equal_members_counts_and_numbers_stay_as_they_are_written(conn: Any) -> None:
    message = send_text(conn, '{"number": 1, "number": 10.0}')
    assert (found(conn, "number=10.0"), found(conn, "number=10"), found(conn, "number=1")) == ([message], [], [])


def test_an_event_without_keys_stores_nothing(conn: Any) -> None:
    webhooks.send(conn, "order.created", {"number": 1045})
    assert scalar(conn, STORED) == 0


def test_many_messages_are_found_and_a_repeated_one_once(conn: Any) -> None:
    payloads = [{"number": number} for number in (1, 2, 1)]
    ids = scalar(
        conn,
        "select svc.send_many(%s, %s::json[], %s::text[], %s::text[])",
        (PAID, [json.dumps(each) for each in payloads], ["a", "b", None], ["acme", None, "acme"]),
    )
    webhooks.send_many(conn, PAID, payloads[1:2], idempotency_keys=["b"])
    sent(conn, {"number": 2}, idempotency_key="b")
    assert found(conn, "number=1") == sorted((str(ids[0]), str(ids[2])), reverse=True)
    assert found(conn, "number=2") == [str(ids[1])]
    assert scalar(conn, STORED) == 3


def test_pages_go_forth_and_back_with_each_message_once(conn: Any) -> None:
    for number in range(7):
        sent(conn, {"number": number % 2, "customer": {"id": "x"}}, tenant="acme")
    which: Any
    before: Any
    page: Any
    for which in ({}, {"tenant": "acme"}, {"event": PAID}, {"since": "1h"}, {"status": "pending"}):
        seen: list[str] = []
        cursor, page = None, None
        while page is None or cursor is not None:
            before, page = page, webhooks.deliveries.list(conn, payload="customer.id=x", limit=3, after=cursor, **which)
            if before is not None:
                wanted = delivery_queries.matching(payload="customer.id=x", **which).limit(3)
                assert wanted.before(page.prev_cursor or "").list(conn).data == before.data
            seen += [each.id for each in page]
            cursor = page.next_cursor
        assert len(seen) == len(set(seen)) == 14
    assert len(found(conn, "number=1")) == 3


@pytest.mark.parametrize(
    "wanted",
    ["number", "=1", "number=", "", "number=" + "x" * 1025, "number=\0", "number=\ud800", "number=" + "x" * 10**6],
)
def test_what_cannot_be_asked_is_refused(conn: Any, wanted: str) -> None:
    for listed in (webhooks.messages.list, webhooks.deliveries.list):
        with pytest.raises(QueryError):
            listed(conn, payload=wanted)


@pytest.mark.parametrize("key", ["nr", "customer", "number' or true --", "$.number", "k" * 900])
def test_another_key_is_refused_with_those_that_there_are(conn: Any, key: str) -> None:
    which: Any
    for listed in (webhooks.messages.list, webhooks.deliveries.list):
        for which in ({}, {"tenant": "acme"}):
            with pytest.raises(QueryError) as refused:
                listed(conn, payload=f"{key}=1", **which)
            assert "customer.id, number" in str(refused.value.hint)


@pytest.mark.parametrize(
    ("event", "said"),
    [
        ("order.created", "the event order.created is not searched by the key number"),
        ("order.piad", "there is no event order.piad"),
        ("x' or true --", "there is no event x' or true --"),
    ],
)
def test_an_event_without_the_key_and_one_that_is_unknown_are_refused_with_those_that_have_it(
    conn: Any, event: str, said: str
) -> None:
    which: Any
    calls = (
        webhooks.messages.list,
        webhooks.deliveries.list,
        partial(webhooks.deliveries.retry_all, dry_run=True),
    )
    for call in calls:
        for which in ({}, {"tenant": "acme"}, {"since": "1h"}):
            with pytest.raises(QueryError) as refused:
                call(conn, event=event, payload="number=1", **which)
            assert refused.value.message == said
            assert "order.paid" in str(refused.value.hint)
    assert found(conn, "number=none", event=PAID) == [], "its messages have no such value"


@pytest.mark.parametrize("threshold", [None, 0])
def test_a_key_is_refused_also_if_nothing_was_ever_sent(conn: Any, threshold: int | None) -> None:
    conn.execute("truncate svc.webhook_search_values")
    conn.execute("vacuum analyze svc.webhook_search_values")
    conn.prepare_threshold = threshold
    for _ in range(12):  # the plans of some values, then one for all
        with pytest.raises(QueryError, match="no event is searched by the key nr"):
            found(conn, "nr=1")
        assert found(conn, "number=1") == []


@pytest.mark.parametrize(
    "keys",
    [
        ["a" * 10_000],
        ["a b"],
        ["a."],
        [""],
        ["a'"],
        ["a[]"],
        ["items[].sku"],
        ["a=b"],
        ["a", "a"],
        [*"abcdefghi"],
        ["\0"],
    ],
)
def test_a_key_that_is_none_is_refused(keys: list[str]) -> None:
    with pytest.raises(ConfigError):
        config(paid=keys)
    with pytest.raises(ValueError, match="search"):
        EventDefinition(search=keys)


def test_a_new_key_says_since_when_and_maintenance_finds_the_older_messages(conn: Any, database: str) -> None:
    old = sent(conn, {"number": 1, "total": "9"})
    wider = config(paid=["number", "total"])
    [change] = [each for each in schema.plan(conn, wider) if each.state != "ok"]
    assert (change.kind, change.identity) == ("event", PAID)
    schema.install(conn, wider)
    assert found(conn, "total=9") == []
    keys: Any = {each.key: each for each in webhooks.messages.search_keys(conn)}
    assert keys["total"].since > keys["number"].since
    assert "order.paid by total since" in unsearched("total=9", keys.values())
    new = sent(conn, {"total": 9})
    with psycopg.connect(database) as other:
        other.execute("select txid_current()")
        schema.install(conn, config(paid=["total", "number"]))
        assert fill_search(conn) == 0  # nobody knows yet what the other one sends
    assert maintain(conn, wider)
    assert found(conn, "total=9") == [new, old]
    assert [each.since for each in webhooks.messages.search_keys(conn)] == [None, None]
    assert unsearched("total=9", webhooks.messages.search_keys(conn)) == ""
    assert fill_search(conn) == 0


def test_a_run_that_is_broken_off_goes_on_after_its_last_batch(conn: Any, database: str) -> None:
    old = [sent(conn, {"number": 1, "total": 9}) for _ in range(3)]
    conn.execute(
        "insert into svc.webhook_messages (id, event_name, payload)"
        " select svc.webhook_uuid7(), 'order.created', '{\"total\": 9}' from generate_series(1, 1000)"
    )
    last = sent(conn, {"total": 9})
    schema.install(conn, config(paid=["number", "total"]))
    assert fill_search(conn, longest=timedelta(0)) == 3
    assert found(conn, "total=9") == old[::-1]
    conn.execute("delete from svc.webhook_search_values where message_id = %s", [old[0]])  # which is behind it
    with psycopg.connect(database) as other:
        other.execute("select from svc.webhook_event_types where name = %s for update", [PAID])
        assert fill_search(conn) == 1  # though another one is in the way, whom it leaves alone
        other.rollback()
    assert all(each.since for each in webhooks.messages.search_keys(conn))
    assert fill_search(conn) == 0
    assert [each.since for each in webhooks.messages.search_keys(conn)] == [None, None]
    assert found(conn, "total=9") == [last, *old[:0:-1]]


def test_a_batch_ends_after_so_many_bytes(conn: Any) -> None:
    payload = {"number": 1, "random": "".join(sha256(bytes([n // 256, n % 256])).hexdigest() for n in range(3500))}
    sent(conn, payload)
    conn.execute(
        "insert into svc.webhook_messages (id, event_name, payload) select svc.webhook_uuid7(), event_name, payload"
        " from svc.webhook_messages cross join generate_series(1, 60)"
    )
    reached: Any = UUID(int=0)
    batches = 0
    while reached is not None:
        reached = scalar(conn, "select reached from svc.webhook_fill_search(%s, %s)", ([PAID], reached))
        batches += 1
    assert batches > 1
    assert scalar(conn, STORED) == 61


def test_an_old_snapshot_is_waited_for(conn: Any, database: str) -> None:
    with psycopg.connect(database) as other:
        other.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        other.execute("select from svc.webhook_messages")
        schema.install(conn, config(paid=["number", "total"]))
        assert fill_search(conn) == 0
        late = sent(other, {"total": 9})
        other.commit()
    assert found(conn, "total=9") == []
    fill_search(conn)
    assert found(conn, "total=9") == [late]


def test_values_of_a_message_that_is_changed_meanwhile_are_those_of_the_change(conn: Any, database: str) -> None:
    message = sent(conn, {"total": "secret"})
    schema.install(conn, config(paid=["number", "total"]))
    with psycopg.connect(database) as other, ThreadPoolExecutor(1) as pool:
        other.execute('update svc.webhook_messages set payload = \'{"total": "gone"}\' where id = %s', [message])
        mine, theirs = other.info.backend_pid, conn.info.backend_pid
        filling = pool.submit(scalar, conn, "select filled from svc.webhook_fill_search(%s, %s)", ([PAID], UUID(int=0)))
        wait_until(lambda: scalar(other, "select %s = any (pg_blocking_pids(%s))", (mine, theirs)))
        other.commit()
        assert filling.result() == 0
    assert (found(conn, "total=secret"), found(conn, "total=gone")) == ([], [message])


def test_a_change_from_an_older_snapshot_may_be_tried_again(conn: Any, database: str) -> None:
    message = sent(conn, {"total": 9})
    schema.install(conn, config(paid=["number", "total"]))
    with psycopg.connect(database) as other:
        other.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        other.execute("select from svc.webhook_messages")
        scalar(conn, "select filled from svc.webhook_fill_search(%s, %s)", ([PAID], UUID(int=0)))
        with pytest.raises(psycopg.errors.SerializationFailure):
            other.execute("update svc.webhook_messages set payload = payload where id = %s", [message])


def test_a_key_that_is_taken_away_is_refused(conn: Any) -> None:
    message = sent(conn, {"number": 1})
    schema.install(conn, config(paid=["customer.id"]))
    with pytest.raises(QueryError, match="no event is searched by the key number"):
        found(conn, "number=1")
    sent(conn, {"number": 1})
    assert scalar(conn, STORED) == 1
    schema.install(conn, config(paid=[]))
    assert webhooks.messages.search_keys(conn) == []
    conn.execute("delete from svc.webhook_messages where id = %s", [message])
    assert scalar(conn, STORED) == 0


def test_values_follow_their_message(conn: Any) -> None:
    first, second = sent(conn, {"number": 1}, tenant="acme"), sent(conn, {"number": 2})
    conn.execute("update svc.webhook_messages set payload = '{\"number\": 3}' where id = %s", [first])
    assert (found(conn, "number=1"), found(conn, "number=3", tenant="acme")) == ([], [first])
    conn.execute("update svc.webhook_messages set payload = '{}' where id = %s", [first])
    assert found(conn, "number=3") == []
    conn.execute("delete from svc.webhook_deliveries")
    conn.execute("delete from svc.webhook_queue")
    assert scalar(conn, "select svc.webhook_prune_messages('-1 s')") == 2
    assert scalar(conn, STORED) == 0
    sent(conn, {"number": second})
    conn.execute("truncate svc.webhook_messages")
    assert scalar(conn, STORED) == 0


@pytest.mark.parametrize("removal", ["delete from svc.webhook_messages", "truncate svc.webhook_messages"])
def test_values_go_with_their_message_in_a_session_that_replicates(conn: Any, removal: str) -> None:
    sent(conn, {"number": 1})
    conn.execute("set session_replication_role = replica")
    conn.execute(removal)
    conn.execute("reset session_replication_role")
    assert scalar(conn, STORED) == 0


def test_a_copy_of_a_replay_is_found_too(conn: Any) -> None:
    original = sent(conn, {"number": 1})
    [delivery] = webhooks.deliveries.list(conn, message=original).data
    copies = scalar(
        conn,
        "select svc.webhook_copies(%s, %s::uuid[], svc.webhook_uuid7())",
        (delivery.endpoint_id, [delivery.id]),
    )
    assert found(conn, "number=1") == sorted([original, str(copies[0])], reverse=True)


def test_a_bulk_change_reaches_the_deliveries_of_the_value_alone(conn: Any) -> None:
    for number in (1, 2, 1):
        sent(conn, {"number": number})
    assert webhooks.deliveries.cancel_all(conn, payload="number=1", dry_run=True).count == 2
    assert webhooks.deliveries.cancel_all(conn, payload="number=1").count == 2
    assert webhooks.deliveries.retry_all(conn, payload="number=2").count == 0
    assert webhooks.deliveries.retry_all(conn, payload="number=1", status="canceled").count == 2
    assert webhooks.deliveries.count(conn, payload="number=1").count == 2


def test_a_value_is_looked_up_by_an_index_and_each_of_its_messages_by_another(conn: Any) -> None:
    conn.execute(
        "insert into svc.webhook_search_values (message_id, digest, tenant)"
        " select svc.webhook_uuid7(), svc.webhook_search_digest('number', (n % 4)::text), 't'"
        " from generate_series(1, 20000) n"
    )
    conn.execute("vacuum analyze svc.webhook_search_values")
    which: Any
    for which in ({}, {"tenant": "t"}):
        for wanted in (
            message_queries.matching(payload="number=1", **which),
            delivery_queries.matching(payload="number=1", **which),
        ):
            query = page_query(wanted)
            with by_indexes(conn):
                plan = "\n".join(row[0] for row in conn.execute("explain " + query.text, query.params))
            assert " using webhook_search_values_" in plan or " on webhook_search_values_" in plan, plan
            assert "Merge Join" not in plan, plan  # which would read all messages between those that are found

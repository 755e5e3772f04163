"""Messages with a key: their sequences are in the order of commits, whoever sends them at the same time."""

import json
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest
from psycopg import IsolationLevel
from psycopg.errors import LockNotAvailable, SerializationFailure

from svc_pg import webhooks
from svc_pg.database.query import scalar
from svc_pg.errors import PayloadError
from tests.support.chance import chance
from tests.support.hooks import PLACES, endpoint, hooks_config, install
from tests.support.postgres import Prepare
from tests.support.waiting import wait_until

CONFIG = hooks_config("order.created", "order.paid")
URL = "http://127.0.0.1:9/hook"
WAITING = "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"


@pytest.fixture(scope="module")
def prepare() -> Prepare:
    return lambda conninfo: install(conninfo, CONFIG)


@pytest.fixture
def db(database: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(database, autocommit=True) as conn:
        yield conn


def places(conn: psycopg.Connection[Any], messages: Sequence[Any]) -> list[int | None]:
    """The places of messages among those of their tenant and key, in the order of the ids as given."""
    found = dict(conn.execute(f"select id, place from {PLACES}").fetchall())
    return [found.get(message) for message in messages]


def sent(conn: psycopg.Connection[Any]) -> dict[str, int]:
    """The number of sequences of each key."""
    return dict(
        conn.execute(
            "select key, count(distinct sequence) from svc.webhook_messages where key is not null group by 1"
        ).fetchall()
    )


@contextmanager
def waiting(conn: psycopg.Connection[Any], call: Callable[[], Any]) -> Iterator[Any]:
    """Run a call that has to wait for a lock in a thread; it ends after the block."""
    with ThreadPoolExecutor(1) as thread:
        future = thread.submit(call)
        wait_until(lambda: future.done() or scalar(conn, WAITING) == 1)
        assert not future.done()
        yield future


def test_the_sequences_of_a_tenant_and_key_rise(db: psycopg.Connection[Any]) -> None:
    plain = webhooks.send(db, "order.created", {})
    first = webhooks.send(db, "order.created", {}, key="order-7")
    paid = webhooks.send(db, "order.paid", {}, key="order-7")
    many = webhooks.send_many(
        db, "order.created", [{}, {}, {}, {}, {}], keys=["order-7", "order-8", None, "order-7", "order-8"]
    )
    acme = webhooks.send(db, "order.created", {}, key="order-7", tenant="acme")
    assert places(db, [plain, first, paid, *many, acme]) == [None, 1, 2, 3, 1, None, 4, 2, 1]
    assert scalar(db, "select svc.send_many('order.created', '{1,2}', keys => null)") is not None
    assert scalar(db, "select count(*) from svc.webhook_messages where (key is null) <> (sequence is null)") == 0


def test_in_sql_each_message_may_have_its_own_tenant(db: psycopg.Connection[Any]) -> None:
    query = """select svc.send_many('order.created', '{1,2,3,4}', tenants => '{acme,NULL,acme,other}',
                                    keys => '{k,k,k,NULL}')"""
    assert places(db, scalar(db, query)) == [1, 1, 2, None]


@pytest.mark.parametrize("key", ["", "x" * 256, "é" * 128, "k" * 2048])
def test_a_key_that_is_empty_or_too_long_is_refused(db: psycopg.Connection[Any], key: str) -> None:
    with pytest.raises(PayloadError, match="a key has 1 to 255 bytes"):
        webhooks.send(db, "order.created", {}, key=key)
    with pytest.raises(PayloadError, match="a key has 1 to 255 bytes"):
        webhooks.send_many(db, "order.created", [{}, {}], keys=[None, key])
    with pytest.raises(PayloadError, match="not as many keys"):
        webhooks.send_many(db, "order.created", [{}, {}], keys=["a"])
    webhooks.send(db, "order.created", {}, key="é" * 127)


def test_the_envelope_carries_key_and_sequence(db: psycopg.Connection[Any]) -> None:
    key = 'order "7"\n\\ ☃'
    webhooks.send(db, "order.created", '{"n": 1.10}', key=key)
    [(body, sequence)] = db.execute("select svc.webhook_envelope(m), sequence from svc.webhook_messages m").fetchall()
    assert body.endswith(f',"sequence":{sequence},"data":{{"n": 1.10}}}}')
    assert list(json.loads(body)) == ["id", "type", "timestamp", "key", "sequence", "data"]
    assert json.loads(body)["key"] == key
    assert 2**50 < sequence < 2**53  # what JavaScript and a double hold exactly


def test_a_sequence_is_above_the_last_of_its_key_whatever_the_clock_says(db: psycopg.Connection[Any]) -> None:
    """As after a clock that was set back, or a row of 1, 2, 3 from an older version."""
    ahead, behind = 9_000_000_000_000_000, 3
    db.execute(
        "insert into svc.webhook_keys (tenant, key, sequence) values ('', 'ahead', %s), ('', 'behind', %s)",
        (ahead, behind),
    )
    for key in ("ahead", "behind"):
        webhooks.send(db, "order.created", {}, key=key)
        webhooks.send_many(db, "order.created", [{}, {}], keys=[key, key])
    query = "select key, array_agg(sequence order by sequence) from svc.webhook_messages group by key"
    found = dict(db.execute(query).fetchall())
    assert found["ahead"] == [ahead + number for number in (1, 2, 3)]
    assert len(set(found["behind"])) == 3
    assert min(found["behind"]) > 2**50


def test_a_message_sent_again_keeps_its_sequence(db: psycopg.Connection[Any]) -> None:
    def send_many(*keys: tuple[str | None, str | None]) -> list[Any]:
        idempotency_keys, order = [pair[0] for pair in keys], [pair[1] for pair in keys]
        return webhooks.send_many(db, "order.created", [{}] * len(keys), idempotency_keys=idempotency_keys, keys=order)

    first = webhooks.send(db, "order.created", {}, idempotency_key="a", key="k")
    assert webhooks.send(db, "order.created", {}, idempotency_key="a", key="k") == first
    assert webhooks.send(db, "order.created", {}, idempotency_key="a", key="fresh") == first
    ids = send_many(("b", "k"), ("a", "k"), ("b", "k"), (None, "k"), ("c", None), ("c", "k"), ("d", "k"))
    assert (ids[1], ids[2], ids[5]) == (first, ids[0], ids[4])
    assert places(db, ids) == [2, 1, 2, 3, None, None, 4]
    assert send_many(("b", "k"), ("d", "k"), ("a", "fresh")) == [ids[0], ids[6], first]
    webhooks.send(db, "order.created", {}, key="fresh")
    assert sent(db) == {"k": 4, "fresh": 1}


def test_a_sender_waits_for_others_of_its_key_and_for_no_one_else(database: str, db: psycopg.Connection[Any]) -> None:
    with psycopg.connect(database) as first:
        webhooks.send(first, "order.created", {"n": 1}, key="k")
        db.execute("set lock_timeout = '1 s'")
        for key, tenant in (("other", None), (None, None), ("k", "acme")):
            webhooks.send(db, "order.created", {}, key=key, tenant=tenant)
        with pytest.raises(LockNotAvailable):
            webhooks.send_many(db, "order.created", [{}, {}], keys=["other", "k"])
        db.execute("set lock_timeout = 0")

        def send() -> Any:
            with psycopg.connect(database) as second:
                return webhooks.send(second, "order.created", {"n": 2}, key="k")

        with waiting(db, send) as second:
            first.commit()
    assert places(db, [second.result()]) == [2]


@pytest.mark.parametrize("send_again", ["send", "send_many"])
def test_two_keys_with_one_idempotency_key_at_the_same_time_are_one_message(
    database: str, db: psycopg.Connection[Any], send_again: str
) -> None:
    def again() -> Any:
        with psycopg.connect(database) as second:
            if send_again == "send":
                return webhooks.send(second, "order.created", {}, idempotency_key="once", key="b")
            return webhooks.send_many(
                second, "order.created", [{}, {}], idempotency_keys=["once", "twice"], keys=["b", "b"]
            )

    with psycopg.connect(database) as first:
        message = webhooks.send(first, "order.created", {}, idempotency_key="once", key="a")
        with waiting(db, again) as second:
            first.commit()
    assert (second.result() if send_again == "send" else second.result()[0]) == message
    assert sent(db) == ({"a": 1} if send_again == "send" else {"a": 1, "b": 1})


@pytest.mark.parametrize("level", [IsolationLevel.REPEATABLE_READ, IsolationLevel.SERIALIZABLE])
def test_above_read_committed_one_of_two_senders_is_told_to_try_again(
    database: str, db: psycopg.Connection[Any], level: IsolationLevel
) -> None:
    with psycopg.connect(database) as second:
        second.isolation_level = level
        for key in ("new", "new", "other"):
            scalar(second, "select 1")
            webhooks.send(db, "order.created", {}, key=key)
            with pytest.raises(SerializationFailure):
                webhooks.send_many(second, "order.created", [{}, {}], keys=[key, None])
            second.rollback()
        webhooks.send(second, "order.created", {}, key="new")
    assert sent(db) == {"new": 3, "other": 1}


def test_the_sequences_of_eight_senders_are_in_the_order_of_their_commits(
    database: str, db: psycopg.Connection[Any]
) -> None:
    """After each send a transaction takes the next place of the key, and holds it until it commits."""
    endpoint(database, CONFIG, URL)
    keys = [f"order-{number}" for number in range(4)]
    db.execute("create table place (key text primary key, commits integer not null default 0)")
    db.execute("create table sent (message uuid primary key, place integer not null)")
    db.execute("insert into place (key) select unnest(%s::text[])", (keys,))

    def send(seed: int) -> None:
        chances = chance(seed)
        with psycopg.connect(database) as conn:
            for _ in range(25):
                chosen = chances.sample(keys, chances.randint(1, 4))
                if chances.random() < 0.3:
                    with conn.transaction(force_rollback=True):
                        webhooks.send_many(conn, "order.paid", [{}] * len(chosen), keys=chosen)
                if len(chosen) == 1:
                    messages = [webhooks.send(conn, "order.created", {}, key=chosen[0])]
                else:
                    messages = webhooks.send_many(conn, "order.created", [{}] * len(chosen), keys=chosen)
                for key, message in sorted(zip(chosen, messages, strict=True)):
                    conn.execute("update place set commits = commits + 1 where key = %s", (key,))
                    conn.execute("insert into sent select %s, commits from place where key = %s", (message, key))
                if chances.random() < 0.2:
                    conn.rollback()
                conn.commit()

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(send, range(8)))
    wrong = f"select count(*) from {PLACES} join sent on message = id where places.place <> sent.place"
    assert scalar(db, wrong) == 0
    assert sum(sent(db).values()) == scalar(db, "select count(*) from sent") > 200


def test_batches_and_single_sends_that_are_repeated_in_any_order_do_not_deadlock(
    database: str, db: psycopg.Connection[Any]
) -> None:
    everything = [(f"order-{number % 10}", f"message-{number}") for number in range(40)]

    def send(seed: int) -> None:
        chances = chance(seed)
        for _ in range(12):
            chosen = chances.sample(everything, 20)
            with psycopg.connect(database) as conn:
                if chances.random() < 0.5:
                    webhooks.send_many(
                        conn,
                        "order.created",
                        [{}] * len(chosen),
                        keys=[key for key, _ in chosen],
                        idempotency_keys=[message for _, message in chosen],
                    )
                else:
                    [key, message] = chosen[0]
                    webhooks.send(conn, "order.created", {}, key=key, idempotency_key=message)

    with ThreadPoolExecutor(6) as threads:
        list(threads.map(send, range(6)))
    assert sent(db) == {f"order-{number}": 4 for number in range(10)}


def test_arrays_that_begin_at_another_index_are_read_in_their_order(
    db: psycopg.Connection[Any],
) -> None:
    """As PL/pgSQL makes them: ``keys[0] := 'a'``."""
    many = scalar(db, "select svc.send_many('order.created', '[0:2]={1,2,3}', keys => '[0:2]={a,a,b}')")
    assert places(db, many) == [1, 2, 1]
    [one] = scalar(db, "select svc.send_many('order.created', '[0:0]={1}', '[0:0]={once}', keys => '[0:0]={a}')")
    assert places(db, [one]) == [3]
    assert scalar(db, "select svc.send_many('order.created', '{1}', '[5:5]={once}')") == [one]

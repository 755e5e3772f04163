"""Messages with a key: their sequence is the order of commits, without gaps, whoever sends them at the same time."""

import json
import random
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest
from psycopg import IsolationLevel
from psycopg.errors import LockNotAvailable, SerializationFailure

from svc_pg import webhooks
from svc_pg.errors import PayloadError
from svc_pg.query import scalar
from tests.support.hooks import endpoint, hooks_config, install
from tests.support.postgres import Prepare
from tests.support.waiting import wait_until

CONFIG = hooks_config("order.created", "order.paid")
URL = "http://127.0.0.1:9/hook"
SENT = "select key, array_agg(sequence order by sequence) from svc.webhook_messages where key is not null group by key"
WAITING = "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"


@pytest.fixture(scope="module")
def prepare() -> Prepare:
    return lambda conninfo: install(conninfo, CONFIG)


@pytest.fixture
def db(database: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(database, autocommit=True) as conn:
        yield conn


def sequences(conn: psycopg.Connection[Any], messages: Sequence[Any]) -> list[int | None]:
    """The sequences of messages, in the order of their ids as given."""
    query = """
        select array_agg(m.sequence order by u.ordinality)
          from unnest(%s::uuid[]) with ordinality u(id, ordinality) left join svc.webhook_messages m using (id)
    """
    found: list[int | None] = scalar(conn, query, (list(messages),))
    return found


def by_key(conn: psycopg.Connection[Any]) -> dict[str, list[int]]:
    """The sequences of each key, in their order."""
    return dict(conn.execute(SENT).fetchall())


@contextmanager
def waiting(conn: psycopg.Connection[Any], call: Callable[[], Any]) -> Iterator[Any]:
    """Run a call that has to wait for a lock in a thread; it ends after the block."""
    with ThreadPoolExecutor(1) as thread:
        future = thread.submit(call)
        wait_until(lambda: future.done() or scalar(conn, WAITING) == 1)
        assert not future.done()
        yield future


def test_the_messages_of_a_tenant_and_key_are_numbered_from_one(db: psycopg.Connection[Any]) -> None:
    plain = webhooks.send(db, "order.created", {})
    first = webhooks.send(db, "order.created", {}, key="order-7")
    paid = webhooks.send(db, "order.paid", {}, key="order-7")
    many = webhooks.send_many(
        db, "order.created", [{}, {}, {}, {}, {}], keys=["order-7", "order-8", None, "order-7", "order-8"]
    )
    acme = webhooks.send(db, "order.created", {}, key="order-7", tenant="acme")
    assert sequences(db, [plain, first, paid, *many, acme]) == [None, 1, 2, 3, 1, None, 4, 2, 1]
    assert scalar(db, "select svc.send_many('order.created', '{1,2}', keys => null)") is not None
    assert scalar(db, "select count(*) from svc.webhook_messages where (key is null) <> (sequence is null)") == 0


def test_in_sql_each_message_may_have_its_own_tenant(db: psycopg.Connection[Any]) -> None:
    query = """select svc.send_many('order.created', '{1,2,3,4}', tenants => '{acme,NULL,acme,other}',
                                    keys => '{k,k,k,NULL}')"""
    assert sequences(db, scalar(db, query)) == [1, 1, 2, None]


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
    body = scalar(db, "select svc.webhook_envelope(m) from svc.webhook_messages m")
    assert body.endswith(',"sequence":1,"data":{"n": 1.10}}')
    assert list(json.loads(body)) == ["id", "type", "timestamp", "key", "sequence", "data"]
    assert json.loads(body)["key"] == key


def test_rollbacks_and_savepoints_leave_no_gap(database: str, db: psycopg.Connection[Any]) -> None:
    with psycopg.connect(database) as conn:
        webhooks.send(conn, "order.created", {}, key="k")
        conn.rollback()
        webhooks.send(conn, "order.created", {}, key="k")
        with conn.transaction(force_rollback=True):
            webhooks.send(conn, "order.created", {}, key="k")
            webhooks.send_many(conn, "order.created", [{}, {}], keys=["k", "other"])
        webhooks.send(conn, "order.created", {}, key="k")
    assert by_key(db) == {"k": [1, 2]}


def test_a_message_sent_again_raises_no_sequence(db: psycopg.Connection[Any]) -> None:
    def send_many(*keys: tuple[str | None, str | None]) -> list[Any]:
        idempotency_keys, order = [pair[0] for pair in keys], [pair[1] for pair in keys]
        return webhooks.send_many(db, "order.created", [{}] * len(keys), idempotency_keys=idempotency_keys, keys=order)

    first = webhooks.send(db, "order.created", {}, idempotency_key="a", key="k")
    assert webhooks.send(db, "order.created", {}, idempotency_key="a", key="k") == first
    assert webhooks.send(db, "order.created", {}, idempotency_key="a", key="fresh") == first
    ids = send_many(("b", "k"), ("a", "k"), ("b", "k"), (None, "k"), ("c", None), ("c", "k"), ("d", "k"))
    assert (ids[1], ids[2], ids[5]) == (first, ids[0], ids[4])
    assert sequences(db, ids) == [2, 1, 2, 3, None, None, 4]
    assert send_many(("b", "k"), ("d", "k"), ("a", "fresh")) == [ids[0], ids[6], first]
    webhooks.send(db, "order.created", {}, key="fresh")
    assert by_key(db) == {"k": [1, 2, 3, 4], "fresh": [1]}


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

        with waiting(db, send) as sent:
            first.commit()
    assert sequences(db, [sent.result()]) == [2]
    assert by_key(db) == {"k": [1, 1, 2], "other": [1]}


@pytest.mark.parametrize("send_again", ["send", "send_many"])
def test_two_keys_with_one_idempotency_key_at_the_same_time_leave_no_gap(
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
        with waiting(db, again) as sent:
            first.commit()
    if send_again == "send":
        assert sent.result() == message
    else:
        with pytest.raises(SerializationFailure, match="at the same time with another key"):
            sent.result()
        assert again()[0] == message
    webhooks.send(db, "order.created", {}, key="b")
    assert by_key(db)["b"] == ([1] if send_again == "send" else [1, 2])


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
    assert by_key(db) == {"new": [1, 2, 3], "other": [1]}


def test_eight_senders_number_each_key_in_the_order_of_their_commits(
    database: str, db: psycopg.Connection[Any]
) -> None:
    """After each send a transaction takes the next place of the key, and holds it until it commits."""
    endpoint(database, CONFIG, URL)
    keys = [f"order-{number}" for number in range(4)]
    db.execute("create table place (key text primary key, commits integer not null default 0)")
    db.execute("create table sent (message uuid primary key, place integer not null)")
    db.execute("insert into place (key) select unnest(%s::text[])", (keys,))

    def send(seed: int) -> None:
        chance = random.Random(seed)
        with psycopg.connect(database) as conn:
            for _ in range(25):
                chosen = chance.sample(keys, chance.randint(1, 4))
                if chance.random() < 0.3:
                    with conn.transaction(force_rollback=True):
                        webhooks.send_many(conn, "order.paid", [{}] * len(chosen), keys=chosen)
                if len(chosen) == 1:
                    messages = [webhooks.send(conn, "order.created", {}, key=chosen[0])]
                else:
                    messages = webhooks.send_many(conn, "order.created", [{}] * len(chosen), keys=chosen)
                for key, message in sorted(zip(chosen, messages, strict=True)):
                    conn.execute("update place set commits = commits + 1 where key = %s", (key,))
                    conn.execute("insert into sent select %s, commits from place where key = %s", (message, key))
                if chance.random() < 0.2:
                    conn.rollback()
                conn.commit()

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(send, range(8)))
    wrong = "select count(*) from svc.webhook_messages join sent on message = id where sequence is distinct from place"
    assert scalar(db, wrong) == 0
    found = by_key(db)
    assert found == {key: list(range(1, len(found[key]) + 1)) for key in keys}
    assert sum(map(len, found.values())) == scalar(db, "select count(*) from sent") > 200


def test_batches_and_single_sends_that_are_repeated_in_any_order_do_not_deadlock(
    database: str, db: psycopg.Connection[Any]
) -> None:
    everything = [(f"order-{number % 10}", f"message-{number}") for number in range(40)]

    def send(seed: int) -> None:
        chance = random.Random(seed)
        for _ in range(12):
            chosen = chance.sample(everything, 20)
            with psycopg.connect(database) as conn:
                if chance.random() < 0.5:
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
    assert by_key(db) == {f"order-{number}": [1, 2, 3, 4] for number in range(10)}


def test_arrays_that_begin_at_another_index_are_read_in_their_order(
    db: psycopg.Connection[Any],
) -> None:
    """As PL/pgSQL makes them: ``keys[0] := 'a'``."""
    sent = scalar(db, "select svc.send_many('order.created', '[0:2]={1,2,3}', keys => '[0:2]={a,a,b}')")
    assert sequences(db, sent) == [1, 2, 1]
    [one] = scalar(db, "select svc.send_many('order.created', '[0:0]={1}', '[0:0]={once}', keys => '[0:0]={a}')")
    assert sequences(db, [one]) == [3]
    assert scalar(db, "select svc.send_many('order.created', '{1}', '[5:5]={once}')") == [one]

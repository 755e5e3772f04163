"""svc.send takes a payload as each client gives it: without a type, as text, json or jsonb."""

import asyncio
import json
from collections.abc import Iterator, Sequence
from typing import Any, LiteralString

import asyncpg
import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict
from psycopg.types.json import Json, Jsonb

from svc_pg import webhooks
from svc_pg.database.query import scalar
from svc_pg.database.sqlstates import translating
from svc_pg.errors import AccessError, PayloadError
from tests.support.hooks import endpoint, hooks_config
from tests.support.postgres import Prepare

CONFIG = hooks_config("order.created")
ORDER = '{"id":7, "total": 1.10}'
OF_JSONB = '{"id": 7, "total": 1.10}'
STORED: LiteralString = "select payload::text from svc.webhook_messages where id = %s"


@pytest.fixture(scope="module")
def prepare() -> Prepare:
    def prepare(conninfo: str) -> None:
        endpoint(conninfo, CONFIG, "http://127.0.0.1:9/", events=["*"])
        with psycopg.connect(conninfo) as conn:
            conn.execute("create table orders (id int primary key, total numeric)")
            conn.execute("insert into orders values (7, 1.10)")
            conn.execute("create role seller; grant svc_sender to seller; grant select on orders to seller")
            conn.execute("create role passer_by; grant usage on schema svc to passer_by")

    return prepare


@pytest.fixture
def seller(database: str) -> Iterator[psycopg.Connection[Any]]:
    """A connection of a role that may send, and no more."""
    with psycopg.connect(database) as conn:
        conn.execute("set role seller")
        yield conn


def stored(conn: psycopg.Connection[Any], message: object) -> Any:
    conn.execute("reset role")
    return scalar(conn, STORED, (message,))


@pytest.mark.parametrize(
    ("call", "values", "expected"),
    [
        ("svc.send('order.created', '{\"id\":7, \"total\": 1.10}')", (), ORDER),
        ("svc.send('order.created', payload => '{\"id\":7, \"total\": 1.10}', key => 'order-7')", (), ORDER),
        ("svc.send(payload => '{\"id\":7, \"total\": 1.10}', event => 'order.created')", (), ORDER),
        ("svc.send('order.created', '{\"id\":7, \"total\": 1.10}', 'once', 'acme', '1 minute', null, 'k')", (), ORDER),
        ("svc.send('order.created', %s)", (ORDER,), ORDER),
        ("svc.send(%s, %s, idempotency_key => %s)", ("order.created", ORDER, "once"), ORDER),
        ("svc.send('order.created', %s::text)", (ORDER,), ORDER),
        ("svc.send('order.created', %s::varchar)", (ORDER,), ORDER),
        ("svc.send('order.created', %s::json)", (ORDER,), ORDER),
        ("svc.send('order.created', %s::jsonb)", (ORDER,), OF_JSONB),
        ("svc.send('order.created', %s)", (Json({"id": 7, "total": 1}),), '{"id": 7, "total": 1}'),
        ("svc.send('order.created', %s)", (Jsonb({"total": 1, "id": 7}),), '{"id": 7, "total": 1}'),
        ("svc.send('order.created', json_build_object('id', 7), key => 'k')", (), '{"id" : 7}'),
        ("svc.send('order.created', jsonb_build_object('id', 7), key => 'k')", (), '{"id": 7}'),
        ("svc.send('order.created', to_json('text'::text))", (), '"text"'),
        ("svc.send('order.created', row_to_json(o)) from orders o", (), '{"id":7,"total":1.10}'),
        ("svc.send('order.created', to_jsonb(o)) from orders o", (), OF_JSONB),
        ("svc.send('order.created', json_agg(o)) from orders o", (), '[{"id":7,"total":1.10}]'),
        ("svc.send('order.created', jsonb_agg(o)) from orders o", (), f"[{OF_JSONB}]"),
        ("s from orders o cross join lateral svc.send('order.created', to_jsonb(o)) s", (), OF_JSONB),
    ],
)
def test_each_type_of_a_payload_is_taken_and_its_bytes_are_kept(
    seller: psycopg.Connection[Any], call: LiteralString, values: Sequence[object], expected: str
) -> None:
    message = scalar(seller, "select " + call, values)
    assert stored(seller, message) == expected


@pytest.mark.parametrize(
    ("types", "expected"),
    [
        ("", ORDER),
        ("(unknown, unknown)", ORDER),
        ("(text, varchar)", ORDER),
        ("(varchar, json)", ORDER),
        ("(text, jsonb)", OF_JSONB),
    ],
)
def test_a_prepared_statement_takes_parameters_with_and_without_types(
    seller: psycopg.Connection[Any], types: LiteralString, expected: str
) -> None:
    seller.execute("prepare sending" + types + " as select svc.send($1, $2)")
    message = scalar(seller, f"execute sending('order.created', '{ORDER}')")
    assert stored(seller, message) == expected


@pytest.mark.parametrize("cast", ["", "::text", "::json", "::jsonb"])
def test_asyncpg_gives_a_text_for_each_type(database: str, cast: str) -> None:
    async def send() -> Any:
        at = conninfo_to_dict(database)
        conn = await asyncpg.connect(host=at["host"], port=at.get("port"), user=at["user"], database=at["dbname"])
        try:
            return await conn.fetchval(f"select svc.send($1, $2{cast}, key => $3)", "order.created", ORDER, "k")
        finally:
            await conn.close()

    message = asyncio.run(send())
    with psycopg.connect(database) as conn:
        assert json.loads(scalar(conn, STORED, (message,))) == {"id": 7, "total": 1.1}


@pytest.mark.parametrize(
    ("payload", "says"),
    [("no JSON", "Token"), ("", "ended"), ('{"id": 7', "ended"), ("{} {}", "end of input")],
)
def test_a_text_that_is_no_json_is_refused_in_our_words(
    seller: psycopg.Connection[Any], payload: str, says: str
) -> None:
    with pytest.raises(psycopg.Error, match="the payload is not JSON") as caught:
        seller.execute("select svc.send('order.created', %s)", (payload,))
    assert caught.value.sqlstate == "SV101"
    assert says in (caught.value.diag.message_detail or "")
    assert caught.value.diag.message_hint == "Send the text of one JSON value; of other values, to_jsonb(...)."
    seller.rollback()
    with pytest.raises(PayloadError, match="the payload is not JSON"):
        webhooks.send(seller, "order.created", payload)


def test_a_text_that_is_nested_too_deeply_is_refused_in_our_words(seller: psycopg.Connection[Any]) -> None:
    with pytest.raises(PayloadError, match="nested too deeply") as caught:
        webhooks.send(seller, "order.created", "[" * 200_000)
    assert caught.value.hint == "Send lists and objects of fewer levels."


@pytest.mark.parametrize("kind", ["text", "json", "jsonb"])
def test_each_type_has_the_limits_of_the_others(seller: psycopg.Connection[Any], kind: str) -> None:
    for payload, problem in ((None, "cannot be null"), (json.dumps("x" * 262_143), "too large")):
        with pytest.raises(psycopg.Error, match=problem) as caught:
            seller.execute(f"select svc.send('order.created', %s::{kind})", (payload,))
        assert caught.value.sqlstate == "SV101"
        seller.rollback()
        seller.execute("set role seller")
    largest = json.dumps("x" * 262_142)
    seller.execute(f"select svc.send('order.created', %s::{kind})", (largest,))


@pytest.mark.parametrize("kind", ["text", "json", "jsonb"])
def test_a_role_without_rights_is_told_which(database: str, kind: str) -> None:
    with psycopg.connect(database) as conn:
        conn.execute("set role passer_by")
        with pytest.raises(AccessError) as caught, translating():
            conn.execute(f"select svc.send('order.created', '{{}}'::{kind})")
    assert "send, read or admin of [grants]" in (caught.value.hint or "")


@pytest.mark.parametrize("first", ["text", "json", "jsonb"])
def test_an_idempotency_key_knows_the_message_whatever_its_type(seller: psycopg.Connection[Any], first: str) -> None:
    ids = {
        scalar(seller, f"select svc.send('order.created', '{ORDER}'::{kind}, 'once')")
        for kind in (first, "text", "json", "jsonb")
    }
    assert len(ids) == 1


def test_a_list_of_payloads_is_json_and_takes_arrays_without_a_type(seller: psycopg.Connection[Any]) -> None:
    for payloads in ("{1,2}", [Json(1), Json(2)]):
        assert len(scalar(seller, "select svc.send_many('order.created', %s)", (payloads,))) == 2
    sent = "select svc.send_many('order.created', array_agg(to_jsonb(o))::json[]) from orders o"
    assert len(scalar(seller, sent)) == 1

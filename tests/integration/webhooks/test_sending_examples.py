"""The examples of docs/sending.md do what it says."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from svc_pg import Config, schema, webhooks
from svc_pg.database.query import scalar
from svc_pg.errors import PayloadError
from tests.support.documents import examples

PAYLOADS = "select array_agg(payload::text order by ctid) from svc.webhook_messages"  # ids of one millisecond have none


@pytest.fixture
def shop(empty_database: str, tmp_path: Path) -> Iterator[psycopg.Connection[Any]]:
    """A connection to a database with the documented event and an order."""
    [toml] = examples("sending.md", "Events and their payloads", "toml")
    file = tmp_path / "svc-pg.toml"
    file.write_text(toml)
    with psycopg.connect(empty_database) as conn:
        conn.execute("create table orders (id int primary key, total numeric default 12345678901234567.10)")
        conn.commit()
        schema.install(conn, Config.from_toml(file))
        yield conn


def run(example: str, conn: psycopg.Connection[Any]) -> None:
    exec(example, {"conn": conn, "psycopg": psycopg, "webhooks": webhooks, "timedelta": timedelta})


def test_the_first_example_commits_the_order_and_its_message(
    shop: psycopg.Connection[Any], empty_database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, variable in (("host", "PGHOST"), ("port", "PGPORT"), ("user", "PGUSER"), ("dbname", "PGDATABASE")):
        monkeypatch.setenv(variable, str(conninfo_to_dict(empty_database)[name]))
    run(examples("sending.md")[0], shop)
    assert scalar(shop, "select id from orders") == 7
    assert scalar(shop, PAYLOADS) == ['{"id": 7}']


def test_the_examples_in_sql_send(shop: psycopg.Connection[Any]) -> None:
    shop.execute("insert into orders values (7)")
    [statements] = examples("sending.md", "Plain SQL", "sql")
    for statement in statements.strip().splitlines():
        shop.execute(statement)
    assert scalar(shop, PAYLOADS) == ['{"id": 7}', '{"id": 7}', '{"id": 7, "total": 12345678901234567.10}']
    assert scalar(shop, "select array_agg(idempotency_key) from svc.webhook_messages") == [None, "order-7", None]


def test_the_documented_schema_holds_and_the_database_writes_the_payload(shop: psycopg.Connection[Any]) -> None:
    shop.execute("insert into orders values (7)")
    [example] = examples("sending.md", "Events and their payloads")
    run(example, shop)
    assert scalar(shop, PAYLOADS) == ['{"id":7,"total":12345678901234567.10}']
    with pytest.raises(PayloadError):
        webhooks.send(shop, "order.created", {"id": "seven"})


def test_the_documented_options_and_many_at_once_send(shop: psycopg.Connection[Any]) -> None:
    [options], [many] = examples("sending.md", "Options"), examples("sending.md", "Send many")
    run(options, shop)
    assert scalar(shop, "select array_agg(tenant order by tenant) from svc.webhook_messages") == ["acme", None, None]
    run(many, shop)
    assert scalar(shop, PAYLOADS) == ['{"id": 7}', '{"id": 7}', '{"id": 7}', '{"id": 8}']

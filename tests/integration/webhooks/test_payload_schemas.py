from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from svc_pg import Config, schema, webhooks
from svc_pg.config import EventDefinition, WebhooksConfig
from svc_pg.database.query import scalar
from svc_pg.errors import ConfigError, PayloadError
from svc_pg.webhooks.events import sending
from tests.support.hooks import install
from tests.support.postgres import Prepare

NUMBERS = {"type": "object", "required": ["id"], "properties": {"id": {"type": "integer"}}}
TEXTS = {"type": "object", "required": ["id"], "properties": {"id": {"type": "string"}}}


def config(json_schema: dict[str, Any] | None) -> Config:
    return Config(webhooks=WebhooksConfig(events={"order.created": EventDefinition(json_schema=json_schema)}))


pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
def prepare() -> Prepare:
    return lambda conninfo: install(conninfo, config(NUMBERS))


@pytest.fixture
def db(database: str) -> Iterator[psycopg.Connection[Any]]:
    sending._checks.clear()
    with psycopg.connect(database) as conn:
        yield conn


def payloads(conn: psycopg.Connection[Any]) -> list[Any]:
    return [row[0] for row in conn.execute("select payload from svc.webhook_messages order by ctid")]


def test_a_payload_that_fits_is_sent(db: psycopg.Connection[Any]) -> None:
    webhooks.send(db, "order.created", {"id": 1})
    webhooks.send(db, "order.created", '{"id": 2}')
    webhooks.send_many(db, "order.created", [{"id": 3}, {"id": 4}])
    assert sorted(payload["id"] for payload in payloads(db)) == [1, 2, 3, 4]


@pytest.mark.parametrize("_time", ["the first", "once the schema is known"])
def test_a_payload_that_does_not_fit_is_refused_and_the_error_says_where(
    db: psycopg.Connection[Any], _time: str
) -> None:
    if _time != "the first":
        webhooks.send(db, "order.created", {"id": 1})
    before = len(payloads(db))
    with pytest.raises(PayloadError) as caught:
        webhooks.send(db, "order.created", {"id": "seven"})
    assert "order.created" in caught.value.message
    assert "$.id" in caught.value.message
    assert "'seven' is not of type 'integer'" in caught.value.message
    with pytest.raises(PayloadError, match="payload 1 does not fit"):
        webhooks.send_many(db, "order.created", [{"id": 1}, {}])
    assert len(payloads(db)) == before
    with pytest.raises(PayloadError, match="not JSON"):
        webhooks.send(db, "order.created", "{")


def test_a_schema_that_changed_meanwhile_counts_at_once(database: str, db: psycopg.Connection[Any]) -> None:
    webhooks.send(db, "order.created", {"id": 1})
    db.commit()
    with psycopg.connect(database) as other:
        schema.install(other, config(TEXTS))
    webhooks.send(db, "order.created", {"id": "seven"})
    with pytest.raises(PayloadError, match="1 is not of type 'string'"):
        webhooks.send(db, "order.created", {"id": 1})
    db.commit()
    with psycopg.connect(database) as other:
        schema.install(other, config(None))
    webhooks.send(db, "order.created", [])
    assert payloads(db) == [{"id": 1}, {"id": "seven"}, []]


def test_a_known_schema_costs_no_further_statement(db: psycopg.Connection[Any]) -> None:
    webhooks.send(db, "order.created", {"id": 1})
    statements = []

    class Counting(psycopg.Cursor[Any]):
        def execute(self, *arguments: Any, **options: Any) -> "Counting":
            statements.append(arguments)
            return super().execute(*arguments, **options)

    db.cursor_factory = Counting
    webhooks.send(db, "order.created", {"id": 2})
    assert len(statements) == 1


@pytest.mark.usefixtures("db")
async def test_async_sends_are_checked_too(database: str) -> None:
    async with await psycopg.AsyncConnection.connect(database) as conn:
        await webhooks.asend(conn, "order.created", {"id": 1})
        with pytest.raises(PayloadError, match=r"\$\.id"):
            await webhooks.asend(conn, "order.created", {"id": None})
        with pytest.raises(PayloadError, match="payload 0"):
            await webhooks.asend_many(conn, "order.created", [{}, {"id": 3}])
        assert len(await webhooks.asend_many(conn, "order.created", [{"id": 2}, {"id": 3}])) == 2


def test_a_reference_to_elsewhere_is_never_fetched(db: psycopg.Connection[Any]) -> None:
    schema.install(db, config({"$ref": "http://127.0.0.1:9/schema.json"}))
    with pytest.raises(PayloadError, match=r"refers to http://127\.0\.0\.1:9/schema\.json, which is not in it"):
        webhooks.send(db, "order.created", {})
    assert scalar(db, "select count(*) from svc.webhook_messages") == 0


def test_a_schema_that_is_none_is_a_configuration_error() -> None:
    with pytest.raises(ConfigError, match=r'events."order.created".schema: not a JSON Schema'):
        Config().webhooks.event("order.created", schema={"type": "text"})


def test_names_of_our_own_events_are_reserved() -> None:
    with pytest.raises(ConfigError, match=r"begin with \"webhook\.\" are svc-pg's own"):
        Config().webhooks.event("webhook.order.created")

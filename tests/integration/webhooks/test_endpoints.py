from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from svc_pg.database.query import fetch_one, scalar
from svc_pg.errors import EndpointError
from svc_pg.webhooks.endpoints import endpoint_queries as endpoints
from svc_pg.webhooks.endpoints.endpoint_rows import Endpoint
from svc_pg.webhooks.http.guard import Guard
from svc_pg.webhooks.secrets import SECRET_COLUMN
from tests.support.hooks import KEYS, hooks_config, install
from tests.support.postgres import Prepare


@pytest.fixture(scope="module")
def prepare() -> Prepare:
    return lambda conninfo: install(conninfo, hooks_config("order.created", "order.paid"))


@pytest.fixture
def db(database: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(database) as conn:
        yield conn


def create(conn: psycopg.Connection[Any], **changes: Any) -> tuple[Endpoint, str]:
    wanted: dict[str, Any] = {"url": "https://Example.COM/hook", "events": ["order.created"]} | changes
    endpoint = fetch_one(conn, endpoints.create(keys=KEYS, guard=Guard(), **wanted))
    return endpoint, endpoint.secret


def test_an_endpoint_is_active_and_its_secret_is_stored_sealed(db: psycopg.Connection[Any]) -> None:
    endpoint, secret = create(db)
    assert (endpoint.url, endpoint.events, endpoint.status) == ("https://example.com/hook", ["order.created"], "active")
    assert secret.startswith("whsec_")
    sealed = scalar(db, "select secret from svc.webhook_endpoints")
    assert secret.encode() not in sealed
    assert KEYS.open(sealed, owner=endpoint.id, column=SECRET_COLUMN) == secret


def test_a_sealed_secret_does_not_open_for_another_endpoint(db: psycopg.Connection[Any]) -> None:
    first, _ = create(db)
    second, _ = create(db)
    db.execute(
        "update svc.webhook_endpoints set secret = (select secret from svc.webhook_endpoints where id = %s)",
        (first.id,),
    )
    with pytest.raises(Exception, match="does not open"):
        KEYS.open(
            scalar(db, "select secret from svc.webhook_endpoints where id = %s", (second.id,)),
            owner=second.id,
            column=SECRET_COLUMN,
        )


@pytest.mark.parametrize(
    ("events", "reason"),
    [
        ([], "at least one event"),
        (["order.creatd"], 'event "order.creatd" is not defined'),
        (["ordr.*"], 'no event matches "ordr.*"'),
        (["order.**"], "is not an event"),
        (["*.created"], "is not an event"),
        (["Order Created"], "is not an event"),
    ],
)
def test_unacceptable_events_are_refused(db: psycopg.Connection[Any], events: list[str], reason: str) -> None:
    with pytest.raises(EndpointError) as caught:
        create(db, events=events)
    assert reason in caught.value.message


def test_an_unknown_event_names_the_known_ones(db: psycopg.Connection[Any]) -> None:
    with pytest.raises(EndpointError) as caught:
        create(db, events=["order.creatd"])
    assert str(caught.value.hint).startswith("Known: audit.sealed, order.created, order.paid, webhook.")


@pytest.mark.parametrize("url", ["http://example.com", "https://127.0.0.1/", "https://me:pw@example.com/", "nonsense"])
def test_unacceptable_urls_are_refused_and_nothing_is_stored(db: psycopg.Connection[Any], url: str) -> None:
    with pytest.raises(EndpointError):
        create(db, url=url)
    assert scalar(db, "select count(*) from svc.webhook_endpoints") == 0


def test_an_endpoint_named_twice_with_one_event_keeps_it_once(db: psycopg.Connection[Any]) -> None:
    endpoint, _ = create(db, events=["order.paid", "order.created", "order.paid"])
    assert endpoint.events == ["order.paid", "order.created"]

from collections.abc import Iterator

import httpx
import psycopg
import pytest

from svc_pg import audit, webhooks
from svc_pg.config import AuditConfig, AuditedTable
from svc_pg.console import Console
from tests.integration.console.serving import assert_problem, serving_installed, settings
from tests.support.hooks import endpoint, hooks_config
from tests.support.postgres import Prepare
from tests.support.tables import create_and_audit

URL = "http://127.0.0.1:9/hook"


@pytest.fixture(scope="module")
def prepare() -> Prepare:
    """Ten changes and three deliveries."""

    def prepare(conninfo: str) -> None:
        config = hooks_config("order.created")
        config.audit = AuditConfig(tables=[AuditedTable(name="public.t")])
        create_and_audit(conninfo, "create table t (id int primary key, n numeric)", config)
        endpoint(conninfo, config, URL)
        with psycopg.connect(conninfo) as conn, audit.actor(conn, "alice", context={"request_id": "r-1"}):
            conn.execute("insert into t select n, 12345678901234567.10 from generate_series(1, 9) n")
            conn.execute("update t set n = 0 where id = 9")
            for number in range(3):
                webhooks.send(conn, "order.created", {"n": number})

    return prepare


@pytest.fixture(scope="module")
def client(shared_database: str) -> Iterator[httpx.Client]:
    """A signed-in client of a console on such a database, which only reads."""
    with serving_installed(Console(settings(database_url=shared_database))) as client:
        token = client.post("/console/session/init", json={}).json()["sessionToken"]
        client.headers["authorization"] = f"Bearer {token}"
        yield client


def test_entries_are_listed_newest_first_with_snapshots_as_they_were_stored(client: httpx.Client) -> None:
    response = client.get("/audit/entries", params={"resource": "public.t"})
    assert response.status_code == 200
    assert '"n": 12345678901234567.10' in response.text
    entries = response.json()["data"]
    assert [entry["operation"] for entry in entries] == ["UPDATE", *["INSERT"] * 9]
    update = entries[0]
    assert (update["tableName"], update["recordId"], update["actorId"]) == ("public.t", "9", "alice")
    assert (update["afterData"], update["changedFields"]) == ({"id": 9, "n": 0}, ["n"])
    assert update["context"] == {"request_id": "r-1"}
    assert update["timestamp"].endswith("Z")
    assert isinstance(update["id"], str)


@pytest.mark.parametrize(("path", "number"), [("/audit/entries?resource=t", 10), ("/webhooks/deliveries?limit=100", 3)])
def test_pages_follow_each_other_without_gap_or_repetition(client: httpx.Client, path: str, number: int) -> None:
    path, _, query = path.partition("?")
    filters = dict([query.split("=")])
    everything = client.get(path, params=filters).json()["data"]
    assert len(everything) == number
    collected, cursor = [], None
    while True:
        page = client.get(path, params=filters | {"limit": 2} | ({"cursor": cursor} if cursor else {})).json()
        assert len(page["data"]) <= 2
        collected += page["data"]
        cursor = page["nextCursor"]
        if cursor is None:
            break
    assert collected == everything


@pytest.mark.parametrize(
    ("query", "number"),
    [
        ({"resource": "public.t"}, 10),
        ({"resource": "t", "operation": "UPDATE"}, 1),
        ({"resource": "other"}, 0),
        ({"record": "9"}, 2),
        ({"actor": "alice"}, 10),
        ({"actor": "bob"}, 0),
        ({"since": "1h", "actor": "alice"}, 10),
        ({"until": "1h"}, 0),
    ],
)
def test_entries_are_filtered(client: httpx.Client, query: dict[str, str], number: int) -> None:
    assert len(client.get("/audit/entries", params=query).json()["data"]) == number


def test_deliveries_are_filtered_by_endpoint_status_and_event(client: httpx.Client) -> None:
    [first, *_] = client.get("/webhooks/deliveries").json()["data"]
    assert (first["status"], first["attempts"], first["eventName"]) == ("pending", 0, "order.created")
    for query, number in (
        ({"endpointId": first["endpointId"]}, 3),
        ({"endpointId": "00000000-0000-0000-0000-000000000000"}, 0),
        ({"status": "delivered"}, 0),
        ({"event": "order.created", "since": "1h"}, 3),
    ):
        assert len(client.get("/webhooks/deliveries", params=query).json()["data"]) == number


@pytest.mark.parametrize(
    ("path", "query"),
    [
        ("/audit/entries", "operation=DROP"),
        ("/audit/entries", "since=yesterday"),
        ("/audit/entries", "limit=0"),
        ("/audit/entries", "limit=ten"),
        ("/audit/entries", "cursor=" + "W1tbW1tb" * 4000),
        ("/audit/entries", "cursor=bm9uc2Vuc2U"),
        ("/audit/entries", "resource=a.b.c"),
        ("/audit/entries", "unknown=1"),
        ("/audit/entries", "record=a&record=b"),
        ("/audit/entries", "actor=%00"),
        ("/webhooks/deliveries", "endpointId=7"),
        ("/webhooks/deliveries", "status=lost"),
    ],
)
def test_a_bad_filter_is_422_and_names_the_parameter(client: httpx.Client, path: str, query: str) -> None:
    response = client.get(f"{path}?{query}")
    assert_problem(response, 422, "invalid_parameter")
    assert response.json()["parameter"] == query.partition("=")[0]

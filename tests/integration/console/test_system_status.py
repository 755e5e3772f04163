"""The state of the system, as the page System shows it."""

from collections.abc import Iterator
from datetime import timedelta

import httpx
import psycopg
import pytest
from psycopg_pool import AsyncConnectionPool

from svc_pg import Config, __version__, webhooks
from svc_pg.console import Console
from svc_pg.console.sign_in import api_tokens
from svc_pg.database.application_names import worker_name
from tests.integration.console.serving import assert_problem, bearer, serving_installed, serving_with_pool, settings
from tests.support.hooks import endpoint, hooks_config, install, working
from tests.support.postgres import Prepare
from tests.support.waiting import wait_until

CONFIG = hooks_config("order.created")


def configured() -> Config:
    config = CONFIG.model_copy(deep=True)
    config.audit.retention_days = 400
    return config


@pytest.fixture(scope="module")
def prepare() -> Prepare:
    return lambda conninfo: install(conninfo, configured())


@pytest.fixture
def client(database: str) -> Iterator[httpx.Client]:
    with serving_installed(Console(settings(database_url=database), config=configured())) as client:
        client.headers.update(bearer("read"))
        yield client


def test_it_tells_versions_sizes_retention_and_that_nothing_differs(client: httpx.Client, database: str) -> None:
    with psycopg.connect(database) as conn:
        endpoint(database, configured(), "http://127.0.0.1:9/hook")
        webhooks.send(conn, "order.created", {"n": 1})
        version = conn.info.parameter_status("server_version")
    found = client.get("/account/system").json()
    assert (found["version"], found["facts"]["schemaVersion"]) == (__version__, __version__)
    assert found["facts"]["postgresVersion"] == version
    assert found["facts"]["isStandby"] is False
    assert found["facts"]["databaseBytes"] > 1_000_000
    assert found["facts"]["oldestMessageAt"] is not None
    sizes = {each["name"]: each["bytes"] for each in found["sizes"]}
    assert sizes.keys() >= {"audit_logs", "webhook_deliveries", "webhook_messages"}
    assert min(sizes.values()) > 0
    assert found["retention"] == {
        "auditEntries": timedelta(days=400).total_seconds(),
        "delivered": CONFIG.webhooks.keep_delivered.total_seconds(),
        "failed": CONFIG.webhooks.keep_failed.total_seconds(),
    }
    drift = found["drift"]
    assert (drift["count"], drift["differences"], drift["problem"]) == (0, [], None)
    assert drift["objects"] > 100


def test_it_tells_what_differs_once_a_minute(client: httpx.Client, database: str) -> None:
    with psycopg.connect(database) as conn:
        conn.execute("drop function svc.console_prune(integer)")
    drift = client.get("/account/system").json()["drift"]
    assert drift["differences"] == [
        {"kind": "function", "identity": "svc.console_prune", "state": "missing", "auditedTable": None}
    ]
    install(database, configured())
    assert client.get("/account/system").json()["drift"] == drift


def test_it_tells_who_works(client: httpx.Client, database: str) -> None:
    def workers() -> list[tuple[str, int]]:
        programs = client.get("/account/system").json()["programs"]
        return [(each["name"], each["connections"]) for each in programs if each["kind"] == "worker"]

    name = worker_name()
    with working(database, configured()):
        wait_until(lambda: workers() == [(name, 3)], "one worker is seen, by its three connections")


def test_a_comparison_that_is_not_possible_is_a_problem_and_no_failure(database: str) -> None:
    pool = AsyncConnectionPool(database, open=False, min_size=1)
    with serving_with_pool(Console(settings(), pool=pool, config=configured()), pool) as client:
        assert client.get("/account/system", headers=bearer("read")).json()["drift"]["problem"] is None
    with psycopg.connect(database) as conn:
        conn.execute("alter table svc.installed_objects rename to gone")
    with serving_installed(Console(settings(database_url=database), config=configured())) as client:
        answer = client.get("/account/system", headers=bearer("read"))
        assert answer.status_code == 200
        assert "could not be compared" in answer.json()["drift"]["problem"]
        assert "gone" not in answer.text


def test_a_tenant_learns_nothing_of_the_system(client: httpx.Client, database: str) -> None:
    with psycopg.connect(database) as conn:
        token = api_tokens.add(conn, "acme", permission="admin", tenant="acme").token
    answer = client.get("/account/system", headers={"Authorization": f"Bearer {token}"})
    assert_problem(answer, 403, "not_for_tenants")

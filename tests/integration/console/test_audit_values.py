"""The values of filters, of all entries of the log if an index has them, and of a tenant alone for its session."""

from collections.abc import Iterator
from typing import Any

import httpx
import psycopg
import pytest

from svc_pg import Config
from svc_pg.audit.read import known_values
from svc_pg.console import Console
from svc_pg.console.sign_in import api_tokens
from tests.integration.console.serving import bearer, serving_installed, settings
from tests.support.postgres import new_database
from tests.support.tables import create_and_audit

CONFIG = Config()
CONFIG.audit.table("public.t")
CONFIG.audit.indexes = ["record", "time", "actor"]
LONG = "m" * 600


@pytest.fixture(scope="module")
def installed(postgres: str, template: str) -> Iterator[str]:
    with new_database(postgres, template=template) as conninfo:
        create_and_audit(conninfo, "create table t (id int primary key)", CONFIG)
        with psycopg.connect(conninfo) as conn:
            for actor, tenant in (
                ("mara", "acme"),
                ("Marketing", None),
                ("salma", "other"),
                ("<b>ma", None),
                (LONG, None),
            ):
                write(conn, actor, tenant, 2)
            write(conn, "newest", "acme", 200)
        yield conninfo


@pytest.fixture(scope="module")
def client(installed: str) -> Iterator[httpx.Client]:
    with serving_installed(Console(settings(database_url=installed), config=CONFIG)) as client:
        client.headers.update(bearer("read"))
        yield client


def write(conn: psycopg.Connection[Any], actor: str, tenant: str | None, entries: int) -> None:
    conn.execute(
        "insert into svc.audit_logs (table_name, table_oid, operation, record_id, actor_id, tenant_id, label)"
        " select 'public.t' || n %% 2, 0, 'UPDATE', n::text, %s, %s, %s from generate_series(1, %s) n",
        (actor, tenant, f"Label of {tenant}", entries),
    )


def values(client: httpx.Client, of: str, text: str = "", **headers: str) -> tuple[list[str], str]:
    answer = client.get("/audit/values", params={"of": of, "text": text}, headers=headers)
    assert answer.status_code == 200, answer.text
    return answer.json()["values"], answer.json()["lookedAt"]


def test_all_actors_are_found_and_those_that_begin_with_the_text_come_first(
    client: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(known_values, "MAX_ENTRIES", 100)
    assert values(client, "actor", "ma") == (["mara", "<b>ma", "Marketing", "salma"], "log")
    assert values(client, "actor", "nobody") == ([], "log")
    assert values(client, "resource", "PUBLIC.T") == (["public.t0", "public.t1"], "log")


def test_without_an_index_the_newest_entries_are_looked_at_and_the_answer_says_so(
    client: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert values(client, "label", "label") == (["Label of None", "Label of acme", "Label of other"], "log")
    monkeypatch.setattr(known_values, "MAX_ENTRIES", 100)
    assert values(client, "label", "label") == (["Label of acme"], "newest")
    assert values(client, "tenant", "") == (["acme"], "newest")


def test_of_too_many_values_those_are_found_that_begin_with_the_text(
    client: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(known_values, "MOST_STEPS", 2)
    monkeypatch.setattr(known_values, "_LEAST_STEPS", 2)
    found, reach = values(client, "actor", "sal")
    assert (found, reach) == (["salma"], "beginnings")


def test_a_session_of_a_tenant_sees_no_values_of_others(client: httpx.Client, installed: str) -> None:
    with psycopg.connect(installed) as conn:
        token = api_tokens.add(conn, "acme", permission="read", tenant="acme").token
    own = {"authorization": f"Bearer {token}"}
    assert values(client, "actor", "", **own) == (["mara", "newest"], "newest")
    assert values(client, "actor", "salma", **own) == ([], "newest")
    assert values(client, "tenant", "", **own) == (["acme"], "newest")
    assert values(client, "label", "", **own) == (["Label of acme"], "newest")


def test_what_is_asked_for_is_bounded(client: httpx.Client) -> None:
    for params in ({"of": "actor", "text": "x" * 201}, {"of": "context"}, {}, {"of": "actor", "text": "\0"}):
        assert client.get("/audit/values", params=params).status_code == 422

"""The times in which capture was not right are told over HTTP and on the pages of records, but not to a tenant."""

import re
from collections.abc import Iterator
from typing import Any

import httpx
import psycopg
import pytest

from svc_pg import Config, audit, schema
from svc_pg.config import AuditConfig, AuditedTable
from svc_pg.console import Console
from svc_pg.console.sign_in import api_tokens
from svc_pg.formats.json_writer import timestamp
from svc_pg.maintenance import maintain
from tests.integration.console.browsing import assert_strict, signed_in
from tests.integration.console.serving import assert_problem, bearer, serving_installed, settings
from tests.support.postgres import Prepare
from tests.support.tables import create_and_audit

CONFIG = Config(audit=AuditConfig(tables=[AuditedTable(name="customer"), AuditedTable(name="other")]))
PAGES = ("/audit/records/public.customer/1", "/audit/records/public.customer/1/as-of")
SAID = "Changes may be missing here"


@pytest.fixture(scope="module")
def prepare() -> Prepare:
    tables = "create table customer (id int primary key); create table other (id int primary key)"
    return lambda conninfo: create_and_audit(conninfo, tables, CONFIG)


@pytest.fixture
def db(database: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(database, autocommit=True) as conn:
        conn.execute("insert into customer values (1)")
        assert maintain(conn, CONFIG)
        yield conn


@pytest.fixture
def client(database: str) -> Iterator[httpx.Client]:
    with serving_installed(Console(settings(database_url=database), config=CONFIG)) as client:
        yield client


def stop(conn: psycopg.Connection[Any]) -> None:
    conn.execute('alter table customer disable trigger "00_svc_audit_update"')
    assert maintain(conn, CONFIG)


def go_on(conn: psycopg.Connection[Any]) -> None:
    conn.execute('alter table customer enable trigger "00_svc_audit_update"')
    schema.backfill(conn, CONFIG)
    schema.install(conn, CONFIG)
    assert maintain(conn, CONFIG)


def silences(client: httpx.Client, table: str, headers: dict[str, str] | None = None) -> httpx.Response:
    return client.get(f"/audit/tables/{table}/silences", headers=headers or bearer("read"))


def test_a_time_in_which_changes_may_be_missing_is_told_with_the_past(
    client: httpx.Client, db: psycopg.Connection[Any]
) -> None:
    browser = signed_in(client, "read")
    assert silences(client, "customer").json()["data"] == []
    assert all(SAID not in browser.get(page).text for page in PAGES)
    stop(db)
    [open_one] = silences(client, "public.customer").json()["data"]
    [silence] = audit.silences(db, "customer")
    assert silence.since is not None
    assert open_one == {"since": timestamp(silence.since), "until": None}
    for page in map(browser.get, PAGES):
        assert SAID in page.text
        assert re.search(r"between\s+<time .*</time> and now", page.text)
        assert_strict(page.text)
    assert SAID not in browser.get("/audit/records/public.other/1").text
    go_on(db)
    [over] = silences(client, "customer").json()["data"]
    assert over["until"] is not None
    assert all(re.search(r"between\s+<time .*</time> and <time ", browser.get(page).text) for page in PAGES)


def test_the_newest_silences_come_first(client: httpx.Client, db: psycopg.Connection[Any]) -> None:
    for _ in range(4):
        stop(db)
        go_on(db)
    found = silences(client, "customer").json()["data"]
    assert [each["since"] for each in found] == sorted((each["since"] for each in found), reverse=True)
    assert len(found) == 4
    assert "and 1 time before" in signed_in(client, "read").get(PAGES[0]).text


def test_a_tenant_is_told_nothing_of_it(client: httpx.Client, db: psycopg.Connection[Any]) -> None:
    stop(db)
    token = api_tokens.add(db, "acme", permission="admin", tenant="acme").token
    assert_problem(silences(client, "customer", {"Authorization": f"Bearer {token}"}), 403, "not_for_tenants")


def test_what_is_no_name_of_a_table_is_refused(client: httpx.Client) -> None:
    assert_problem(silences(client, "a.b.c.d"), 404, "unknown_table")
    assert silences(client, "nowhere").json()["data"] == []

"""The page Coverage says what is on record, what is not and why, and what drifts; the overview begins with it."""

import re
from collections.abc import Iterator

import httpx
import psycopg
import pytest
from psycopg.sql import SQL, Identifier

from svc_pg import Config, audit
from svc_pg.audit import SealKey
from svc_pg.config import AuditConfig, AuditedTable
from svc_pg.console import Console
from tests.integration.console.browsing import HOSTILE, assert_strict, signed_in
from tests.integration.console.serving import assert_problem, bearer, serving_installed, settings
from tests.support.pages import all_data
from tests.support.postgres import Prepare
from tests.support.tables import create_and_audit

CONFIG = Config(
    audit=AuditConfig(
        tables=[
            AuditedTable(name="customer", redact={"iban": "last4"}),
            AuditedTable(name="public.shop_*", exclude=["public.shop_session"]),
        ]
    )
)


@pytest.fixture(scope="module")
def prepare() -> Prepare:
    return lambda conninfo: create_and_audit(
        conninfo,
        "create table customer (id int primary key, iban text); create table shop_order (id int primary key);"
        "create table shop_session (id int primary key); create table other (id int primary key)",
        CONFIG,
    )


@pytest.fixture
def client(database: str) -> Iterator[httpx.Client]:
    with serving_installed(Console(settings(database_url=database), config=CONFIG)) as client:
        yield client


def test_the_page_tells_what_is_on_record_and_why_the_rest_is_not(client: httpx.Client, database: str) -> None:
    with psycopg.connect(database, autocommit=True) as conn:
        conn.execute("insert into customer values (1, 'DE123456789')")
        conn.execute("alter table shop_order disable trigger user")
    browser = signed_in(client, "read")
    page = browser.get("/coverage")
    assert page.status_code == 200
    assert_strict(page.text)
    assert "1 of 4 tables is on record, 1 is left out on purpose" in page.text
    for words in ("a trigger is disabled", "excluded by the configuration", "the configuration does not name it"):
        assert words in page.text
    assert "public.customer: 1 entry in 14 days, 1 today" in page.text.replace("\u2068", "").replace("\u2069", "")
    drifting = browser.get("/coverage?state=drifting").text
    assert "shop_order" in drifting
    assert "shop_session" not in drifting
    assert browser.get("/coverage?text=nothing").text.count("No table matches") == 1
    assert browser.get("/coverage?unknown=1").status_code == 422
    overview = browser.get("/overview").text
    assert overview.index("Not sealed") < overview.index("Changes worth a look")


def test_the_first_page_begins_with_what_an_auditor_asks_first(client: httpx.Client, database: str) -> None:
    """The last seal, the last verification and the last comparison, the guards, and drift."""
    key = SealKey("s1", b"k" * 32)
    with psycopg.connect(database, autocommit=True) as conn:
        conn.execute("insert into customer values (1, 'DE123456789')")
        audit.seal(conn, key=key)
        assert audit.verify(conn, public_keys=key.public).is_intact
        assert audit.reconcile(conn, CONFIG).is_whole
        client.get("/account/system", headers=bearer("read"))  # the comparison with the configuration may take its time
        page = signed_in(client, "read").get("/overview").text
        strip = page.partition('aria-label="Integrity">')[2].partition("</section>")[0]
        facts = [re.sub(r"<[^>]*>", " ", fact).split() for fact in strip.split("</li>")[:-1]]
        words = [" ".join(fact) for fact in facts]
        assert page.index('aria-label="Integrity"') < page.index("Changes worth a look")
        assert [fact.partition(" ")[0] for fact in words] == ["Sealed", "Verified", "Reconciled", "Guards", "Drift"]
        assert "seal 1;" in words[0]
        assert words[1].endswith("1 entry, 0 findings")
        assert words[2].endswith("2 tables, 0 differences left")
        assert "in place" in words[3]
        conn.execute("set session_replication_role = replica; insert into customer values (2, 'DE987654321')")
        conn.execute("set session_replication_role = origin")
        audit.reconcile(conn, CONFIG)
        assert "2 tables, 1 difference left" in signed_in(client, "read").get("/overview").text


@pytest.mark.parametrize(
    "change",
    [
        "create or replace function svc.audit_guard() returns trigger language plpgsql as 'begin return new; end'",
        "alter table svc.audit_logs_default disable trigger audit_guard_row",
        "alter table svc.audit_seals disable trigger audit_guard_row",
    ],
)
def test_a_guard_that_is_not_as_installed_is_told_beside_many_other_differences(
    client: httpx.Client, database: str, change: str
) -> None:
    with psycopg.connect(database, autocommit=True) as conn:
        conn.execute(change)
        conn.execute("do $$begin for n in 1..40 loop execute 'create table shop_' || n || ' (id int)'; end loop; end$$")
    drift = client.get("/account/system", headers=bearer("read")).json()["drift"]
    assert (drift["guards"], drift["count"] > len(drift["differences"])) == (1, True)
    page = signed_in(client, "read").get("/overview").text
    assert ("1 off" in page, "in place" in page) == (True, False)


def test_the_page_says_if_the_rules_in_force_are_not_those_of_the_configuration(database: str) -> None:
    tables = [AuditedTable(name="customer", redact={"iban": "mask"}), *CONFIG.audit.tables[1:]]
    config = Config(audit=AuditConfig(tables=tables))
    with serving_installed(Console(settings(database_url=database), config=config)) as client:
        assert client.get("/account/system", headers=bearer("read")).json()["drift"]["count"] > 0
        page = signed_in(client, "read").get("/coverage").text
    assert "Masked as configured" in page
    assert "outdated: the rules in force may differ" in page


def test_hostile_names_are_names_on_the_page(client: httpx.Client, database: str) -> None:
    with psycopg.connect(database, autocommit=True) as conn:
        for name in HOSTILE:
            fitting = name.replace("\0", "").encode()[:63].decode(errors="ignore")
            conn.execute(SQL("create table {} (id int)").format(Identifier(fitting)))
    page = signed_in(client, "read").get("/coverage")
    assert page.status_code == 200
    assert_strict(page.text)


def test_the_api_has_the_same_filters_and_pages(client: httpx.Client) -> None:
    client.headers.update(bearer("read"))
    names = [table["name"] for table in all_data(client, "/audit/coverage", limit=1)]
    assert names == ["public.customer", "public.other", "public.shop_order", "public.shop_session"]
    assert [each["reason"] for each in all_data(client, "/audit/coverage", state="not_audited", text="SHOP")] == [
        "excluded"
    ]
    counts = client.get("/audit/coverage/counts").json()
    assert (counts["tables"], counts["audited"], counts["excluded"], counts["schemas"]) == (4, 2, 1, ["public"])
    assert_problem(client.get("/audit/coverage?state=x"), 422, "invalid_parameter")
    assert_problem(client.get("/audit/coverage?cursor=x"), 422, "invalid_parameter")
    assert client.get("/audit/coverage?schema=" + "x" * 30_000).status_code in (414, 422, 431)

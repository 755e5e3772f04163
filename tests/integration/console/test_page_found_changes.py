"""Changes that a comparison found name nobody on the console's pages."""

from collections.abc import Iterator
from html import unescape

import httpx
import psycopg
import pytest

from svc_pg import audit
from svc_pg.console import Console
from tests.integration.console.browsing import Browser, signed_in
from tests.integration.console.serving import serving_installed, settings
from tests.support.postgres import new_database
from tests.support.tables import audited, create_and_audit

CONFIG = audited("customer")
UNKNOWN = "who did it and when is not known"


@pytest.fixture(scope="module")
def installed(postgres: str, template: str) -> Iterator[str]:
    with new_database(postgres, template=template) as conninfo:
        create_and_audit(conninfo, "create table customer (id int primary key, name text)", CONFIG)
        with psycopg.connect(conninfo, autocommit=True) as conn:
            conn.execute("insert into customer values (1, 'Ann'), (2, 'Bob')")
            conn.execute("set session_replication_role = replica")
            conn.execute("update customer set name = 'Anne' where id = 1")
            conn.execute("delete from customer where id = 2; insert into customer values (3, 'Cem')")
            conn.execute("reset session_replication_role")
            conn.execute("select set_config('svc.actor_id', 'mara', false)")
            audit.reconcile(conn, CONFIG, repair=True)
        yield conninfo


@pytest.fixture(scope="module")
def client(installed: str) -> Iterator[httpx.Client]:
    with serving_installed(Console(settings(database_url=installed), config=CONFIG)) as client:
        yield client


@pytest.fixture
def reader(client: httpx.Client) -> Browser:
    return signed_in(client, "read")


def test_a_record_that_differed_says_that_nobody_is_known(reader: Browser) -> None:
    page = unescape(reader.get("/audit/records/public.customer/1").text)
    assert "found <b><bdi>name</bdi></b> changed" in page
    assert UNKNOWN in page
    past = unescape(reader.get("/audit/records/public.customer/1/as-of").text)
    assert ">not known</" in past
    assert "as it was when capture began" not in past


def test_a_record_that_was_gone_says_that_nobody_is_known(reader: Browser, installed: str) -> None:
    page = unescape(reader.get("/audit/records/public.customer/2").text)
    assert "no longer found the record" in page
    assert "The record was found gone" in page
    with psycopg.connect(installed) as conn:
        [entry] = audit.query().operation("GONE").list(conn).data
    page = unescape(reader.get(f"/audit/entries/{entry.id}").text)
    assert "a comparison with the table" in page
    assert UNKNOWN in page
    assert "Bob" in page
    assert "Take back as SQL" not in page


def test_a_record_that_was_missing_says_that_nobody_is_known(reader: Browser) -> None:
    page = unescape(reader.get("/audit/records/public.customer/3").text)
    assert "found the record, which the log did not have" in page
    assert "a comparison with the table" in page
    assert UNKNOWN in page
    assert "Cem" in page


def test_the_list_names_the_comparison_and_who_asked_for_it(reader: Browser) -> None:
    listed = unescape(reader.get("/audit").text)
    assert listed.count("a comparison with the table") >= 2
    assert "audit log reconciled" in listed
    assert "mara" in listed

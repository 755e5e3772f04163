"""The bar of the audit log: a question as text, and the filters of the address, are the same question."""

import re
from collections.abc import Iterator
from html import unescape
from urllib.parse import parse_qs, quote, urlsplit

import httpx
import psycopg
import pytest

from svc_pg import Config, audit
from svc_pg.console import Console
from tests.integration.console.browsing import HOSTILE, Browser, Document, assert_strict, signed_in
from tests.integration.console.serving import serving_installed, settings
from tests.support.postgres import new_database
from tests.support.tables import add_entry, create_and_audit

CONFIG = Config()
CONFIG.audit.table("public.orders")
DDL = "create table orders (id int primary key, item text);"
QUESTION = 'actor:mara severity:critical 1h table:public.orders "tent"'
FILTERS = {
    "actor": ["mara"],
    "severity": ["critical"],
    "since": ["1h"],
    "resource": ["public.orders"],
    "text": ['"tent"'],
}


@pytest.fixture(scope="module")
def installed(postgres: str, template: str) -> Iterator[str]:
    with new_database(postgres, template=template) as conninfo:
        create_and_audit(conninfo, DDL, CONFIG)
        with psycopg.connect(conninfo) as conn:
            for actor, severity in (("mara", "critical"), ("mara", "low"), ("jonas", "critical")):
                with audit.actor(conn, actor):
                    add_entry(conn, "public.orders", "UPDATE", record_id="1", severity=severity, description="a tent")
        yield conninfo


@pytest.fixture(scope="module")
def client(installed: str) -> Iterator[httpx.Client]:
    with serving_installed(Console(settings(database_url=installed), config=CONFIG)) as client:
        yield client


@pytest.fixture
def reader(client: httpx.Client) -> Browser:
    return signed_in(client, "read")


@pytest.fixture
def writer(client: httpx.Client) -> Browser:
    return signed_in(client, "write")


def ask(reader: Browser, question: str, rest: str = "") -> httpx.Response:
    return reader.ask("GET", f"/audit?q={quote(question)}{rest}")


def in_bar(page: httpx.Response) -> str:
    """The question that the bar shows."""
    [found] = [
        tag for tag in Document(page.text).tags if tag[0] == "input" and tag[1].get("name") == "q" and "dir" in tag[1]
    ]
    return found[1]["value"] or ""


def links_to_entries(page: httpx.Response) -> set[str]:
    return {link for link in Document(page.text).values("href") if re.search(r"/audit/entries/\d+$", link)}


def test_a_question_leads_to_the_address_with_its_filters_which_shows_it_again(reader: Browser) -> None:
    answer = ask(reader, QUESTION, "&view=rows&cursor=gone")
    assert answer.status_code == 303
    assert parse_qs(urlsplit(answer.headers["location"]).query) == {**FILTERS, "view": ["rows"]}
    page = reader.ask("GET", answer.headers["location"])
    assert page.status_code == 200
    assert in_bar(page) == 'table:public.orders actor:mara severity:critical show:rows 1h "tent"'
    assert len(links_to_entries(page)) == 1
    again = ask(reader, in_bar(page))
    assert parse_qs(urlsplit(again.headers["location"]).query) == {**FILTERS, "view": ["rows"]}
    again = ask(reader, in_bar(page).replace("show:rows", "show:transactions"))
    assert '"tent"' in in_bar(reader.ask("GET", again.headers["location"]))
    assert "show:" not in in_bar(reader.ask("GET", again.headers["location"]))


def test_what_stands_on_the_page_keeps_the_rows_and_a_file_has_them_not_in_its_question(writer: Browser) -> None:
    page = writer.get("/audit?actor=mara&severity=critical&view=rows")
    here = [link for link in Document(page.text).values("href") if re.search(r"/audit\?", link)]
    [switch] = [link for link in here if "actor=mara" in link and "view" not in link and "format" not in link]
    assert len(here) > 3
    assert parse_qs(urlsplit(switch).query) == {"actor": ["mara"], "severity": ["critical"]}
    exported = writer.get("/audit/export?actor=mara&format=csv")
    assert 'filename="audit-log-actor-mara.csv"' in exported.headers["content-disposition"]


def test_facets_and_fields_show_their_question_in_the_bar(reader: Browser) -> None:
    page = reader.get("/audit?actor=mara&notOperation=UPDATE&minSeverity=high")
    assert in_bar(page) == "actor:mara -operation:UPDATE min-severity:high"
    assert in_bar(reader.get("/audit")) == ""
    assert reader.get("/audit?q=").url.query == b""


@pytest.mark.parametrize(
    ("question", "rest", "said"),
    [
        ("aktor:mara", "", "There is no key aktor."),
        ("actor:a actor:b", "", "actor: is given twice"),
        ('"tent', "", "A quote is not closed"),
        ("actor:mara", "&actor=jonas", "The address has the filter actor and the question has it too."),
        ("x" * 20_000, "", "The question has 20,000 characters"),
        ("word " * 400, "", "A question has up to 60 keys and words."),
        ("a\0b", "", "NUL"),
    ],
)
def test_what_the_bar_does_not_understand_stays_in_it_with_what_is_wrong(
    reader: Browser, question: str, rest: str, said: str
) -> None:
    page = ask(reader, question, rest)
    assert page.status_code == 422
    assert said in unescape(page.text)
    assert in_bar(page) == question[:2000].replace("\0", "")
    assert len(page.content) < 100_000


@pytest.mark.parametrize("text", HOSTILE)
def test_a_hostile_question_stays_a_text(reader: Browser, text: str) -> None:
    for question in (text, f"{text}:x", f'actor:"{text}', f"aktor:{text}", f"actor:{text.replace(' ', '')}"):
        page = reader.get(f"/audit?q={quote(question)}")
        assert page.status_code in (200, 422)
        assert_strict(page.text)
        assert "<script>alert" not in page.text


def test_a_question_beside_other_filters_adds_to_them(reader: Browser) -> None:
    answer = ask(reader, "severity:critical", "&actor=jonas")
    assert parse_qs(urlsplit(answer.headers["location"]).query) == {"actor": ["jonas"], "severity": ["critical"]}


def offered(reader: Browser, text: str) -> list[str]:
    page = reader.ask("GET", f"/audit/offers?q={quote(text)}")
    assert page.status_code == 200
    assert_strict(page.text)
    return [*Document(page.text).values("data-text")]


def test_completion_offers_keys_then_values_of_the_log(reader: Browser) -> None:
    assert offered(reader, "severity:critical act") == ["severity:critical actor:"]
    assert offered(reader, "severity:critical actor:m") == ["severity:critical actor:mara "]
    assert offered(reader, "-actor:mara,j") == ["-actor:mara,jonas "]
    assert offered(reader, "table:ord") == ["table:public.orders "]
    assert offered(reader, "aktor:m") == []
    assert offered(reader, "x" * 20_000) == []
    assert offered(reader, "actor:" + "x" * 1_000) == []


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_texts_are_completed_as_texts(reader: Browser, text: str) -> None:
    for question in (text, f"{text}:x", f'actor:"{text}', f"actor:{text}\0"):
        offered(reader, question)

"""The pages of the past: a record then and now, a transaction, and the SQL that takes changes back."""

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import httpx
import psycopg
import pytest

from svc_pg import Config, audit
from svc_pg.console import Console
from svc_pg.console.http.requests import Problem
from tests.integration.console.browsing import HOSTILE, Browser, Document, assert_strict, signed_in
from tests.integration.console.serving import serving_installed, settings
from tests.support.long_record import lengthen
from tests.support.postgres import new_database
from tests.support.tables import create_and_audit

CONFIG = Config()
CONFIG.audit.table("public.customer", redact={"secret": "remove", "card": "last4"})
CONFIG.audit.table("public.note")
CONFIG.audit.table("public.keyless")
DDL = """
create table customer (id text primary key, email text, card text, secret text, credit numeric, old text);
create table note (id int primary key, body text);
create table keyless (body text);
"""
BIG = "x" * 30_000


def act(conn: psycopg.Connection[Any], actor: str, *statements: str) -> None:
    with conn.transaction(), audit.actor(conn, actor):
        for statement in statements:
            conn.execute(statement)


@pytest.fixture(scope="module")
def installed(postgres: str, template: str) -> Iterator[str]:
    with new_database(postgres, template=template) as conninfo:
        create_and_audit(conninfo, DDL, CONFIG)
        with psycopg.connect(conninfo) as conn:
            act(conn, "ann", "insert into customer values ('a/7', 'ines@mail.example', '4242424242424242', 's', 1.10)")
            act(
                conn,
                "bob",
                "update customer set email = 'ines@studio.example', secret = 't', card = '5555444433331881'",
            )
            act(conn, "eve", "update customer set credit = 2.50", "insert into note values (1, 'asked by phone')")
            act(conn, "ann", "insert into note values (2, 'gone')", "delete from note where id = 2")
            act(conn, "ann", f"insert into note values (3, '{BIG}')")
            act(conn, "ann", "delete from note where id = 3", "insert into keyless values ('x')")
            for number, text in enumerate(HOSTILE):
                with conn.transaction(), audit.actor(conn, text):
                    conn.execute("insert into customer values (%s, %s)", (text, text))
                    conn.execute("update customer set email = %s, old = %s where id = %s", (text + "!", number, text))
        yield conninfo


@pytest.fixture(scope="module")
def client(installed: str) -> Iterator[httpx.Client]:
    with serving_installed(Console(settings(database_url=installed), config=CONFIG)) as client:
        yield client


@pytest.fixture
def reader(client: httpx.Client) -> Browser:
    return signed_in(client, "read")


def entry_of(conninfo: str, condition: str) -> tuple[str, str, str]:
    """The id, the transaction and the time of the entry for which a condition is true."""
    with psycopg.connect(conninfo) as conn:
        found = conn.execute(
            "select id::text, xact_id::text, to_char(timestamp at time zone 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.USZ')"
            f" from svc.audit_logs where {condition}"
        ).fetchall()
    [(entry_id, xact_id, time)] = found
    return entry_id, xact_id, time


def links(page: httpx.Response) -> list[str]:
    """The addresses below /ui that a page leads to."""
    found = [str(dict(attributes).get("href")) for tag, attributes in Document(page.text).tags if tag == "a"]
    return [link.partition("/ui")[2] for link in found if "/ui" in link]


RECORD = "/audit/records/public.customer/a%2F7"


def test_a_record_is_shown_as_it_is_and_who_set_each_field(reader: Browser, installed: str) -> None:
    assert f"{RECORD}/as-of" in links(reader.get(RECORD))
    page = reader.get(f"{RECORD}/as-of")
    assert page.status_code == 200
    assert_strict(page.text)
    assert "As it is now" in page.text
    rows = dict(row.split("</bdi></th>", 1) for row in page.text.split('<th scope="row"><bdi>')[1:])
    assert "ines@studio.example" in rows["email"]
    assert "bob" in rows["email"]
    assert "2.50" in rows["credit"]
    assert "eve" in rows["credit"]
    assert "redacted" in rows["secret"]
    assert "bob" in rows["secret"]
    assert "1881" in rows["card"]
    assert "Redacted before it was stored" in rows["card"]
    assert "not set" in rows["old"]
    credit, _, _ = entry_of(installed, "after_data ->> 'credit' = '2.50'")
    assert f"/audit/entries/{credit}" in links(page)
    assert "No earlier change" not in page.text


def test_each_change_leads_to_the_state_before_and_after_it(reader: Browser, installed: str) -> None:
    times = [
        entry_of(installed, f"table_name = 'public.customer' and record_id = 'a/7' and {what}")[2]
        for what in ("operation = 'INSERT'", "changed_fields @> '{email}'", "changed_fields = '{credit}'")
    ]
    at = [f"{RECORD}/as-of?time={quote(time)}" for time in times]
    page = reader.get(f"{RECORD}/as-of")
    [before] = [link for link, text in anchors(page) if "Earlier" in text]
    assert before == at[1]
    page = reader.get(at[0])
    assert "No earlier change is in the log" in page.text
    assert [link for link, text in anchors(page) if "Later" in text] == [at[1]]
    assert f"{RECORD}/as-of" in links(page)
    assert "ines@<del>mail</del>.example" in page.text
    assert "ines@<ins>studio</ins>.example" in page.text
    assert "fields are different now" in page.text
    assert [link for link in links(page) if "time=" in link][-3:] == at  # without a script, and for the slider
    [slider] = [attributes for _, attributes in Document(page.text).tags if "data-slide" in attributes]
    assert (slider["min"], slider["max"], slider["value"]) == ("0", "2", "0")


def anchors(page: httpx.Response) -> list[tuple[str, str]]:
    """The address below /ui and the markup of each link."""
    parts = [part.partition("</a>")[0] for part in page.text.split("<a ")[1:]]
    return [(part.partition("/ui")[2].partition('"')[0].replace("&amp;", "&"), part) for part in parts]


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("time=2020-01-01", "The log does not reach so far back"),
        ("time=2020-01-01T12:00", "The log does not reach so far back"),
        ("time=0001-01-01T00:00:00%2B14:00", "That is no time"),
        ("time=9999-12-31T23:59:59.999999Z", "As it is now"),
        ("time=99999999y", "That is no time"),
        ("time=soon", "That is no time"),
        ("time=%3Cb%3E", "That is no time"),
        ("time=", "As it is now"),
    ],
)
def test_a_time_that_cannot_be_shown_says_why_and_leaves_a_way_on(reader: Browser, query: str, said: str) -> None:
    page = reader.get(f"{RECORD}/as-of?{query}")
    assert page.status_code == 200
    assert said in page.text
    assert 'type="datetime-local"' in page.text
    assert_strict(page.text)


def test_a_record_that_is_gone_was_not_there_or_is_unknown_is_said(reader: Browser, installed: str) -> None:
    page = reader.get("/audit/records/note/2/as-of")
    assert (page.status_code, "It was not there then" in page.text) == (200, True)
    _, _, born = entry_of(installed, "table_name = 'public.note' and record_id = '2' and operation = 'INSERT'")
    page = reader.get(f"/audit/records/note/2/as-of?time={quote(born)}")
    assert "it is gone now" in page.text
    assert "gone</bdi></td>" in page.text
    assert "Set last" not in page.text
    unknown = reader.get("/audit/records/note/99/as-of")
    assert (unknown.status_code, "No entry is about this record" in unknown.text) == (404, True)
    for table in ("keyless", "nowhere", "a.b.c", "svc.tenants"):
        assert reader.get(f"/audit/records/{table}/1/as-of").status_code == 404
    assert "/as-of" not in reader.get("/audit/records/svc.tenants/1").text


def test_what_was_erased_is_said_and_nothing_of_it_is_shown(reader: Browser, installed: str) -> None:
    with psycopg.connect(installed) as conn:
        act(conn, "ann", "insert into note values (70, 'of Bob')", "update note set body = 'Bob again' where id = 70")
    born, xact_id, time = entry_of(installed, "record_id = '70' and operation = 'INSERT'")
    with psycopg.connect(installed) as conn:
        audit.erase(conn, "note", 70)
    changed, _, _ = entry_of(installed, "record_id = '70' and operation = 'UPDATE'")
    for path in (f"/audit/entries/{born}", f"/audit/entries/{changed}"):
        page = reader.get(path)
        assert "What it showed was erased" in page.text
        assert "Whole snapshot" not in page.text
        assert "Bob" not in page.text
    page = reader.get("/audit/records/note/70")
    assert page.text.count("what it showed was erased") == 2
    assert "What the log knew of it was erased." in page.text
    for path in ("/audit/records/note/70/as-of", f"/audit/records/note/70/as-of?time={quote(time)}"):
        page = reader.get(path)
        assert page.status_code == 200
        assert "erased</span></td>" in page.text
        assert "Bob" not in page.text
    for path in (f"/audit/entries/{born}/revert", f"/audit/transactions/{xact_id}/revert"):
        assert "is erased." in reader.get(path).text


def test_a_history_in_which_nobody_is_found_in_time_costs_nothing_else(
    reader: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def late(*_: object, **__: object) -> None:
        raise Problem(503, "database_timeout")

    monkeypatch.setattr("svc_pg.console.built_in.audit_past.ablame", late)
    page = reader.get(f"{RECORD}/as-of")
    assert "took too long to find" in page.text
    assert "ines@studio.example" in page.text
    assert "Set last" not in page.text


def test_a_page_says_since_when_a_field_has_not_changed_if_it_looked_no_further(
    reader: Browser, installed: str
) -> None:
    with psycopg.connect(installed) as conn:
        act(conn, "bob", "insert into note values (50, 'b')")
        lengthen(conn, "note", "50", "body")
    page = reader.get("/audit/records/note/50/as-of")
    assert page.text.count(">not since ") == 1
    assert "older ones were not looked at" in page.text
    assert "bob" not in page.text.partition("<tbody>")[2].partition("</table>")[0]


def test_a_transaction_has_all_that_it_changed(reader: Browser, installed: str) -> None:
    credit, xact_id, _ = entry_of(installed, "after_data ->> 'credit' = '2.50'")
    assert f"/audit/transactions/{xact_id}" in links(reader.get(f"/audit/entries/{credit}"))
    page = reader.get(f"/audit/transactions/{xact_id}")
    assert "2 changes in 2 tables by <bdi>eve</bdi>" in page.text
    [sentence] = re.findall(r'aria-label="In a sentence">(.*?)</section>', page.text, re.DOTALL)
    assert "<b><bdi>eve</bdi></b>" in sentence
    assert f"/audit/entries/{credit}" in links(page)
    assert f"/audit/transactions/{xact_id}/revert" in links(page)
    for unknown in ("0", "x", "1e3", "9" * 40):
        assert reader.get(f"/audit/transactions/{unknown}").status_code == 404


def test_a_transaction_shows_the_values_that_it_changed_page_by_page(reader: Browser, installed: str) -> None:
    with psycopg.connect(installed) as conn:
        conn.execute("insert into note select n, 'a b' from generate_series(1000, 1059) n")
        conn.commit()
        conn.execute("update note set body = 'a c' where id >= 1000")
        [(xact_id,)] = conn.execute("select pg_current_xact_id()::text").fetchall()
    page = reader.get(f"/audit/transactions/{xact_id}")
    shown = page.text.count("a <del>b</del>")
    assert shown == page.text.count("a <ins>c</ins>") > 0
    [following] = [link for link, text in anchors(page) if "Later" in text]
    later = reader.get(following)
    assert later.status_code == 200
    assert shown + later.text.count("a <del>b</del>") == 60
    assert len(page.content) < 250 * 1024


def test_two_states_of_a_record_stand_beside_each_other(reader: Browser, installed: str) -> None:
    first, second, third = (
        entry_of(installed, f"table_name = 'public.customer' and record_id = 'a/7' and {what}")[2]
        for what in ("operation = 'INSERT'", "changed_fields @> '{email}'", "changed_fields = '{credit}'")
    )
    page = reader.get(f"{RECORD}/as-of?time={quote(first)}&with={quote(second)}")
    assert page.status_code == 200
    assert_strict(page.text)
    assert "ines@<del>mail</del>.example" in page.text
    assert "2.50<" not in page.text
    assert "Set last" not in page.text
    assert [link for link in links(page) if f"time={quote(third)}" in link and f"with={quote(second)}" in link]
    assert "That is no time" in reader.get(f"{RECORD}/as-of?with=x").text
    assert "not there at" in reader.get(f"{RECORD}/as-of?time={quote(first)}&with=2020-01-01").text


def test_the_sql_that_takes_a_change_back_is_there_to_read_copy_and_save(reader: Browser, installed: str) -> None:
    credit, xact_id, _ = entry_of(installed, "after_data ->> 'credit' = '2.50'")
    assert f"/audit/entries/{credit}/revert" in links(reader.get(f"/audit/entries/{credit}"))
    for place, what in ((f"entries/{credit}", f"entry {credit}"), (f"transactions/{xact_id}", "transaction")):
        page = reader.get(f"/audit/{place}/revert")
        assert_strict(page.text)
        assert f"Takes back {what}" in page.text
        assert page.text.count('data-copy="#sql"') == 2
        file = reader.get(f"/audit/{place}/revert.sql")
        assert file.headers["content-disposition"].endswith('.sql"')
        assert file.text.startswith("-- Takes back")
    big, _, _ = entry_of(installed, "record_id = '3' and operation = 'DELETE'")
    page = reader.get(f"/audit/entries/{big}/revert")
    assert "The first 20,000 of" in page.text
    assert "data-copy" not in page.text.partition("<main")[2]  # it would copy the beginning alone
    assert 'data-copy="#snap-before"' not in reader.get(f"/audit/entries/{big}").text
    assert BIG in reader.get(f"/audit/entries/{big}/revert.sql").text


def test_what_cannot_be_taken_back_is_said_with_what_is_in_the_way(reader: Browser, installed: str) -> None:
    changed, _, _ = entry_of(installed, "record_id = 'a/7' and changed_fields @> '{email}'")
    page = reader.get(f"/audit/entries/{changed}/revert")
    assert page.status_code == 200
    assert "The value of secret of public.customer a/7 is redacted" in page.text
    assert "data-copy" not in page.text.partition("<main")[2]
    page = reader.get(f"/audit/entries/{changed}/revert?leave=secret&leave=card")
    assert "Takes back entry" in page.text
    assert page.text.count(" checked>") == 2
    begun, _, _ = entry_of(installed, "record_id = '2' and operation = 'INSERT'")
    ended, _, _ = entry_of(installed, "record_id = '2' and operation = 'DELETE'")
    assert f"/audit/entries/{ended}" in links(reader.get(f"/audit/entries/{begun}/revert"))
    assert reader.get("/audit/entries/0/revert").status_code == 404
    for unknown in ("0", "abc"):
        assert reader.get(f"/audit/transactions/{unknown}/revert").status_code == 404
    keyless, _, _ = entry_of(installed, "table_name = 'public.keyless'")
    assert f"/audit/entries/{keyless}/revert" not in links(reader.get(f"/audit/entries/{keyless}"))


def test_an_update_is_a_json_patch_to_copy(reader: Browser, installed: str) -> None:
    credit, _, _ = entry_of(installed, "after_data ->> 'credit' = '2.50'")
    assert "replace&#34;" in reader.get(f"/audit/entries/{credit}").text
    patch = reader.get(f"/audit/entries/{credit}/patch.json")
    assert patch.text == '[{"op":"replace","path":"/credit","value":2.50}]'


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_values_stay_texts(reader: Browser, installed: str, text: str) -> None:
    with psycopg.connect(installed) as conn:
        [(entry_id, xact_id)] = conn.execute(
            "select id, xact_id from svc.audit_logs where record_id = %s and operation = 'UPDATE'", [text]
        ).fetchall()
    for path in (
        f"/audit/records/public.customer/{quote(text, safe='')}/as-of",
        f"/audit/records/public.customer/{quote(text, safe='')}/as-of?time={quote(text)}",
        f"/audit/records/{quote(text, safe='')}/{quote(text, safe='')}/as-of",
        f"/audit/entries/{entry_id}",
        f"/audit/entries/{entry_id}/revert",
        f"/audit/entries/{entry_id}/revert?leave={quote(text)}",
        f"/audit/transactions/{xact_id}",
        f"/audit/transactions/{xact_id}/revert",
    ):
        page = reader.get(path)
        assert page.status_code in (200, 404), path
        assert_strict(page.text)
        assert "<script>alert" not in page.text
        assert "onerror=alert(1)>" not in page.text

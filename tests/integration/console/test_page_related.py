"""A record with the rows that refer to it, over HTTP and as a page; the records of a transaction before and after."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

import httpx
import psycopg
import pytest

from svc_pg import Config, audit
from svc_pg.console import Console
from svc_pg.console.sign_in import api_tokens
from svc_pg.database.pagination import encode
from tests.integration.console.browsing import HOSTILE, Browser, assert_strict, signed_in
from tests.integration.console.serving import assert_problem, bearer, serving_installed, settings
from tests.support.postgres import new_database
from tests.support.tables import create_and_audit

CONFIG = Config()
CONFIG.audit.table("public.customer")
CONFIG.audit.table("public.orders", record_reads=True)
CONFIG.audit.table("public.wide", redact=["c1"])
WIDE = ", ".join(f"c{n} text" for n in range(100))
DDL = f"""
create table customer (id int primary key, name text);
create table orders (id int primary key, customer_id int references customer, status text);
create table wide (id text primary key, customer_id int references customer, {WIDE});
create table unseen (id int primary key, customer_id int references customer);
"""
RELATED = "/audit/records/customer/116/related"
PAGE_BYTES = 250 * 1024


@pytest.fixture(scope="module")
def installed(postgres: str, template: str) -> Iterator[str]:
    with new_database(postgres, template=template) as conninfo:
        create_and_audit(conninfo, DDL, CONFIG)
        with psycopg.connect(conninfo) as conn:
            act(conn, "ann", "insert into customer values (116, 'Ann'), (117, 'Ben')", tenant="acme")
            act(conn, "ann", "insert into orders values (1, 116, 'new'), (2, 116, 'new')", tenant="acme")
            act(conn, "jonas", "update orders set status = 'secret of globex' where id = 1", tenant="globex")
            act(conn, "bob", "update orders set customer_id = 117 where id = 1", "delete from orders where id = 2")
            act(conn, "bob", "insert into customer values (200, 'Cem')")
            act(conn, "ann", "insert into customer values (300, 'Dan')", tenant="acme")
            act(conn, "jonas", *["update customer set name = 'globex' || name where id = 300"] * 210, tenant="globex")
            for n in range(40):
                with conn.transaction(), audit.actor(conn, HOSTILE[n % len(HOSTILE)]):
                    values = [f"{HOSTILE[n % len(HOSTILE)]}{n}", *[HOSTILE[n % len(HOSTILE)] * 20] * 100]
                    conn.execute(f"insert into wide values (%s, 200{', %s' * 100})", values)
        yield conninfo


def act(conn: psycopg.Connection[Any], actor: str, *statements: str, tenant: str | None = None) -> None:
    with conn.transaction(), audit.actor(conn, actor, tenant=tenant):
        for statement in statements:
            conn.execute(statement)


@pytest.fixture(scope="module")
def client(installed: str) -> Iterator[httpx.Client]:
    with serving_installed(Console(settings(database_url=installed), config=CONFIG)) as client:
        client.headers.update(bearer("read"))
        yield client


@pytest.fixture
def reader(client: httpx.Client) -> Browser:
    return signed_in(client, "read")


def related(client: httpx.Client, path: str = RELATED, **query: Any) -> Any:
    response = client.get(path, params=query)
    assert response.status_code == 200, response.text
    return response.json()


def test_changes_over_tables_come_in_one_answer(client: httpx.Client) -> None:
    found = related(client, time="first", otherTime="last")
    assert [(each["table"], each["recordId"], each["operation"]) for each in found["changes"]] == [
        ("public.orders", "2", "DELETE"),
        ("public.orders", "1", "UPDATE"),
        ("public.orders", "1", "UPDATE"),
        ("public.orders", "2", "INSERT"),
        ("public.orders", "1", "INSERT"),
        ("public.customer", "116", "INSERT"),
    ]
    assert [each["leaves"] for each in found["changes"]] == [False, True, False, False, False, False]
    assert [actor["actorId"] for actor in found["actors"]] == ["bob", "jonas", "ann"]
    states = [[(each["state"], each["belongs"]) for each in at["states"]] for at in found["states"]]
    assert states[1] == [("there", True), ("not_there", False), ("there", False)]
    assert {(each["table"], each["reach"]) for each in found["tables"]} == {
        ("public.orders", "whole"),
        ("public.wide", "whole"),
        ("public.unseen", "not_audited"),
    }


def test_a_session_of_a_tenant_has_its_own_changes_alone(installed: str, client: httpx.Client) -> None:
    with psycopg.connect(installed) as conn:
        made = {name: api_tokens.add(conn, name, permission="read", tenant=name).token for name in ("acme", "nobody")}
        conn.commit()
    headers = {name: {"Authorization": f"Bearer {token}"} for name, token in made.items()}
    found = client.get(RELATED, headers=headers["acme"])
    assert [actor["actorId"] for actor in found.json()["actors"]] == ["ann"]
    assert len(found.json()["changes"]) == 3
    assert "globex" not in found.text
    assert "unseen" not in found.text, "what is not audited is none of its business"
    assert {each["lookedAt"] for each in found.json()["tables"]} == {None}
    part = client.get(RELATED, params={"limit": 1}, headers=headers["acme"]).json()
    older = client.get(RELATED, params={"limit": 1, "cursor": part["nextCursor"]}, headers=headers["acme"]).json()
    assert [each["recordId"] for each in older["changes"]] == ["1"]
    stolen = client.get(RELATED, params={"cursor": part["nextCursor"]}, headers=bearer("read"))
    assert_problem(stolen, 422, "invalid_parameter")
    assert_problem(client.get(RELATED, headers=headers["nobody"]), 404, "unknown_record")
    states = client.get(RELATED, params={"time": "last", "otherTime": "1s"}, headers=headers["acme"])
    assert "secret of globex" not in states.text
    assert {each["table"] for each in found.json()["tables"]} == {"public.orders"}, "it has nothing in public.wide"
    busy = client.get("/audit/records/customer/300/related", headers=headers["acme"]).json()
    assert (len(busy["changes"]), busy["nextCursor"]) == (1, None), "however many are of others"
    assert_problem(client.get("/audit/records/customer/300/related", headers=headers["nobody"]), 404, "unknown_record")


@pytest.mark.parametrize(
    "query",
    [
        "limit=0",
        "limit=101",
        "steps=3",
        "time=x",
        "cursor=x",
        "actor=ann",
        "otherTime=first%00",
        "time=0001-01-01T00:00:00%2B14:00",
    ],
)
def test_parameters_that_cannot_be_are_refused(client: httpx.Client, query: str) -> None:
    assert_problem(client.get(f"{RELATED}?{query}"), 422, "invalid_parameter")


def test_each_record_that_is_shown_is_on_record_as_read(installed: str, client: httpx.Client) -> None:
    def reads(key: str) -> int:
        with psycopg.connect(installed) as conn:
            return len(audit.reads("orders", key).list(conn).data)

    before = reads("1"), reads("2")
    related(client)
    assert (reads("1"), reads("2")) == (before[0] + 1, before[1] + 1)
    with psycopg.connect(installed) as conn:
        audit.related("customer", 116).read(conn)
        conn.commit()
    assert (reads("1"), reads("2")) == (before[0] + 2, before[1] + 2)
    related(client, "/audit/records/customer/200/related")
    assert (reads("1"), reads("2")) == (before[0] + 2, before[1] + 2), "what was looked at and not shown is not"


def test_the_page_shows_one_time_line_and_any_two_times(client: httpx.Client, reader: Browser) -> None:
    page = reader.get(RELATED)
    assert page.status_code == 200
    assert_strict(page.text)
    for words in ("refers to another one from then on", "is not audited", "of another record", "not there"):
        assert words in page.text, words
    assert page.text.count('title="customer 116"><bdi>customer</bdi> <bdi>Ann</bdi></a>') == 2, "by name, in both lists"
    found = related(client)
    created, moved = found["changes"][-2]["time"], found["changes"][1]["time"]
    query = urlencode({"time": created, "with": moved})
    two = " ".join(reader.get(f"{RELATED}?{query}").text.split())
    assert "<i><bdi>status</bdi></i> <bdi>new</bdi>" in two
    assert "<i><bdi>customer_id</bdi></i> <bdi>117</bdi>" in two
    swapped = reader.get(f"{RELATED}?{urlencode({'time': moved, 'with': created})}").text
    assert swapped.count('class="was"') == two.count('class="was"')
    assert "That is no time" in reader.get(f"{RELATED}?time=nonsense").text
    assert "There are none at this place" in reader.get(f"{RELATED}?cursor={_oldest(client)}").text


def _oldest(client: httpx.Client) -> str:
    cursor = related(client, limit=1)["nextCursor"]
    while (found := related(client, limit=1, cursor=cursor))["nextCursor"]:
        cursor = found["nextCursor"]
    last = found["changes"][0]
    return encode((last["time"], last["entryId"]))


def test_the_tabs_of_a_record_lead_there(reader: Browser) -> None:
    assert "/audit/records/public.customer/116/related" in reader.get("/audit/records/public.customer/116").text


def test_a_record_that_the_log_does_not_know_has_none(client: httpx.Client, reader: Browser) -> None:
    assert_problem(client.get("/audit/records/customer/9/related"), 404, "unknown_record")
    assert_problem(client.get("/audit/records/svc.webhook_endpoints/9/related"), 404, "unknown_table")
    page = reader.get("/audit/records/customer/9/related")
    assert page.status_code == 404
    assert "The log knows no such record" in page.text


def test_wide_and_hostile_records_stay_within_the_bytes_of_a_page(client: httpx.Client, reader: Browser) -> None:
    path = "/audit/records/customer/200/related"
    page = reader.get(path)
    assert page.status_code == 200
    assert_strict(page.text)
    assert len(page.content) < PAGE_BYTES
    found = related(client, path, limit=100, time="last", otherTime="first")
    assert (len(found["records"]), found["recordCount"]) == (40, 41), "one record is told of by number alone"
    wide = next(each for each in found["states"][0]["states"] if each["state"] == "there" and each["record"])
    assert (len(wide["fields"]), wide["fieldCount"]) == (60, 102)
    hidden = next(each for each in wide["fields"] if each["field"] == "c1")
    assert hidden["value"]["state"] == "hidden"


def test_a_transaction_leads_to_the_states_before_and_after_it(client: httpx.Client, reader: Browser) -> None:
    moved = related(client)["changes"][1]
    text = reader.get(f"/audit/transactions/{moved['xactId']}").text
    assert "Just before and just after" in text
    before, after, both = _links(text, "/audit/records/public.orders/1/as-of?")
    assert "116" in reader.get(before).text
    assert "117" in reader.get(after).text
    assert "fields is different" in reader.get(both).text
    was, gone, _ = _links(text, "/audit/records/public.orders/2/as-of?")
    assert reader.get(was).status_code == 200
    assert "It was not there then" in reader.get(gone).text


def _links(page: str, path: str) -> list[str]:
    """The addresses of links whose path begins so."""
    found = [part.split('"')[0].replace("&amp;", "&") for part in page.split('href="') if path in part.split('"')[0]]
    return [each[each.index("/audit/") :] for each in found]

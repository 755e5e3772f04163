"""The past over HTTP: states, blame, rows as of a time, differences, and the SQL that takes changes back."""

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import httpx
import psycopg
import pytest

from svc_pg import Config, audit, schema
from svc_pg.console import Console
from tests.integration.console.serving import assert_problem, bearer, serving_installed, settings
from tests.support.hooks import endpoint
from tests.support.long_record import lengthen
from tests.support.pages import all_data
from tests.support.postgres import new_database
from tests.support.tables import create_and_audit

CONFIG = Config()
CONFIG.audit.table("public.customer", redact=["secret"])
CONFIG.audit.table("public.odd")
CONFIG.audit.table("public.silent")
DDL = """
create table customer (id int primary key, email text, credit numeric, secret text, touched timestamptz);
create table odd (a int, b text, c timestamptz, primary key (a, b));
create table silent (id int primary key);
create table unaudited (id int primary key);
"""


@pytest.fixture(scope="module")
def installed(postgres: str, template: str) -> Iterator[str]:
    with new_database(postgres, template=template) as conninfo:
        create_and_audit(conninfo, DDL, CONFIG)
        with psycopg.connect(conninfo) as conn:
            act(conn, "ann", "insert into customer values (1, 'a@x.example', 1.10, 's')")
            act(conn, "bob", "update customer set email = 'b@x.example', secret = 't' where id = 1")
            act(conn, "eve", "update customer set credit = 2.50 where id = 1", "insert into odd values (1, 'a/b')")
            act(conn, "eve", "insert into odd values (2, '<b>', 'infinity')")
            act(conn, "ann", "insert into customer values (2, 'c@x.example')", "delete from customer where id = 2")
            conn.execute("alter table customer add column later int default 7")
            conn.commit()
            schema.install(conn, CONFIG)
        yield conninfo


def act(conn: psycopg.Connection[Any], actor: str, *statements: str) -> None:
    with conn.transaction(), audit.actor(conn, actor, tenant="acme" if actor == "ann" else None):
        for statement in statements:
            conn.execute(statement)


@pytest.fixture(scope="module")
def client(installed: str) -> Iterator[httpx.Client]:
    with serving_installed(Console(settings(database_url=installed), config=CONFIG)) as client:
        client.headers.update(bearer("read"))
        yield client


def entries(client: httpx.Client, **query: Any) -> list[Any]:
    found: list[Any] = client.get("/audit/entries", params={"order": "oldest", **query}).json()["data"]
    return found


def test_the_states_of_a_record_follow_each_other_page_by_page(client: httpx.Client) -> None:
    states = all_data(client, "/audit/records/customer/1/states", limit=1)
    assert [state["actorId"] for state in states] == ["eve", "bob", "ann"]
    assert [state["validTo"] for state in states] == [None, *(state["validFrom"] for state in states[:2])]
    assert states == all_data(client, "/audit/records/public.customer/1/states", order="oldest", limit=2)[::-1]
    assert '"credit": 1.10' in client.get("/audit/records/customer/1/states").text
    [end, begin] = client.get("/audit/records/customer/2/states").json()["data"]
    assert (end["operation"], end["afterData"], begin["operation"]) == ("DELETE", None, "INSERT")


def test_each_field_tells_who_set_it_last(client: httpx.Client) -> None:
    page = client.get("/audit/records/customer/1/blame").json()
    fields = {origin["field"]: origin for origin in page["data"]}
    assert {name: origin["actorId"] for name, origin in fields.items() if name != "later"} == {
        "id": "ann",
        "touched": "ann",
        "email": "bob",
        "secret": "bob",
        "credit": "eve",
    }
    assert (fields["secret"]["isRedacted"], fields["secret"]["value"]) == (True, None)
    assert fields["email"]["value"] == "b@x.example"
    assert page["nextCursor"] is None


def test_fields_that_the_newest_entries_left_alone_follow_by_a_cursor(client: httpx.Client, installed: str) -> None:
    with psycopg.connect(installed) as conn:
        act(conn, "ann", "insert into odd values (5, 'x')")
        lengthen(conn, "odd", '[5, "x"]', "c")
    url = f"/audit/records/odd/{quote(json.dumps([5, 'x']), safe='')}/blame"
    first = client.get(url).json()
    assert {each["field"]: each["unchangedSince"] is None for each in first["data"]} == {
        "a": False,
        "b": False,
        "c": True,
    }
    second = client.get(url, params={"cursor": first["nextCursor"]}).json()
    assert [(each["field"], each["actorId"], each["unchangedSince"]) for each in second["data"]] == [
        ("a", "ann", None),
        ("b", "ann", None),
    ]
    assert second["nextCursor"] is None
    for cursor in ("x", first["nextCursor"][:-4]):
        assert_problem(client.get(url, params={"cursor": cursor}), 422, "invalid_parameter")
    assert_problem(client.get(url, params={"limit": "3"}), 422, "invalid_parameter")
    assert_problem(
        client.get("/audit/records/odd/[1]/blame", params={"cursor": first["nextCursor"]}), 422, "invalid_parameter"
    )


def test_a_record_and_a_table_are_read_as_they_were(client: httpx.Client) -> None:
    first, second, *_ = entries(client, resource="customer", record="1")
    url = "/audit/records/customer/1/as-of"
    row = client.get(url, params={"time": first["timestamp"]}).json()
    assert row["values"]["email"] == "a@x.example"
    assert (row["entryId"], row["actorId"], row["operation"]) == (first["id"], "ann", "INSERT")
    assert (row["validFrom"], row["redactedFields"]) == (first["timestamp"], ["secret"])
    assert set(row["unknownFields"]) == {"secret", "later"}
    assert client.get(url, params={"time": second["timestamp"]}).json()["values"]["email"] == "b@x.example"
    [last] = entries(client, resource="odd", record=json.dumps([2, "<b>"]))
    rows = all_data(client, "/audit/tables/odd/as-of", time=last["timestamp"], limit=1)
    assert [row["values"] for row in rows] == [
        {"a": 1, "b": "a/b", "c": None},
        {"a": 2, "b": "<b>", "c": "infinity"},  # Python has no value for it
    ]
    assert [row["recordId"] for row in rows] == ['[1, "a/b"]', '[2, "<b>"]']
    key = quote('[1, "a/b"]', safe="")
    assert client.get(f"/audit/records/odd/{key}/as-of", params={"time": last["timestamp"]}).json() == rows[0]


@pytest.mark.parametrize(
    ("address", "code"),
    [
        ("records/customer/9/states", "unknown_record"),
        ("records/customer/9/blame", "unknown_record"),
        ("records/customer/2/blame", "unknown_record"),
        ("records/a.b.c/9/states", "unknown_table"),
        ("records/a.b.c/9/blame", "unknown_table"),
        ("records/unaudited/9/as-of?time=1h", "unknown_table"),
        ("records/a.b.c/9/as-of?time=1h", "unknown_table"),
        ("records/customer/9/as-of?time={now}", "unknown_record"),
        ("records/customer/1/as-of?time=2020-01-01", "not_known_then"),
        ("tables/customer/as-of?time=100d", "not_known_then"),
        ("tables/silent/as-of?time={now}", "not_known_then"),
        ("tables/nowhere/as-of?time={now}", "unknown_table"),
        ("entries/0/diff", "unknown_entry"),
        ("entries/x/diff", "unknown_entry"),
        ("entries/0/revert", "unknown_entry"),
        ("entries/%00/revert", "unknown_entry"),
        ("transactions/0/revert", "unknown_transaction"),
        ("transactions/1e3/revert", "unknown_transaction"),
        ("transactions/999999999999999999999/revert", "unknown_transaction"),
    ],
)
def test_what_the_log_does_not_know_is_404_and_says_what(client: httpx.Client, address: str, code: str) -> None:
    [newest] = client.get("/audit/entries", params={"limit": 1}).json()["data"]
    assert_problem(client.get(f"/audit/{address.format(now=newest['timestamp'])}"), 404, code)


@pytest.mark.parametrize(
    ("address", "parameter"),
    [
        ("tables/customer/as-of", "time"),
        ("records/customer/1/as-of?time=", "time"),
        ("records/customer/1/as-of?time=soon", "time"),
        ("records/customer/1/as-of?time=2026-01-01T00:00:00", "time"),
        ("records/customer/1/as-of?time=1h&time=2h", "time"),
        ("records/customer/1/as-of?time=1h&limit=2", "limit"),
        ("tables/customer/as-of?time=1h&cursor=x", "cursor"),
        ("records/customer/1/states?cursor=x", "cursor"),
        ("records/customer/1/states?order=random", "order"),
        ("entries/1/revert?leave=%00", "leave"),
    ],
)
def test_a_value_that_cannot_be_read_is_422_and_named(client: httpx.Client, address: str, parameter: str) -> None:
    answer = client.get(f"/audit/{address}")
    assert_problem(answer, 422, "invalid_parameter")
    assert answer.json()["parameter"] == parameter


def test_a_difference_is_told_by_field_and_as_a_patch(client: httpx.Client) -> None:
    _, email, credit = entries(client, resource="customer", record="1")
    told = client.get(f"/audit/entries/{email['id']}/diff").json()
    assert told == {
        "fields": [
            {"field": "email", "before": "a@x.example", "after": "b@x.example", "isRedacted": False},
            {"field": "secret", "before": None, "after": None, "isRedacted": True},
        ],
        "patch": [{"op": "replace", "path": "/email", "value": "b@x.example"}],
    }
    assert '"value":2.50' in client.get(f"/audit/entries/{credit['id']}/diff").text


def test_the_sql_that_takes_changes_back_is_printed_and_not_run(client: httpx.Client, installed: str) -> None:
    *_, credit = entries(client, resource="customer", record="1")
    log = len(entries(client))
    by_entry = client.get(f"/audit/entries/{credit['id']}/revert").json()["sql"]
    assert f"-- Takes back entry {credit['id']}" in by_entry
    by_transaction = client.get(f"/audit/transactions/{credit['xactId']}/revert").json()["sql"]
    assert len(entries(client)) == log
    with psycopg.connect(installed) as conn:
        conn.execute(by_transaction)
        row = conn.execute(
            "select credit::text, (select count(*) from odd where a < 5) from customer where id = 1"
        ).fetchone()
        assert row == ("1.10", 1)
        conn.rollback()


def test_what_cannot_be_taken_back_is_refused_by_name(client: httpx.Client, installed: str) -> None:
    _, email, _ = entries(client, resource="customer", record="1")
    answer = client.get(f"/audit/entries/{email['id']}/revert")
    assert_problem(answer, 409, "cannot_be_reverted")
    [error] = answer.json()["errors"]
    assert error == {
        "pointer": "/public.customer/1/secret",
        "detail": "the value of secret of public.customer 1 is redacted",
        "entryId": None,
    }
    assert client.get(f"/audit/entries/{email['id']}/revert?leave=secret").status_code == 200
    assert client.get(f"/audit/entries/{email['id']}/revert?leave=secret&leave=email").status_code == 409
    with psycopg.connect(installed) as conn:
        act(conn, "eve", "insert into odd values (7, 'a/b~', null)")
        act(conn, "bob", "delete from odd where a = 7")
    begin, end = entries(client, resource="odd", record='[7, "a/b~"]')
    [error] = client.get(f"/audit/entries/{begin['id']}/revert").json()["errors"]
    assert (error["pointer"], error["entryId"]) == ('/public.odd/[7, "a~1b~0"]', end["id"])


def test_a_change_of_megabytes_is_left_to_the_command_line(
    client: httpx.Client, installed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with psycopg.connect(installed) as conn:
        act(conn, "ann", "insert into customer (id, email) values (50, repeat('x', 100000))")
    [entry] = entries(client, record="50")
    monkeypatch.setattr("svc_pg.console.built_in.audit_changes.PAGE_BYTES", 90_000)
    answer = client.get(f"/audit/entries/{entry['id']}/revert")
    assert_problem(answer, 422, "too_large")
    assert "svc-pg revert" in answer.json()["detail"]


def test_sessions_that_may_only_read_see_no_query_of_an_endpoints_url(installed: str, client: httpx.Client) -> None:
    endpoint(installed, CONFIG, "https://h.example/?token=hunter2")
    [entry] = entries(client, resource="svc.webhook_endpoints")
    below = f"/audit/records/svc.webhook_endpoints/{entry['recordId']}"
    for address in (f"{below}/states", f"{below}/blame", f"/audit/entries/{entry['id']}/diff"):
        answer = client.get(address)
        assert answer.status_code == 200
        assert "https://h.example/?hidden" in answer.text
        assert "hunter2" not in answer.text
        assert "hunter2" in client.get(address, headers=bearer("write")).text


def test_a_page_of_rows_ends_in_its_budget_with_what_it_found_and_a_cursor(
    client: httpx.Client, installed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with psycopg.connect(installed) as conn:
        act(conn, "ann", "insert into customer (id, email) select n, 'x' from generate_series(60, 69) n")
        act(conn, "ann", "delete from customer where id between 60 and 68")
    monkeypatch.setattr("svc_pg.audit.past.as_of.MOST_RECORDS", 2)
    found: list[str] = []
    sizes: list[int] = []
    asked = {"time": "2999-01-01", "limit": "5"}
    cursor = ""
    while cursor is not None:
        page = client.get("/audit/tables/customer/as-of", params=asked | ({"cursor": cursor} if cursor else {})).json()
        found += [row["recordId"] for row in page["data"]]
        sizes.append(len(page["data"]))
        cursor = page["nextCursor"]
    with psycopg.connect(installed) as conn:
        known = conn.execute('select id::text from customer order by id::text collate "C"').fetchall()
    assert set(found) <= {key for (key,) in known}
    assert found == sorted(set(found))
    assert "69" in found
    assert 0 in sizes

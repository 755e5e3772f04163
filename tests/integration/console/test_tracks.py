"""A record through time: a track for each field that changed, over HTTP and as a page."""

import asyncio
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote, urlencode

import httpx
import psycopg
import pytest

from svc_pg import Config, audit
from svc_pg.audit.past.diff import Changed, FieldDiff
from svc_pg.console import Console
from svc_pg.console.sign_in import api_tokens
from tests.integration.console.browsing import HOSTILE, Browser, assert_strict, signed_in
from tests.integration.console.serving import assert_problem, bearer, serving_installed, settings
from tests.support.long_record import lengthen
from tests.support.postgres import new_database
from tests.support.tables import create_and_audit

CONFIG = Config()
CONFIG.audit.table("public.product", redact=["cost"])
CONFIG.audit.table("public.wide")
CONFIG.audit.table("public.emptied")
WIDE = ", ".join(f"c{n} text" for n in range(200))
DDL = f"""
create table product (id text primary key, price numeric, name text, cost text, note text);
create table wide (id int primary key, {WIDE});
create table emptied (id int primary key, a int);
"""
LONG = "x" * 5_000
TRACKS = "/audit/records/product/6/tracks"
PAGE_BYTES = 250 * 1024


@pytest.fixture(scope="module")
def installed(postgres: str, template: str) -> Iterator[str]:
    with new_database(postgres, template=template) as conninfo:
        create_and_audit(conninfo, DDL, CONFIG)
        with psycopg.connect(conninfo) as conn:
            act(conn, "sync", "insert into product values ('6', 389.00, 'Ridge tent', 'a', null)")
            act(conn, "mara", "update product set price = 1.00 where id = '6'", tenant="acme")
            act(conn, "jonas", "update product set cost = 'b', note = 'secret of globex'", tenant="globex")
            act(conn, "mara", f"update product set price = 389.00, note = '{LONG}' where id = '6'", tenant="acme")
            act(conn, "mara", f"update product set note = '{LONG}y' where id = '6'")
            act(conn, "ann", "insert into product values ('old', 1, 'a', null, null)")
            act(
                conn,
                "bob",
                "update product set id = 'new' where id = 'old'",
                "update product set price = 2 where id = 'new'",
            )
            act(conn, "ann", "insert into product values ('gone', 1, 'a', null, null)")
            act(conn, "eve", "delete from product where id = 'gone'")
            act(conn, "ann", "insert into product values ('gone', 2, 'a', null, null)")
            act(conn, "ann", "insert into emptied values (1, 1)", "update emptied set a = 2", "truncate emptied")
            conn.execute("insert into wide (id) values (1)")
            for n in range(3):
                with conn.transaction(), audit.actor(conn, HOSTILE[n]):
                    values = [HOSTILE[n % len(HOSTILE)] * 20] * 200
                    sets = ", ".join(f"c{n} = %s" for n in range(200))
                    conn.execute(f"update wide set {sets}", values)
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


def token(installed: str, tenant: str) -> dict[str, str]:
    """The header of a program that may read what is of one tenant."""
    with psycopg.connect(installed) as conn:
        made = api_tokens.add(conn, tenant, permission="read", tenant=tenant).token
    return {"Authorization": f"Bearer {made}"}


def tracks(client: httpx.Client, path: str = TRACKS, **query: Any) -> Any:
    response = client.get(path, params=query)
    assert response.status_code == 200, response.text
    return response.json()


def ticks(found: Any, field: str) -> list[tuple[int, str, object]]:
    [track] = [each for each in found["fields"] if each["field"] == field]
    return [(tick["change"], tick["after"]["state"], tick["after"]["value"]) for tick in track["ticks"]]


def test_each_field_that_changed_has_its_values_from_change_to_change(client: httpx.Client) -> None:
    found = tracks(client)
    assert [actor["actorId"] for actor in found["actors"]] == ["sync", "mara", "jonas"]
    assert [change["actor"] for change in found["changes"]] == [0, 1, 2, 1, 1]
    assert ticks(found, "price") == [(0, "known", 389.00), (1, "known", 1.00), (3, "known", 389.00)]
    assert {each["field"] for each in found["fields"]} == {"price", "cost", "note"}
    assert (found["fieldCount"], found["unchangedFields"]) == (3, 2), "the id and the name stayed"
    assert "389.00" in client.get(TRACKS).text, "as the database wrote it"


def test_redacted_fields_have_ticks_and_no_values(client: httpx.Client) -> None:
    found = tracks(client)
    assert ticks(found, "cost") == [(0, "hidden", None), (2, "hidden", None)]


def test_long_values_that_begin_alike_are_told_apart(client: httpx.Client) -> None:
    [*_, first, second] = next(each for each in tracks(client)["fields"] if each["field"] == "note")["ticks"]
    assert first["after"]["beginning"] == second["after"]["beginning"] == "x" * 200
    assert first["after"]["digest"] != second["after"]["digest"]


def test_pages_have_each_change_once(client: httpx.Client) -> None:
    cursor, ids = dict[str, str](), list[str]()
    while True:
        page = tracks(client, limit=2, **cursor)
        ids = [*(change["entryId"] for change in page["changes"]), *ids]
        if page["nextCursor"] is None:
            break
        cursor = {"cursor": page["nextCursor"]}
    assert ids == [change["entryId"] for change in tracks(client)["changes"]]
    assert len(ids) == 5
    newer = tracks(client, limit=2, before=page["prevCursor"])
    assert [each["entryId"] for each in newer["changes"]] == ids[1:3]
    assert ticks(newer, "price")[0][2] == 1.00


def test_a_record_that_moved_ended_or_came_back_says_so(client: httpx.Client, reader: Browser) -> None:
    old = tracks(client, "/audit/records/product/old/tracks")["changes"][-1]
    assert (old["ends"], old["movedTo"]) == (True, "new")
    new = tracks(client, "/audit/records/product/new/tracks")
    assert new["changes"][0]["movedFrom"] == "old"
    gone = tracks(client, "/audit/records/product/gone/tracks")
    assert [change["ends"] for change in gone["changes"]] == [False, True, False]
    assert [state for _, state, _ in ticks(gone, "price")] == ["known", "not_there", "known"]
    assert [each["field"] for each in gone["fields"]] == ["price"], "what came back the same did not change"
    emptied = tracks(client, "/audit/records/emptied/1/tracks")
    assert [change["operation"] for change in emptied["changes"]] == ["INSERT", "UPDATE"]
    assert emptied["changes"][-1]["until"] is not None
    assert "its table was emptied" in reader.get("/audit/records/emptied/1/tracks").text
    assert "emptied" not in reader.get(TRACKS).text


def test_many_fields_come_in_parts(client: httpx.Client) -> None:
    path, names = "/audit/records/wide/1/tracks", list[str]()
    while True:
        found = tracks(client, path, fieldsFrom=len(names))
        names += [each["field"] for each in found["fields"]]
        if not found["fields"]:
            break
    assert sorted(names) == sorted(f"c{n}" for n in range(200))
    assert found["fieldCount"] == 200
    assert len(tracks(client, path)["fields"]) == 40


def test_values_are_written_of_fields_that_are_shown_alone_and_beside_the_loop(
    client: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[bool] = []
    real = Changed.written

    def written(change: Changed) -> FieldDiff:
        calls.append(asyncio.events._get_running_loop() is None)
        return real(change)

    monkeypatch.setattr(Changed, "written", written)
    found = tracks(client, "/audit/records/wide/1/tracks")
    assert found["fieldCount"] == 200
    assert len(calls) == sum(len(each["ticks"]) for each in found["fields"])
    assert all(calls), "in a thread without a loop"


@pytest.mark.parametrize("query", ["limit=0", "limit=101", "fieldsFrom=-1", "fieldsFrom=99999", "cursor=x", "with=1"])
def test_parameters_that_cannot_be_are_refused(client: httpx.Client, query: str) -> None:
    assert_problem(client.get(f"{TRACKS}?{query}"), 422, "invalid_parameter")


def test_the_cursor_of_another_record_leads_to_no_changes(client: httpx.Client, reader: Browser) -> None:
    cursor = tracks(client, limit=1)["nextCursor"]
    for name in ("cursor", "before"):
        query = urlencode({name: cursor})
        for record in ("product/gone", "product/new", "emptied/1", "wide/1"):
            path = f"/audit/records/{record}/tracks"
            changes, page = tracks(client, path, **{name: cursor})["changes"], reader.get(f"{path}?{query}")
            assert page.status_code == 200
            assert ("No changes are here" in page.text) is not bool(changes)
    gone = "/audit/records/emptied/1/tracks"
    empty = reader.get(f"{gone}?{urlencode({'cursor': cursor})}")
    assert not tracks(client, gone, cursor=cursor)["changes"]
    assert f'{gone.replace("emptied/", "public.emptied/")}"' in empty.text or f'{gone}"' in empty.text


def test_a_record_that_the_log_does_not_know_has_none(client: httpx.Client, reader: Browser) -> None:
    assert_problem(client.get("/audit/records/product/nobody/tracks"), 404, "unknown_record")
    page = reader.get("/audit/records/product/nobody/tracks")
    assert page.status_code == 404
    assert "The log knows no such record" in page.text


def test_a_session_of_a_tenant_has_its_own_changes_alone(installed: str, client: httpx.Client) -> None:
    headers = token(installed, "acme")
    found = client.get(TRACKS, headers=headers)
    assert found.status_code == 200
    assert [actor["actorId"] for actor in found.json()["actors"]] == ["mara"]
    assert "jonas" not in found.text
    page = client.get(f"{TRACKS}?limit=1", headers=headers).json()
    older = client.get(f"{TRACKS}?limit=1&cursor={page['nextCursor']}", headers=headers)
    assert len(older.json()["changes"]) == 1
    assert_problem(
        client.get(f"{TRACKS}?cursor={page['nextCursor']}", headers=bearer("read")), 422, "invalid_parameter"
    )
    assert_problem(client.get(TRACKS, headers=token(installed, "nobody")), 404, "unknown_record")


def test_the_page_compares_any_two_changes_without_a_script(client: httpx.Client, reader: Browser) -> None:
    page = reader.get(TRACKS)
    assert page.status_code == 200
    assert_strict(page.text)
    assert "changed 2 times between, and is the same" in page.text
    assert "mara: 1.00" in page.text, "the value at a glance"
    ids = [change["entryId"] for change in tracks(client)["changes"]]
    query = urlencode({"from": ids[0], "to": ids[1]})
    two = reader.get(f"{TRACKS}?{query}").text
    assert '<td class="was"><bdi>389.00</bdi>' in two.replace("\n", "")
    assert '<td class="now"><bdi>1.00</bdi>' in two.replace("\n", "")
    assert reader.get(f"{TRACKS}?from={ids[1]}&to={ids[0]}").text.count('class="was"') == two.count('class="was"')
    for nonsense in ("from=x&to=9", f"from={quote(HOSTILE[0])}"):
        assert reader.get(f"{TRACKS}?{nonsense}").status_code == 200


def test_the_tabs_of_a_record_lead_there(reader: Browser) -> None:
    assert f"{TRACKS.replace('product', 'public.product')}" in reader.get("/audit/records/public.product/6").text


def test_wide_and_hostile_records_stay_within_the_bytes_of_a_page(installed: str, reader: Browser) -> None:
    wide = reader.get("/audit/records/wide/1/tracks")
    assert wide.status_code == 200
    assert_strict(wide.text)
    assert len(wide.content) < PAGE_BYTES
    with psycopg.connect(installed) as conn:
        for n in range(30):
            sets = ", ".join(f"c{at} = %s" for at in range(200))
            with conn.transaction(), audit.actor(conn, f"{n}{'&' * 200}"):
                conn.execute(f"update wide set {sets}", [f"{n}" + '"' * 500] * 200)
    wide = reader.get("/audit/records/wide/1/tracks")
    assert len(wide.content) < PAGE_BYTES
    assert "more fields" in wide.text


def test_a_long_record_and_changes_that_were_found_have_words(installed: str, reader: Browser) -> None:
    with psycopg.connect(installed) as conn:
        lengthen(conn, "product", "6", "price")
        conn.execute("alter table product disable trigger user")
        conn.execute("update product set name = 'Found tent' where id = '6'")
        conn.execute("alter table product enable trigger user")
        conn.commit()
        audit.reconcile(conn, CONFIG, table="public.product", repair=True)
        conn.commit()
    page = reader.get(TRACKS)
    assert "there are more" in page.text
    assert "who did it and when is not known" in page.text
    assert len(page.content) < PAGE_BYTES


def test_erased_changes_have_ticks_without_values(installed: str, client: httpx.Client, reader: Browser) -> None:
    with psycopg.connect(installed) as conn:
        act(
            conn,
            "ann",
            "insert into product values ('77', 1, 'a', null, null)",
            "update product set price = 9 where id = '77'",
        )
        audit.erase(conn, "product", "77")
        conn.commit()
    found = tracks(client, "/audit/records/product/77/tracks")
    assert {change["isErased"] for change in found["changes"][:2]} == {True}
    assert "known" not in {state for _, state, _ in ticks(found, "price")[:2]}
    assert "were erased" in reader.get("/audit/records/product/77/tracks").text

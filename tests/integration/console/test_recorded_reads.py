"""The record of reads in the console: what a page, an answer or a file shows of a marked table is in the log first."""

import re
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import psycopg
import pytest
from psycopg.rows import dict_row
from psycopg_pool import AsyncConnectionPool
from pydantic import SecretStr

from svc_pg import Config, audit
from svc_pg.console import Console
from svc_pg.console.sign_in import api_tokens
from svc_pg.integrations.psycopg import with_audit
from tests.integration.console.browsing import HOSTILE, Browser, signed_in
from tests.integration.console.serving import assert_problem, bearer, serving_installed, serving_with_pool, settings
from tests.support.hooks import KEYS_TEXT
from tests.support.postgres import new_database, replicated
from tests.support.tables import create_and_audit
from tests.support.waiting import wait_until

CONFIG = Config()
CONFIG.audit.table("public.patient", record_reads=True)
CONFIG.audit.table("public.note")
DDL = """
create table patient (id text primary key, name text);
create table note (id int primary key, body text);
"""
UUID = "0b9a2f7e-3f0c-4d0e-9f57-5d3a51a9c001"


def fill(conn: psycopg.Connection[Any]) -> None:
    for tenant, key in (("acme", "1"), ("globex", "2"), (None, "ines@mail.example"), (None, UUID)):
        with conn.transaction(), audit.actor(conn, "ann", tenant=tenant):
            conn.execute("insert into patient values (%s, 'Ines')", (key,))
    for key in (*HOSTILE, "x" * 2_500):
        with conn.transaction(), audit.actor(conn, "ann"):
            conn.execute("insert into patient values (%s, 'Eve')", (key,))
    with conn.transaction(), audit.actor(conn, "ann"):
        conn.execute("update patient set name = 'Inez' where id = '1'")
        conn.execute("insert into note values (1, 'x')")


@pytest.fixture(scope="module")
def installed(postgres: str, template: str) -> Iterator[str]:
    with new_database(postgres, template=template) as conninfo:
        create_and_audit(conninfo, DDL, CONFIG)
        with psycopg.connect(conninfo) as conn:
            fill(conn)
        yield conninfo


@pytest.fixture(scope="module")
def client(installed: str) -> Iterator[httpx.Client]:
    with serving_installed(Console(settings(database_url=installed), config=CONFIG)) as client:
        client.headers.update(bearer("admin"))
        yield client


@pytest.fixture
def reader(client: httpx.Client) -> Browser:
    return signed_in(client, "admin")


@pytest.fixture
def conn(installed: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(installed, autocommit=True) as conn:
        yield conn


def read_by(conn: psycopg.Connection[Any]) -> list[dict[str, Any]]:
    """All reads on record, the oldest first."""
    rows = conn.execute(
        "select after_data, actor_id, tenant_id, operation::text, record_id, context from svc.audit_logs"
        " where table_name = 'svc.audit_reads' order by timestamp, id"
    )
    return [
        {"actor": actor, "tenant": tenant, "operation": operation, "table": table, "context": context, **data}
        for data, actor, tenant, operation, table, context in rows.fetchall()
    ]


def news(conn: psycopg.Connection[Any], call: Any) -> list[dict[str, Any]]:
    before = len(read_by(conn))
    call()
    return read_by(conn)[before:]


def first_entry(client: httpx.Client) -> dict[str, Any]:
    found: dict[str, Any] = client.get("/audit/records/patient/1").json()["data"][0]
    return found


@pytest.mark.parametrize(
    ("path", "of"),
    [
        ("/audit/records/patient/1", "records.entries"),
        ("/audit/records/patient/1/states", "records.states"),
        ("/audit/records/patient/1/tracks", "records.tracks"),
        ("/audit/records/patient/1/blame", "records.blame"),
        ("/audit/records/patient/1/as-of?time=2100-01-01", "records.as_of"),
        ("/audit/entries?resource=patient&record=1", "entries.list"),
        ("/audit/entries/{id}", "entries.get"),
        ("/audit/entries/{id}/diff", "entries.diff"),
        ("/audit/entries/{id}/certificate", "entries.certificate"),
        ("/audit/records/patient/1/certificate", "records.certificate"),
        ("/audit/entries?around={id}&limit=3", "entries.list"),
    ],
)
def test_each_answer_about_a_record_is_recorded_with_its_key(
    client: httpx.Client, conn: psycopg.Connection[Any], path: str, of: str
) -> None:
    entry = first_entry(client)
    answers: list[httpx.Response] = []
    [read] = news(conn, lambda: answers.append(client.get(path.replace("{id}", entry["id"]))))
    assert answers[0].status_code == 200, answers[0].text
    assert (read["through"], read["operation"], read["table"]) == ("api", "READ", "public.patient")
    assert "1" in read["keys"]
    assert read["records"] == len(read["keys"])
    assert read["question"]["of"] == of
    assert read["question"]["permission"] == "admin"
    assert read["actor"]
    assert read["context"]["request_id"] == answers[0].headers["x-request-id"]
    assert "Ines" not in str(read)
    assert "Inez" not in str(read)


def test_a_refusal_that_names_a_record_is_recorded(client: httpx.Client, conn: psycopg.Connection[Any]) -> None:
    first = client.get("/audit/records/patient/1").json()["data"][-1]["id"]  # its insert, which an update followed
    answers: list[httpx.Response] = []
    [read] = news(conn, lambda: answers.append(client.get(f"/audit/entries/{first}/revert")))
    assert_problem(answers[0], 409, "cannot_be_reverted")
    assert read["keys"] == ["1"]


def test_a_list_has_one_entry_with_all_keys_and_no_values_of_searches(
    client: httpx.Client, conn: psycopg.Connection[Any]
) -> None:
    [read] = news(conn, lambda: client.get("/audit/entries", params={"resource": "public.patient", "limit": "200"}))
    assert read["records"] == 4 + len(HOSTILE) + 1
    assert {"1", "2", UUID} <= {*read["keys"]}
    hashed = [key for key in read["keys"] if key.startswith("hashed:")]
    assert len(hashed) == read["records"] - 3
    [read] = news(conn, lambda: client.get("/audit/entries", params={"text": "Inez", "resource": "patient"}))
    assert read["question"]["text"] == "*"


def test_a_list_without_a_marked_record_and_counts_write_nothing(
    client: httpx.Client, conn: psycopg.Connection[Any]
) -> None:
    for path in (
        "/audit/entries?resource=note",
        "/audit/stats",
        "/audit/facets",
        "/audit/records/note/1",
        "/audit/tables",
    ):
        assert news(conn, lambda path=path: client.get(path)) == []


def test_to_read_the_reads_is_no_read(client: httpx.Client, conn: psycopg.Connection[Any]) -> None:
    client.get("/audit/records/patient/1")
    assert news(conn, lambda: client.get("/audit/entries?operation=READ").raise_for_status()) == []
    assert news(conn, lambda: client.get("/audit/records/patient/1/reads").raise_for_status()) == []


def test_a_page_has_one_entry_for_all_that_it_shows(reader: Browser, conn: psycopg.Connection[Any]) -> None:
    [read] = news(conn, lambda: reader.get("/audit/records/public.patient/1"))
    assert (read["through"], read["keys"]) == ("page", ["1"])
    assert read["question"]["of"] == "audit/records/:table/:id"
    [read] = news(conn, lambda: reader.get("/audit"))
    assert read["through"] == "page"
    assert read["records"] > 5


def test_an_export_is_recorded_without_keys(client: httpx.Client, conn: psycopg.Connection[Any]) -> None:
    [read] = news(conn, lambda: client.get("/audit/export?format=ndjson").raise_for_status())
    assert read["through"] == "export"
    assert "keys" not in read
    assert "records" not in read
    assert news(conn, lambda: client.get("/audit/export?resource=note").raise_for_status()) == []


def test_who_read_a_record_is_told_by_its_key(client: httpx.Client, reader: Browser, installed: str) -> None:
    for key in ("2", "ines@mail.example", UUID, "x" * 2_500):
        client.get("/audit/records/patient/" + key).raise_for_status()
        found = client.get(f"/audit/records/patient/{key}/reads").json()["data"]
        assert (found[0]["isCertain"], found[0]["records"]) == (True, 1), key
    window = {"since": "1h", "until": found[0]["timestamp"]}
    for address in ("/audit/tables/patient/reads", f"/audit/records/patient/{'x' * 2_500}/reads"):
        before = client.get(address, params=window).json()["data"]
        assert found[0]["entryId"] not in {each["entryId"] for each in before}
        assert (
            client.get(address, params={"since": window["until"]}).json()["data"][-1]["entryId"] == found[0]["entryId"]
        )
        assert client.get(address, params={"since": "yesterdya"}).status_code == 422
    others = client.get("/audit/records/patient/999/reads").json()["data"]
    assert {each["isCertain"] for each in others} <= {False}
    with psycopg.connect(installed) as conn:
        assert audit.reads("patient", "2").list(conn).data[0].is_certain
        every = audit.reads("patient").limit(1000).list(conn).data
        pages: list[audit.RecordRead] = []
        page = audit.reads("patient").limit(2).list(conn)
        pages += page.data
        while page.next_cursor is not None:
            page = audit.reads("patient").limit(2).after(page.next_cursor).list(conn)
            pages += page.data
        assert [each.entry_id for each in pages] == [each.entry_id for each in every]
    page_text = reader.get("/audit/records/public.patient/2").text
    assert "Read by" in page_text


def test_a_tenant_sees_its_own_reads_alone(client: httpx.Client, conn: psycopg.Connection[Any]) -> None:
    made = api_tokens.add(conn, "acme-program", permission="read", tenant="acme").token
    own = {"Authorization": f"Bearer {made}"}
    [read] = news(conn, lambda: client.get("/audit/records/patient/1", headers=own).raise_for_status())
    assert read["tenant"] == "acme"
    assert news(conn, lambda: client.get("/audit/records/patient/2", headers=own)) == []
    client.get("/audit/records/patient/1")
    found = client.get("/audit/records/patient/1/reads", headers=own).json()["data"]
    assert found
    assert {each["tenantId"] for each in found} == {"acme"}
    listed = client.get("/audit/entries?operation=READ", headers=own).json()["data"]
    assert {each["tenantId"] for each in listed} == {"acme"}
    assert len(client.get("/audit/records/patient/1/reads").json()["data"]) > len(found)


def test_an_entry_of_another_tenant_is_not_among_the_reads_of_whoever_tries_its_number(
    client: httpx.Client, conn: psycopg.Connection[Any]
) -> None:
    other = client.get("/audit/records/patient/2").json()["data"][0]["id"]
    made = api_tokens.add(conn, "acme-guesses", permission="read", tenant="acme").token
    own = {"Authorization": f"Bearer {made}"}
    for path in (f"/account/suggestions?q={other}", f"/audit/entries/{other}", f"/audit/entries?around={other}"):
        assert news(conn, lambda path=path: client.get(path, headers=own)) == [], path
    [read] = news(conn, lambda: client.get(f"/account/suggestions?q={other}"))
    assert read["keys"] == ["2"]


def test_a_read_is_no_news_of_live_pages(client: httpx.Client, conn: psycopg.Connection[Any]) -> None:
    from svc_pg.console.audit_log.newest import NEWEST

    def state() -> object:
        return conn.execute(NEWEST).fetchone()

    with conn.transaction(), audit.actor(conn, "ann"):
        conn.execute("insert into note values (2, 'y')")
    number = conn.execute("select max(xact_id)::text from svc.audit_logs").fetchone()
    wait_until(lambda: state() == number, "the entry is settled")
    client.get("/audit/records/patient/1").raise_for_status()
    assert conn.execute("select max(xact_id)::text from svc.audit_logs").fetchone() != number
    with psycopg.connect(conn.info.dsn, autocommit=True) as other:
        assert other.execute(NEWEST).fetchone() == number


def test_many_reads_hide_no_change_from_live_pages(conn: psycopg.Connection[Any]) -> None:
    from svc_pg.console.audit_log.newest import NEWEST

    with conn.transaction(), audit.actor(conn, "ann"):
        conn.execute("insert into note values (3, 'z')")
    number = conn.execute("select max(xact_id)::text from svc.audit_logs").fetchone()
    read = '[{"table": "public.patient", "through": "api"}]'
    conn.execute(
        "select svc.audit_add_reads(%s::jsonb, null, null, null) from generate_series(1, 300)",
        (read,),
    )
    wait_until(lambda: conn.execute(NEWEST).fetchone() == number, "the entry is settled")


def test_a_read_is_no_change_of_its_record(client: httpx.Client, conn: psycopg.Connection[Any]) -> None:
    before = audit.history("patient", "2").list(conn).data
    client.get("/audit/records/patient/2").raise_for_status()
    assert audit.history("patient", "2").list(conn).data == before
    assert conn.execute("select count(*) from svc.audit_changes where table_name = 'svc.audit_reads'").fetchone() == (
        0,
    )


@pytest.mark.parametrize(
    "kwargs", [{}, {"autocommit": True}, {"row_factory": dict_row}], ids=["as psycopg's", "autocommit", "of dicts"]
)
@pytest.mark.parametrize("audited", [with_audit, lambda pool: pool], ids=["with_audit", "plain"])
def test_a_read_through_a_pool_of_the_application_is_recorded(
    installed: str,
    conn: psycopg.Connection[Any],
    kwargs: dict[str, Any],
    audited: Callable[[AsyncConnectionPool[Any]], AsyncConnectionPool[Any]],
) -> None:
    pool = audited(AsyncConnectionPool(installed, open=False, min_size=0, max_size=4, kwargs=kwargs))
    with serving_with_pool(Console(settings(database_url=installed), config=CONFIG, pool=pool), pool) as client:
        own = bearer("admin")
        for path in ("/audit/records/patient/1", "/ui/audit/records/public.patient/1"):
            headers = {**own, "Cookie": "svc_console=" + own["Authorization"].removeprefix("Bearer ")}
            [read] = news(conn, lambda path=path, headers=headers: client.get(path, headers=headers).raise_for_status())
            assert read["keys"] == ["1"]
            assert read["actor"]
        [read] = news(
            conn, lambda: client.get("/audit/records/patient/ines@mail.example", headers=own).raise_for_status()
        )
        assert str(read["keys"][0]).startswith("hashed:")


@pytest.mark.parametrize("record", ["1", "ines@mail.example"])
def test_a_read_whose_record_cannot_be_committed_is_refused(
    client: httpx.Client, conn: psycopg.Connection[Any], record: str
) -> None:
    conn.execute(
        """
        create function refuse_read() returns trigger language plpgsql as $$ begin
            raise exception 'not now' using errcode = 'serialization_failure';
        end $$;
        create constraint trigger refuse_read after insert on svc.audit_logs deferrable initially deferred
            for each row when (new.operation = 'READ') execute function refuse_read()
        """
    )
    try:
        answers: list[httpx.Response] = []
        assert news(conn, lambda: answers.append(client.get(f"/audit/records/patient/{record}"))) == []
        assert_problem(answers[0], 503, "database_busy")
        assert not {"Ines", "Inez"} & set(re.findall(r"\w+", answers[0].text))
    finally:
        conn.execute("drop function refuse_read cascade")
    assert len(news(conn, lambda: client.get(f"/audit/records/patient/{record}").raise_for_status())) == 1


def test_the_text_of_a_statement_has_no_key_that_may_tell_of_somebody(
    client: httpx.Client, conn: psycopg.Connection[Any]
) -> None:
    """The server's log has it after an error, and its list of sessions."""
    conn.execute(
        """
        create table said (text text);
        create function listen() returns trigger language plpgsql security definer as $$ begin
            insert into public.said values (current_query());
            return null;
        end $$;
        create trigger listen after insert on svc.audit_logs
            for each row when (new.operation = 'READ') execute function listen()
        """
    )
    said = "with gone as (delete from said returning text) select text from gone"
    try:
        for record in ("ines@mail.example", "x" * 2_500, "1", UUID):
            is_of_nobody = record in ("1", UUID)
            client.get(f"/audit/records/patient/{record}").raise_for_status()
            [[text]] = conn.execute(said).fetchall()
            assert (record[:100] in text, text.endswith("; commit")) == (is_of_nobody, is_of_nobody)
    finally:
        conn.execute("drop function listen cascade; drop table said")


def primary_of(primary: str, config: Config) -> None:
    create_and_audit(primary, DDL, config)
    with psycopg.connect(primary) as conn:
        fill(conn)


def test_a_standby_refuses_reads_unless_the_configuration_allows_them() -> None:
    with replicated(lambda primary: primary_of(primary, CONFIG)) as (_primary, standby, _prepared):
        given = settings(database_url=standby, encryption_keys=SecretStr(KEYS_TEXT))
        with serving_installed(Console(given, config=CONFIG, is_read_only=True)) as client:
            client.headers.update(bearer("read"))
            answer = client.get("/audit/records/patient/1")
            assert_problem(answer, 503, "read_not_recorded")
            assert "Inez" not in answer.text
            assert "unrecorded_reads" in answer.json()["detail"]
            assert client.get("/audit/records/note/1").status_code == 200

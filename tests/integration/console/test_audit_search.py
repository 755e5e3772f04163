"""Search in snapshots, and the list of audited tables."""

import csv
import io
import json
from collections.abc import Iterator
from typing import Any, NoReturn

import httpx
import psycopg
import pytest
from psycopg.errors import QueryCanceled

from svc_pg import Config, schema
from svc_pg.audit.read import search
from svc_pg.config import AuditConfig, AuditedTable, Condition
from svc_pg.console import Console
from tests.integration.console.serving import assert_problem, bearer, serving_installed, settings
from tests.support.pages import all_data
from tests.support.postgres import Prepare
from tests.support.tables import add_entry, create_and_audit

HOSTILE = "<script>alert(1)</script> {{7*7}} 💥 שלום"
CONFIG = Config(
    audit=AuditConfig(
        tables=[
            AuditedTable(
                name='public."odd.name"',
                level="statement",
                redact={"pin": "mask"},
                ignore=["seen"],
                record_when=Condition.model_validate({"after": {"pin": {"ne": "0"}}}),
            ),
            AuditedTable(
                name="public.*",
                exclude=["public.left_out"],
            ),
        ]
    )
)
CONFIG.audit.enrich(
    "public.*", "UPDATE", label="credit", severity="high", compliance=["sox"], when={"after": {"credit": {"gt": 10}}}
)


@pytest.fixture(scope="module")
def prepare() -> Prepare:
    return lambda conninfo: create_and_audit(
        conninfo,
        "create table t (id int primary key, credit int);"
        'create table "odd.name" (id int primary key, pin text, seen int);'
        "create table left_out (id int primary key)",
        CONFIG,
    )


@pytest.fixture
def client(database: str) -> Iterator[httpx.Client]:
    with serving_installed(Console(settings(database_url=database), config=CONFIG)) as client:
        client.headers.update(bearer("write"))
        yield client


@pytest.fixture(scope="module")
def reader(shared_database: str) -> Iterator[httpx.Client]:
    """As ``client``, for all cases that change nothing."""
    with serving_installed(Console(settings(database_url=shared_database), config=CONFIG)) as client:
        client.headers.update(bearer("read"))
        yield client


@pytest.fixture
def log(database: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(database, autocommit=True) as conn:
        yield conn


def record(conn: psycopg.Connection[Any], name: str, **values: Any) -> None:
    add_entry(conn, "public.notes", "UPDATE", record_id=name, **values)


def found(client: httpx.Client, **query: Any) -> list[str]:
    """The records of all pages."""
    records: list[str] = []
    while True:
        response = client.get("/audit/entries", params={"fields": "recordId", **query})
        assert response.status_code == 200, response.text
        page = response.json()
        records += [entry["recordId"] for entry in page["data"]]
        if page["nextCursor"] is None:
            return records
        query["cursor"] = page["nextCursor"]


def test_words_that_postgresql_cannot_read_are_refused(client: httpx.Client, log: psycopg.Connection[Any]) -> None:
    record(log, "1", after={"a": "b"})
    for text in ("-" * 33, "- ( " * 40 + "b"):
        for path in ("/audit/entries", "/audit/export"):
            refused = client.get(path, params={"text": text})
            assert_problem(refused, 422, "invalid_parameter")
            assert "fewer hyphens" in refused.json()["detail"]
    assert found(client, text="-" * 32 + "b") == ["1"]


def test_entries_are_found_by_members_and_by_words_of_their_snapshots(
    client: httpx.Client, log: psycopg.Connection[Any]
) -> None:
    record(log, "1", before={"email": "ann@corp.example", "n": 1}, after={"email": "bob@corp.example", "n": 1})
    record(log, "2", after={"tags": ["red", "green"], "note": HOSTILE, "n": 1234567890.5})
    record(log, "3", after={"note": "line one\nline two"}, description="The green light")
    record(log, "4", after={"long": "x" * 300_000 + " end", "n": 1})
    for contains, expected in (
        ({"email": "ann@corp.example"}, ["1"]),
        ({"email": "bob@corp.example", "n": 1}, ["1"]),
        ({"n": 1}, ["4", "1"]),
        ({"tags": ["green"]}, ["2"]),
        ({"note": HOSTILE}, ["2"]),
        ({}, ["4", "3", "2", "1"]),
        ({"email": "ANN@corp.example"}, []),
    ):
        assert found(client, contains=json.dumps(contains)) == expected
    for text, expected in (
        ("green", ["3", "2"]),
        ("GREEN light", ["3"]),
        ("green -light", ["2"]),
        ("ann@corp.example", ["1"]),
        ("line two", ["3"]),
        ('"two line"', []),
        ("שלום", ["2"]),
        ("1234567890.5", ["2"]),
        ("note", []),  # the name of a field is no word
        ("'; drop table t --", []),
    ):
        assert found(client, text=text) == expected
    assert found(client, text="green", contains='{"tags": ["red"]}', resource="notes", notLabel="x") == ["2"]


def test_a_search_looks_at_so_many_entries_for_each_page_and_misses_none(
    client: httpx.Client, log: psycopg.Connection[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(23):
        record(log, str(number), after={"odd": number % 2, "pad": "0123456789" * 20, "rare": number == 3})
    monkeypatch.setattr(search, "MAX_ENTRIES", 4)
    for order in ("newest", "oldest"):
        odd = [str(number) for number in range(23) if number % 2]
        assert found(client, contains='{"odd": 1}', limit=3, order=order) == (odd if order == "oldest" else odd[::-1])
        assert found(client, contains='{"rare": true}', order=order) == ["3"]
    asked: dict[str, str | int] = {"contains": '{"odd": 1}', "order": "oldest", "limit": 1}
    cursor = client.get("/audit/entries", params=asked).json()["nextCursor"]
    cursor = client.get("/audit/entries", params={**asked, "cursor": cursor}).json()["prevCursor"]
    back: list[str] = []
    while cursor:
        page = client.get("/audit/entries", params={**asked, "before": cursor}).json()
        back, cursor = [*back, *(entry["recordId"] for entry in page["data"])], page["prevCursor"]
    assert back == ["1"]
    first = client.get("/audit/entries", params={"contains": '{"rare": true}'}).json()
    assert first["data"] == []
    assert first["nextCursor"] is not None
    monkeypatch.setattr(search, "MAX_ENTRIES", 1000)
    monkeypatch.setattr(search, "MAX_BYTES", 1000)
    assert found(client, contains='{"rare": true}', record="3", resource="notes") == ["3"]
    assert client.get("/audit/entries", params={"contains": '{"rare": true}'}).json()["nextCursor"] is not None


def test_an_export_has_what_the_search_found_and_nothing_else(
    client: httpx.Client, log: psycopg.Connection[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(23):
        record(log, str(number), after={"odd": number % 2, "note": "rare one" if number in (3, 21) else "common"})
    monkeypatch.setattr(search, "MAX_ENTRIES", 4)
    monkeypatch.setattr("svc_pg.audit.exports.export_pages.PAGE_SIZE", 3)
    for asked in ({"text": "rare"}, {"contains": '{"odd": 1}'}, {"text": "common", "contains": '{"odd": 0}'}):
        expected = found(client, order="oldest", **asked)
        assert len(expected) > 1
        for form in ("json", "ndjson", "csv"):
            file = client.get("/audit/export", params={**asked, "format": form})
            match form:
                case "json":
                    records = [entry["recordId"] for entry in file.json()]
                case "ndjson":
                    records = [json.loads(line)["recordId"] for line in file.text.splitlines()]
                case _:
                    records = [row["recordId"] for row in csv.DictReader(io.StringIO(file.text))]
            assert records == expected
    assert client.get("/audit/export", params={"text": "nowhere", "format": "json"}).json() == []
    assert_problem(client.get("/audit/export?contains=x"), 422, "invalid_parameter")


def test_a_search_that_takes_too_long_looks_at_fewer_entries_and_misses_none(
    client: httpx.Client, log: psycopg.Connection[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(30):
        record(log, str(number), after={"number": number, "odd": number % 2})
    stretch, tried = search._stretch, []

    async def slow(conn: psycopg.AsyncConnection[Any], query: Any, entries: int, *, max_bytes: int) -> Any:
        tried.append(entries)
        if entries > 10:
            await conn.execute("set local statement_timeout = '1ms'")
            await conn.execute("select pg_sleep(10)")
        return await stretch(conn, query, entries, max_bytes=max_bytes)

    monkeypatch.setattr(search, "_stretch", slow)
    assert found(client, contains='{"odd": 1}', limit=3) == [str(n) for n in range(29, 0, -2)]
    assert tried[:4] == [10_000, 1000, 100, 10]
    monkeypatch.setattr(search, "_SHARES", (1, 10))
    assert_problem(client.get("/audit/entries?text=x"), 503, "database_timeout")


@pytest.mark.parametrize("slow", ["e_" * 20_000, "<!--" * 10_000, "<!-- " * 8_000])
def test_no_value_keeps_a_search_from_what_is_beside_it_and_older(
    client: httpx.Client, log: psycopg.Connection[Any], slow: str
) -> None:
    record(log, "1", after={"note": "older"})
    record(log, "2", after={"slow": slow, "note": "first\nbeside", "path": "C:\\new"})
    assert found(client, text="older") == ["1"]
    for word in ("first", "beside", "new"):
        assert found(client, text=word) == ["2"]


@pytest.mark.parametrize(
    "query",
    [
        {"contains": "x"},
        {"contains": "[1]"},
        {"contains": '"x"'},
        {"contains": '{"a":' * 2000},
        {"contains": '{"a": "\\u0000"}'},
        {"contains": '{"a": NaN}'},
        {"contains": "{" + '"a": 1' + " " * 10_000 + "}"},
        {"text": " "},
        {"text": "x" * 10_001},
        {"text": "x", "after": "now"},
        {"contains": "{}", "around": "1"},
    ],
)
def test_a_search_for_nothing_that_can_be_found_is_422(reader: httpx.Client, query: dict[str, str]) -> None:
    response = reader.get("/audit/entries", params=query)
    assert (response.status_code, response.json()["code"] in ("invalid_parameter", "invalid_value")) == (422, True)


def test_a_search_does_not_find_what_a_session_may_not_see(client: httpx.Client, log: psycopg.Connection[Any]) -> None:
    after = json.dumps({"url": "https://a.example/?token=hush", "status": "active"})
    log.execute("select svc.audit_add_entry('svc.webhook_endpoints', 'INSERT', '7', after_data => %s)", (after,))
    asked = {"contains": '{"url": "https://a.example/?token=hush"}'}
    assert found(client, **asked) == found(client, text="active") == ["7"]
    client.headers.update(bearer("read"))
    assert found(client, **asked) == found(client, text="active") == []
    shown = client.get("/audit/entries", params={"record": "7", "fields": "afterData"}).json()["data"]
    assert [entry["afterData"]["url"] for entry in shown] == ["https://a.example/?hidden"]


def test_audited_tables_come_with_their_rules_and_the_state_of_capture(
    client: httpx.Client, log: psycopg.Connection[Any]
) -> None:
    tables = {table["name"]: table for table in all_data(client, "/audit/tables", limit=1)}
    assert [*tables] == sorted(tables)
    assert {*tables} > {'public."odd.name"', "public.t", "svc.console_sessions", "svc.tenants", "svc.webhook_endpoints"}
    assert "public.left_out" not in tables
    assert {table["capture"] for table in tables.values()} == {"recording"}
    odd, t = tables['public."odd.name"']["rules"], tables["public.t"]["rules"]
    assert (odd["name"], odd["level"], odd["redact"], odd["enrich"]) == (
        'public."odd.name"', "statement", {"pin": "mask"}, []
    )  # fmt: skip
    assert (t["name"], t["level"], t["columns"]) == ("public.*", "row", None)
    assert (odd["ignore"], odd["recordWhen"]) == (["seen"], {"after": {"pin": {"ne": "0"}}})
    assert (t["ignore"], t["recordWhen"]) == ([], None)
    assert t["enrich"] == [
        {
            "operation": "UPDATE",
            "label": "credit",
            "severity": "high",
            "compliance": ["sox"],
            "description": None,
            "when": {"after": {"credit": {"gt": 10}}},
        }
    ]
    assert tables["svc.console_sessions"]["rules"]["redact"] == {"token_hash": "remove"}
    log.execute("alter table t disable trigger user")
    log.execute('drop trigger "00_svc_audit_insert" on "odd.name"')
    states = {table["name"]: table["capture"] for table in all_data(client, "/audit/tables")}
    assert (states["public.t"], states['public."odd.name"']) == ("disabled", "missing")
    assert_problem(client.get("/audit/tables?name=x"), 422, "invalid_parameter")


def test_a_table_that_should_be_audited_and_is_not_is_missing(database: str) -> None:
    wanted = Config(audit=AuditConfig(tables=[AuditedTable(name="t"), AuditedTable(name="later")]))
    with serving_installed(Console(settings(database_url=database), config=wanted)) as client:
        tables = client.get("/audit/tables", headers=bearer("read")).json()["data"]
    states = {table["name"]: (table["capture"], table["rules"] and table["rules"]["name"]) for table in tables}
    assert states["public.later"] == ("missing", "public.later")
    assert states['public."odd.name"'] == ("recording", None)


async def _canceled(*_: object, **__: object) -> NoReturn:
    raise QueryCanceled


def test_an_index_finds_what_is_rare_in_the_whole_log_and_install_builds_it_on_each_partition(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = CONFIG.model_copy(deep=True)
    wanted.audit.search = ["contains", "text"]
    with psycopg.connect(database) as conn:
        record(conn, "first", after={"tag": "hay"})
        conn.commit()
        assert {(s.identity, s.state) for s in schema.status(conn, wanted) if s.kind == "index"} == {
            ("svc.audit_logs_contains", "missing"),
            ("svc.audit_logs_text", "missing"),
        }
        # an index that broke off while it was built
        conn.execute("create index audit_logs_default_text on svc.audit_logs_default (id)")
        conn.execute("set search_path = svc")  # names print without their schema
        conn.commit()
        built = schema.install(conn, wanted)
        assert [step.identity for step in built] == ["svc.audit_logs_contains", "svc.audit_logs_text"]
        indexes = conn.execute(
            "select indexname from pg_indexes where tablename = 'audit_logs_default' and indexdef ~ ' gin ' order by 1"
        )
        assert [*indexes] == [("audit_logs_default_contains",), ("audit_logs_default_text",)]
        conn.commit()
        assert schema.install(conn, wanted) == []
        assert {step.state for step in schema.status(conn, wanted)} <= {
            "ok",
            "incomplete",
        }  # of another test's triggers
        record(conn, "needle", after={"tag": "needle"})
        for number in range(30):
            record(conn, str(number), after={"pad": "x" * 3000, "tag": "straw"})
        write = "insert into svc.audit_logs (table_name, table_oid, operation, after_data, timestamp)"
        conn.execute(write + " values ('t', 0, 'INSERT', '{\"tag\": \"old\"}', '2020-03-15')")
        conn.execute("select svc.audit_ensure_partitions()")  # a month of its own, which has the indexes too
        conn.commit()
    with serving_installed(Console(settings(database_url=database), config=wanted)) as client:
        client.headers.update(bearer("read"))
        monkeypatch.setattr(search, "_TIMEOUT", "20000")  # on a busy machine, pages would end earlier
        with monkeypatch.context() as patched:  # the index would read all that has a frequent word
            patched.delattr(search, "_by_condition")
            page = client.get("/audit/entries?text=straw&limit=7&fields=recordId").json()
            assert ([row["recordId"] for row in page["data"]][-1], page["nextCursor"] is None) == ("23", False)
        with monkeypatch.context() as patched:  # and what is slow to look through is left to it
            patched.setattr(search, "_stretch", _canceled)
            page = client.get("/audit/entries?text=needle&fields=recordId").json()
            assert ([row["recordId"] for row in page["data"]], page["nextCursor"]) == (["needle"], None)
        monkeypatch.setattr(search, "MAX_ENTRIES", 2)
        for asked in ({"text": "needle"}, {"contains": '{"tag": "needle"}'}, {"text": "needle", "actor": "x"}):
            page = client.get("/audit/entries", params=asked).json()
            assert [entry["recordId"] for entry in page["data"]] == ([] if "actor" in asked else ["needle"])
            assert page["nextCursor"] is None
        assert len(client.get("/audit/entries?text=old").json()["data"]) == 1
        rows = all_data(client, "/audit/entries", text="straw", limit=7, fields="recordId")
        assert [row["recordId"] for row in rows] == [str(number) for number in range(29, -1, -1)]
    with psycopg.connect(database) as conn:
        assert [step.identity for step in schema.status(conn, CONFIG) if step.state == "orphan"] == [
            "svc.audit_logs_contains",
            "svc.audit_logs_text",
        ]
        assert schema.install(conn, CONFIG) == []
        assert schema.uninstall(conn)  # which keeps the log, and no index that needs a function
        assert len(schema.install(conn, wanted)) > 2
        pruned = schema.install(conn, CONFIG, prune=True)
        assert [step.identity for step in pruned] == ["svc.audit_logs_contains", "svc.audit_logs_text"]
        assert {step.state for step in schema.status(conn, CONFIG)} == {"ok", "incomplete"}  # it was not captured

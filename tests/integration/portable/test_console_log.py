"""The console shows the audit log of another database through the same routes and pages."""

import csv
import io
import json
import secrets
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest

from svc_pg import Config, audit, schema
from svc_pg.console import Console
from svc_pg.console.audit_log import other_databases
from svc_pg.console.sign_in import api_tokens
from tests.integration.console.browsing import Browser, signed_in
from tests.integration.console.serving import assert_problem, bearer, serving_installed, settings
from tests.support.logs import Log
from tests.support.mysql import Find, found
from tests.support.pages import all_data
from tests.support.postgres import new_database
from tests.support.waiting import wait_until

CONFIG = Config()
CONFIG.audit.table("customer")
NOW = datetime.now(UTC).replace(microsecond=123000)


@pytest.fixture(scope="module")
def own_database(postgres: str, template: str) -> Iterator[str]:
    """The console's own database."""
    with new_database(postgres, template=template) as conninfo:
        yield conninfo


@pytest.fixture(scope="module")
def console(own_database: str, module_log: Log) -> Iterator[httpx.Client]:
    """A console whose own database is PostgreSQL, and whose audit log is elsewhere."""
    with serving_installed(Console(settings(database_url=own_database), audit_log=module_log.url)) as client:
        client.headers.update(bearer("admin"))
        yield client


@pytest.fixture
def client(console: httpx.Client, log: Log, conn: Any) -> httpx.Client:
    """The console, with five entries in the log."""
    written: list[tuple[str, dict[str, Any]]] = [
        ("1", {"actor_id": "ann", "severity": "low", "changed_fields": ["email"], "after_data": {"email": "a@b"}}),
        ("2", {"actor_id": "bob", "tenant_id": "acme", "compliance": ["gdpr", "sox"]}),
        ("3", {"severity": "high", "label": "card changed", "operation": "DELETE"}),
        ("4", {"table_name": f"{log.schema}.u", "severity": "critical", "before_data": {"n": 1.5}}),
        ("a/b", {"actor_id": "<b>'", "description": "", "operation": "INSERT"}),
    ]
    for number, (record, columns) in enumerate(written):
        log.write(conn, record, timestamp=NOW - timedelta(hours=50 - 10 * number), **columns)
    return console


def records(client: httpx.Client, **query: Any) -> str:
    return " ".join(entry["recordId"] for entry in all_data(client, "/audit/entries", **query))


def test_entries_are_listed_filtered_and_shown(client: httpx.Client, log: Log) -> None:
    assert records(client) == records(client, limit=2) == "a/b 4 3 2 1"
    assert records(client, order="oldest", since="25h") == "4 a/b"
    assert records(client, notActor="ann", missing="tenant") == "a/b 4 3"
    assert records(client, minSeverity="high", resource="t") == "3"
    [newest] = client.get("/audit/entries", params={"limit": 1}).json()["data"]
    assert client.get(f"/audit/entries/{newest['id']}").json() == newest
    assert (newest["actorId"], newest["xactId"], newest["tableName"]) == ("<b>'", None, f"{log.schema}.t")
    some = client.get("/audit/entries", params={"fields": "label", "around": newest["id"], "limit": 3}).json()
    assert some["data"][0]["id"] == newest["id"]
    assert "actorId" not in some["data"][0]
    history = client.get("/audit/records/t/a%2Fb").json()["data"]
    assert [entry["id"] for entry in history] == [newest["id"]]
    for unknown in ("0", "x", "9" * 18, "9" * 30):
        assert_problem(client.get(f"/audit/entries/{unknown}"), 404, "unknown_entry")


def test_counts_are_those_of_the_entries(client: httpx.Client, log: Log) -> None:
    facets = client.get("/audit/facets").json()
    values = {facet["name"]: facet["values"] for facet in facets["facets"]}
    assert (facets["entries"], facets["isComplete"]) == (5, True)
    assert (facets["bucket"], [each["entries"] for each in facets["times"]]) == ("hour", [1, 1, 1, 1, 1])
    assert datetime.fromisoformat(facets["since"]) == NOW - timedelta(hours=50)
    assert values["resource"][0] == {"value": f"{log.schema}.t", "entries": 4}
    assert {(each["value"], each["entries"]) for each in values["compliance"]} == {("gdpr", 1), ("sox", 1), (None, 4)}
    assert values["actor"][0] == {"value": None, "entries": 2}
    stats = client.get("/audit/stats", params={"resource": "t"}).json()
    assert (stats["entries"], stats["bucket"], stats["isEstimate"]) == (4, "hour", False)
    assert [each["entries"] for each in stats["times"]] == [1, 1, 1, 1]
    first = (NOW - timedelta(hours=50)).replace(minute=0, second=0, microsecond=0)
    assert datetime.fromisoformat(stats["times"][0]["at"]) == first
    by_day = client.get("/audit/stats", params={"bucket": "day"}).json()
    assert sum(each["entries"] for each in by_day["times"]) == 5
    assert client.get("/audit/stats", params={"actor": "nobody"}).json()["times"] == []
    assert client.get("/audit/facets", params={"actor": "nobody"}).json()["since"] is None


def test_an_export_is_a_file(client: httpx.Client, conn: Any) -> None:
    for form in ("json", "ndjson", "csv"):
        out = io.BytesIO()
        audit.export(conn, audit.query(), format=form, out=out)
        response = client.get("/audit/export", params={"format": form})
        assert response.content == out.getvalue()
    assert len([*csv.reader(io.StringIO(response.text))]) == 6
    assert client.get("/audit/export", params={"format": "json", "actor": "nobody"}).text == "[]\n"


def test_a_purge_is_recorded_in_the_name_of_the_session(client: httpx.Client, conn: Any) -> None:
    dry = client.delete("/audit/entries", params={"olderThan": "1d", "dryRun": "true"}).json()
    assert dry["entries"] == 3
    assert client.delete("/audit/entries", params={"olderThan": "1d"}).json()["entries"] == 3
    about = audit.query().list(conn).data[0]
    assert (about.actor_id, about.label) == ("ann@corp.example", "audit log purged")
    assert about.context is not None
    assert "request_id" in about.context
    reader = client.delete("/audit/entries", params={"olderThan": "1d"}, headers=bearer("write"))
    assert_problem(reader, 403, "insufficient_scope")


def test_the_log_is_followed(client: httpx.Client, log: Log, conn: Any) -> None:
    start = client.get("/audit/entries", params={"after": "now"}).json()
    assert start["data"] == []
    cursor = start["nextCursor"]
    log.write(conn, "new", timestamp=datetime.now(UTC))

    def found() -> list[str]:
        page = client.get("/audit/entries", params={"after": cursor}).json()
        return [entry["recordId"] for entry in page["data"]]

    wait_until(lambda: found() == ["new"], "the new entry comes")
    assert len(client.get("/audit/entries", params={"after": "start"}).json()["data"]) >= 5
    assert_problem(client.get("/audit/entries", params={"after": "x"}), 422, "invalid_parameter")


def test_a_prepared_transaction_that_outlived_its_session_is_waited_for(
    client: httpx.Client, log: Log, conn: Any
) -> None:
    """After a start of the server nobody knows how old it is. MariaDB tells of it as of one from before at once."""
    if isinstance(log.at, Path):
        pytest.skip("SQLite has no prepared transactions")
    cursor = client.get("/audit/entries", params={"after": "now"}).json()["nextCursor"]
    with closing(log.connect()) as other, closing(other.cursor()) as statements:
        statements.execute("xa start 'a'")
        log.write(other, "late", timestamp=datetime.now(UTC))
        statements.execute("xa end 'a'")
        statements.execute("xa prepare 'a'")
    try:
        export = client.get("/audit/export")
        follow = client.get("/audit/entries", params={"after": cursor})
        if log.at.kind == "mariadb":
            assert_problem(export, 503, "database_busy")
            assert_problem(follow, 409, "conflict")
            assert "xa recover" in follow.json()["detail"]
        else:
            assert (export.status_code, follow.json()["data"]) == (200, [])
    finally:
        with closing(conn.cursor()) as statements:
            statements.execute("xa commit 'a'")

    def found() -> list[str]:
        page = client.get("/audit/entries", params={"after": cursor}).json()
        return [entry["recordId"] for entry in page["data"]]

    wait_until(lambda: found() == ["late"], "the entry comes")


@pytest.mark.parametrize("search", [{"text": "ann"}, {"contains": '{"a": 1}'}])
def test_searches_say_that_they_need_postgresql(client: httpx.Client, search: dict[str, str]) -> None:
    described = client.get("/console/openapi.json").json()["paths"]
    for path in ("/audit/entries", "/audit/export"):
        refused = client.get(path, params=search)
        assert_problem(refused, 422, "not_supported")
        assert "PostgreSQL only" in refused.json()["detail"]
        assert "not_supported" in json.dumps(described[path]["get"]["responses"]["422"])


def test_sessions_of_a_tenant_see_its_entries_alone(client: httpx.Client, own_database: str) -> None:
    with psycopg.connect(own_database) as db:
        of_acme = api_tokens.add(db, secrets.token_hex(8), permission="admin", tenant="acme").token
    own = {"Authorization": f"Bearer {of_acme}"}
    entries = client.get("/audit/entries", params={"order": "oldest"}).json()["data"]
    assert [entry["recordId"] for entry in client.get("/audit/entries", headers=own).json()["data"]] == ["2"]
    assert client.get(f"/audit/entries/{entries[1]['id']}", headers=own).status_code == 200
    assert_problem(client.get(f"/audit/entries/{entries[0]['id']}", headers=own), 404, "unknown_entry")
    assert client.get("/audit/facets", headers=own).json()["entries"] == 1
    assert_problem(client.get("/audit/export", headers=own), 403, "not_for_tenants")


def test_the_audited_tables_are_listed_with_the_state_of_their_capture(client: httpx.Client, conn: Any) -> None:
    with closing(conn.cursor()) as cursor:
        cursor.execute("drop table if exists customer")
        cursor.execute("create table customer (id integer primary key)")
    schema.install(conn, CONFIG)
    listed = client.get("/audit/tables")
    assert listed.status_code == 200, listed.text
    [table] = listed.json()["data"]
    assert (table["name"].rpartition(".")[2], table["capture"]) == ("customer", "recording")
    schema.install(conn, Config(), prune=True)
    assert client.get("/audit/tables").json()["data"] == []


def test_pages_are_told_that_the_log_grows(client: httpx.Client, log: Log, conn: Any) -> None:
    with client.stream("GET", "/account/changes", timeout=30) as stream:
        lines = stream.iter_lines()
        assert next(line for line in lines if line.startswith("event:")) == "event: following"
        log.write(conn, "told", timestamp=datetime.now(UTC))
        assert "event: changed" in lines
        assert "audit" in next(lines)


def test_the_pages_show_it_and_offer_no_search(client: httpx.Client, conn: Any) -> None:
    browser: Browser = signed_in(client, "admin")
    page = browser.get("/audit")
    assert page.status_code == 200
    assert "card changed" in page.text
    assert 'name="text"' not in page.text
    assert "&lt;b&gt;" in page.text
    for entry in audit.query().list(conn):
        assert browser.get(f"/audit/entries/{entry.id}").status_code == 200
    for path in ("/overview", "/tail", "/search?q=ann", "/audit/records/t/1", "/system", "/deliveries"):
        assert browser.get(path).status_code == 200, path
    assert "nobody named" in page.text


def test_what_needs_the_order_of_changes_says_that_it_is_not_recorded(client: httpx.Client, log: Log) -> None:
    [changed] = client.get("/audit/entries", params={"actor": "ann"}).json()["data"]
    for address in (
        "records/t/1/states",
        "records/t/1/blame",
        "records/t/1/as-of?time=1h",
        "records/t/1/related?time=first",
        "tables/t/as-of?time=1h",
        f"entries/{changed['id']}/revert",
        "transactions/1/revert",
    ):
        answer = client.get(f"/audit/{address}")
        assert_problem(answer, 422, "not_supported")
        assert "does not record the order of changes" in answer.json()["detail"]
    told = client.get(f"/audit/entries/{changed['id']}/diff").json()
    assert told["fields"] == [{"field": "email", "before": None, "after": "a@b", "isRedacted": False}]
    reader = signed_in(client, "read")
    page = reader.get(f"/audit/records/{log.schema}.t/1/as-of")
    assert (page.status_code, "does not record the order of changes" in page.text) == (200, True)
    assert "does not record the order of changes" in reader.get(f"/audit/entries/{changed['id']}/revert").text
    assert "Take back" not in reader.get(f"/audit/entries/{changed['id']}").text


def test_what_takes_too_long_ends(client: httpx.Client, log: Log, conn: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched, closing(log.connect()) as other, closing(other.cursor()) as cursor:
        patched.setattr(other_databases, "READ_SECONDS", 1)
        if isinstance(log.at, Path):
            cursor.execute("begin exclusive")
        else:
            cursor.execute("lock tables svc.audit_logs write")
        refused = client.get("/audit/entries", timeout=30)
        cursor.execute("rollback" if isinstance(log.at, Path) else "unlock tables")
    assert refused.status_code == 503
    assert refused.json()["code"] in ("database_busy", "database_timeout", "database_unavailable")
    assert client.get("/audit/entries").status_code == 200
    assert json.dumps(refused.json())
    assert conn


def test_a_database_that_is_away_is_a_problem(own_database: str, tmp_path: Path) -> None:
    for url in (f"sqlite:///{tmp_path / 'gone.db'}", "mysql://root@127.0.0.1:1/shop"):
        with serving_installed(Console(settings(database_url=own_database, audit_log_url=url))) as client:
            refused = client.get("/audit/entries", headers=bearer("read"))
            assert_problem(refused, 503, "database_unavailable")
            assert url not in refused.text


def test_a_server_without_tls_is_not_reached_where_it_is_required(own_database: str, mysql_servers: Find) -> None:
    url = found(mysql_servers, "mariadb").address("mysql") + "?ssl_mode=required"
    with serving_installed(Console(settings(database_url=own_database, audit_log_url=url))) as client:
        refused = client.get("/audit/entries", headers=bearer("read"))
        assert_problem(refused, 503, "database_unavailable")

import csv
import io
import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import anyio
import httpx
import psycopg
import pytest
from psycopg_pool import AsyncConnectionPool

from svc_pg import Config, audit
from svc_pg.audit.exports import export_pages
from svc_pg.audit.exports.exporting import export
from svc_pg.audit.read import facets, stats
from svc_pg.config import AuditConfig
from svc_pg.console import Console
from svc_pg.console.audit_log import postgres_purge
from svc_pg.database.query import scalar
from tests.integration.console.browsing import signed_in
from tests.integration.console.serving import assert_problem, bearer, serving_installed, settings
from tests.support.postgres import new_database

NOW = datetime.now(UTC).replace(microsecond=123456)
OLD = datetime(2020, 3, 15, tzinfo=UTC)
ODD = 'a "quoted",\nline; =1+1'


def write(conn: psycopg.Connection[Any], record: str, **columns: Any) -> None:
    """An entry as a trigger would write it, with these columns."""
    values = {"table_name": "public.t", "table_oid": 0, "operation": "UPDATE", "record_id": record} | columns
    names = ", ".join(f'"{name}"' for name in values)
    conn.execute(f"insert into svc.audit_logs ({names}) values ({', '.join(['%s'] * len(values))})", [*values.values()])


def at(hours: int) -> datetime:
    """So long before these tests were collected that it does not matter when they run."""
    return NOW - timedelta(hours=hours)


@pytest.fixture(scope="module")
def installed(postgres: str, template: str) -> Iterator[str]:
    """A database whose log has entries that differ in every way that one can ask for."""
    with new_database(postgres, template=template) as conninfo:
        with psycopg.connect(conninfo) as conn:
            write(conn, "1", timestamp=at(50), actor_id="ann", severity="low", changed_fields=["email"])
            write(conn, "2", timestamp=at(40), actor_id="bob", tenant_id="acme", compliance=["gdpr", "sox"])
            write(conn, "3", timestamp=at(30), severity="high", label="card changed", operation="DELETE")
            write(conn, "4", timestamp=at(20), table_name="public.u", severity="critical", after_data='{"n": 1.10}')
            write(conn, "a/b", timestamp=at(10), actor_id=ODD, description="", operation="INSERT")
        yield conninfo


@pytest.fixture(scope="module")
def client(installed: str) -> Iterator[httpx.Client]:
    with serving_installed(Console(settings(database_url=installed))) as client:
        client.headers.update(bearer("admin"))
        yield client


def records(client: httpx.Client, **query: Any) -> str:
    page = client.get("/audit/entries", params=query).json()
    return " ".join(entry["recordId"] for entry in page["data"])


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({}, "a/b 4 3 2 1"),
        ({"order": "oldest"}, "1 2 3 4 a/b"),
        ({"resource": "u"}, "4"),
        ({"record": "a/b"}, "a/b"),
        ({"actor": ODD}, "a/b"),
        ({"tenant": "acme"}, "2"),
        ({"operation": "DELETE"}, "3"),
        ({"label": "card changed"}, "3"),
        ({"severity": "high"}, "3"),
        ({"minSeverity": "high"}, "4 3"),
        ({"compliance": "sox"}, "2"),
        ({"changed": "email"}, "1"),
        ({"changed": ["email", "phone"]}, "1"),
        ({"actor": ["ann", "bob"]}, "2 1"),
        ({"actor": ["ann", "bob", "😀"], "notTenant": "acme"}, "1"),
        ({"notActor": ["ann", ODD]}, "4 3 2"),
        ({"resource": ["u", "public.t"], "notOperation": ["UPDATE", "INSERT"]}, "3"),
        ({"notResource": "t"}, "4"),
        ({"severity": ["low", "high"]}, "3 1"),
        ({"notSeverity": ["low", "high"]}, "a/b 4 2"),
        ({"label": ["card changed", "x"]}, "3"),
        ({"notLabel": "card changed", "missing": ["actor"]}, "4"),
        ({"compliance": ["sox", "x"]}, "2"),
        ({"notCompliance": ["gdpr"], "missing": "severity"}, "a/b"),
        ({"missing": ["severity", "tenant"]}, "a/b"),
        ({"since": at(30).isoformat()}, "a/b 4 3"),
        ({"until": at(30).isoformat()}, "2 1"),
        ({"since": "45h", "until": "25h"}, "3 2"),
        ({"transaction": "1"}, ""),
    ],
)
def test_every_filter_of_the_log_is_a_parameter(client: httpx.Client, query: dict[str, Any], expected: str) -> None:
    assert records(client, **query) == expected


def test_the_entries_of_one_transaction_are_found_by_its_id(client: httpx.Client) -> None:
    [*_, entry] = client.get("/audit/entries").json()["data"]
    assert records(client, transaction=entry["xactId"]) == "a/b 4 3 2 1"


@pytest.mark.parametrize(
    "query",
    [
        "severity=huge",
        "minSeverity=",
        "order=random",
        "transaction=-1",
        "transaction=1e3",
        "until=x",
        "since=2026-01",
        "actor=x" + "&actor=x" * 20,
        "notSeverity=high&notSeverity=huge",
        "missing=everything",
        "record=1&record=2",
        "fields=",
        "fields=actorId,password",
        "around=x",
        "around=1&limit=2",
        "around=1&cursor=WyIyMDI2LTAxLTAxVDAwOjAwOjAwWiIsICIxIl0",
        "after=x",
        "after=now&around=1",
        "after=WyJhIiwgImIiLCAiYyJd",
    ],
)
def test_a_bad_value_of_an_audit_filter_is_422_and_names_it(client: httpx.Client, query: str) -> None:
    response = client.get(f"/audit/entries?{query}")
    assert_problem(response, 422, "invalid_parameter")
    assert response.json()["parameter"] == query.partition("=")[0]


def test_one_entry_is_found_by_its_id(client: httpx.Client) -> None:
    listed = client.get("/audit/entries", params={"resource": "u"})
    [entry] = listed.json()["data"]
    found = client.get(f"/audit/entries/{entry['id']}")
    assert found.json() == entry
    assert '"n": 1.10' in found.text


@pytest.mark.parametrize("entry_id", ["0", "9" * 18, "9" * 40, "-1", "1e3", "%E0%A5%A7", "x", "%00"])
def test_an_unknown_entry_is_404_whatever_its_id_looks_like(client: httpx.Client, entry_id: str) -> None:
    assert_problem(client.get(f"/audit/entries/{entry_id}"), 404, "unknown_entry")


def test_the_history_of_a_record_is_newest_first_and_in_pages(database: str) -> None:
    with psycopg.connect(database) as conn:
        for minute in range(3):
            write(conn, "7", table_name="public.h", timestamp=at(minute), operation="UPDATE")
    with serving_installed(Console(settings(database_url=database))) as client:
        client.headers.update(bearer("admin"))
        everything = client.get("/audit/records/h/7").json()["data"]
        times = [entry["timestamp"] for entry in everything]
        assert (len(times), times) == (3, sorted(times, reverse=True))
        first = client.get("/audit/records/public.h/7?limit=2").json()
        rest = client.get("/audit/records/public.h/7", params={"limit": 2, "cursor": first["nextCursor"]}).json()
        assert (first["data"] + rest["data"], rest["nextCursor"]) == (everything, None)
        assert client.get("/audit/records/h/8").json() == {"data": [], "nextCursor": None, "prevCursor": None}
        assert_problem(client.get("/audit/records/a.b.c/8"), 404, "unknown_table")


def test_a_record_whose_key_has_a_slash_has_a_history(client: httpx.Client) -> None:
    [entry] = client.get("/audit/records/public.t/a%2Fb").json()["data"]
    assert entry["recordId"] == "a/b"


def test_a_list_shows_only_the_fields_that_are_asked_for(client: httpx.Client) -> None:
    [entry] = client.get("/audit/entries", params={"label": "card changed", "fields": "actorId,label"}).json()["data"]
    assert set(entry) == {"id", "timestamp", "tableName", "actorId", "label"}
    [entry] = client.get("/audit/records/public.t/3?fields=recordId").json()["data"]
    assert (set(entry), entry["recordId"]) == ({"id", "timestamp", "tableName", "recordId"}, "3")


def test_the_surroundings_of_an_entry_are_those_before_and_after_it(client: httpx.Client) -> None:
    until = {"until": "5h"}
    everything = client.get("/audit/entries", params=until).json()["data"]
    middle = next(entry for entry in everything if entry["recordId"] == "3")["id"]
    page = client.get("/audit/entries", params={"around": middle, "limit": 3, **until}).json()
    assert [entry["recordId"] for entry in page["data"]] == ["4", "3", "2"]
    assert records(client, cursor=page["nextCursor"], **until) == "1"
    assert records(client, before=page["prevCursor"], **until) == "a/b"
    assert records(client, around=middle, order="oldest", limit=4) == "2 3 4"
    # of the entries that a filter selects, but the entry itself always comes
    assert records(client, around=middle, actor=["ann", ODD]) == "a/b 3 1"
    last = client.get("/audit/entries", params={"around": everything[-1]["id"], **until}).json()
    assert last == {"data": everything, "nextCursor": None, "prevCursor": None}
    assert_problem(client.get("/audit/entries?around=999999"), 404, "unknown_entry")


def test_counts_are_by_time_table_operation_actor_and_severity(client: httpx.Client) -> None:
    found = client.get("/audit/stats", params={"until": "15h", "resource": "t"}).json()
    assert (found["entries"], found["isComplete"], found["isEstimate"], found["bucket"]) == (3, True, False, "hour")
    assert found["tables"] == [{"value": "public.t", "entries": 3}]
    assert found["operations"] == [{"value": "UPDATE", "entries": 2}, {"value": "DELETE", "entries": 1}]
    for group, values in (("actors", (None, "ann", "bob")), ("severities", (None, "low", "high"))):
        assert sorted(found[group], key=str) == sorted([{"value": value, "entries": 1} for value in values], key=str)
    hours = [at(hours).replace(minute=0, second=0, microsecond=0) for hours in (50, 40, 30)]
    assert [(datetime.fromisoformat(each["at"]), each["entries"]) for each in found["times"]] == [(h, 1) for h in hours]
    assert datetime.fromisoformat(found["since"]) == at(50)
    days = client.get("/audit/stats", params={"until": "15h", "resource": "t", "bucket": "day"}).json()["times"]
    assert sum(day["entries"] for day in days) == 3
    assert all(day["at"].endswith("T00:00:00.000000Z") for day in days)
    assert_problem(client.get("/audit/stats?bucket=week"), 422, "invalid_parameter")


def test_counts_of_nothing_are_zero(client: httpx.Client) -> None:
    assert client.get("/audit/stats", params={"actor": "nobody"}).json() == {
        "entries": 0,
        "since": None,
        "isComplete": True,
        "isEstimate": False,
        "bucket": "minute",
        "times": [],
        "tables": [],
        "actors": [],
        "operations": [],
        "severities": [],
    }
    facets = client.get("/audit/facets", params={"actor": "nobody"}).json()
    assert (facets["entries"], facets["since"], facets["isComplete"]) == (0, None, True)
    assert [facet["values"] for facet in facets["facets"]] == [[]] * 7


def test_facets_are_the_values_of_each_filter_with_their_counts(client: httpx.Client) -> None:
    found = client.get("/audit/facets", params={"since": "60h", "until": "5h", "notOperation": "INSERT"}).json()
    assert (found["entries"], found["isComplete"]) == (4, True)
    assert datetime.fromisoformat(found["since"]) == at(50)
    values = {
        facet["name"]: {value["value"]: value["entries"] for value in facet["values"]} for facet in found["facets"]
    }
    assert values == {
        "resource": {"public.t": 3, "public.u": 1},
        "actor": {None: 2, "ann": 1, "bob": 1},
        "tenant": {None: 3, "acme": 1},
        "operation": {"UPDATE": 3, "DELETE": 1},
        "severity": {None: 1, "low": 1, "high": 1, "critical": 1},
        "label": {None: 3, "card changed": 1},
        "compliance": {None: 3, "gdpr": 1, "sox": 1},
    }
    for facet in found["facets"]:  # each value can be passed back as a filter
        for value in facet["values"]:
            missing = {"missing": facet["name"]} if value["value"] is None else {facet["name"]: value["value"]}
            asked = {"since": "60h", "until": "5h", "notOperation": "INSERT", **missing}
            assert len(client.get("/audit/entries", params=asked).json()["data"]) == value["entries"]


def test_counts_of_more_entries_than_are_looked_at_say_so(
    client: httpx.Client, exporter: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(facets, "MAX_ENTRIES", 2)
    monkeypatch.setattr(stats, "MAX_ENTRIES", 600)
    found = client.get("/audit/facets", params={"since": "60h", "resource": "t"}).json()
    assert (found["entries"], found["isComplete"]) == (2, False)
    assert datetime.fromisoformat(found["since"]) == at(30)
    # a filter that no index finds looks at no more entries, and says from when on it has counted
    found = client.get("/audit/facets", params={"since": "60h", "until": "5h", "tenant": "acme"}).json()
    assert (found["entries"], found["isComplete"], datetime.fromisoformat(found["since"])) == (0, False, at(20))
    estimate = exporter.get("/audit/stats").json()
    assert (estimate["isComplete"], estimate["isEstimate"]) == (True, True)
    assert 600 < estimate["entries"] < 2400  # of about 1,200
    [table] = estimate["tables"]
    assert (table["value"], table["entries"]) == ("public.t", estimate["entries"])
    # a sample that has too few tells less than the newest entries
    part = exporter.get("/audit/stats?operation=UPDATE").json()
    assert (part["isComplete"], part["isEstimate"], part["entries"]) == (False, False, 1)


# Export


@pytest.fixture(scope="module")
def exported(postgres: str, template: str) -> Iterator[str]:
    """A database whose log has more entries than one part of an export."""
    with new_database(postgres, template=template) as conninfo:
        with psycopg.connect(conninfo) as conn:
            write(conn, "odd", actor_id=ODD, description="", compliance=["a", 'b"'], before_data='{"n": 1.10}')
            conn.execute(
                "insert into svc.audit_logs (table_name, table_oid, operation, record_id, timestamp)"
                " select 'public.t', 0, 'INSERT', n::text, now() - make_interval(mins => (n / 3)::int)"
                " from generate_series(1, 1200) n"
            )
        yield conninfo


@pytest.fixture(scope="module")
def exporter(exported: str) -> Iterator[httpx.Client]:
    with serving_installed(Console(settings(database_url=exported))) as client:
        client.headers.update(bearer("write"))
        yield client


@pytest.mark.parametrize("form", ["json", "ndjson", "csv"])
def test_a_streamed_export_equals_the_librarys(exported: str, exporter: httpx.Client, form: Any) -> None:
    out = io.BytesIO()
    with psycopg.connect(exported) as conn:
        export(conn, audit.query().resource("t"), format=form, out=out)
    response = exporter.get("/audit/export", params={"resource": "t", "format": form})
    assert response.headers["content-disposition"] == f'attachment; filename="audit-log.{form}"'
    if form == "csv":  # which values are quoted is not part of the format
        assert read_csv(response.text) == read_csv(out.getvalue().decode())
        assert "\r\n" in response.text
    else:
        assert response.content == out.getvalue()


def read_csv(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text, newline="")))


def test_an_export_goes_out_in_parts_and_nothing_is_lost_between_them(exporter: httpx.Client) -> None:
    with exporter.stream("GET", "/audit/export") as response:
        assert response.headers["transfer-encoding"] == "chunked"
        assert response.headers["content-type"] == "application/x-ndjson"
        lines = [json.loads(line) for line in response.iter_lines()]
    ids = [line["recordId"] for line in lines if line["tableName"] == "public.t"]
    assert sorted(ids) == sorted(["odd", *map(str, range(1, 1201))])
    assert [line["timestamp"] for line in lines] == sorted(line["timestamp"] for line in lines)


@pytest.mark.parametrize(("form", "empty"), [("json", "[]\n"), ("ndjson", "")])
def test_an_export_of_nothing_is_an_empty_file(exporter: httpx.Client, form: str, empty: str) -> None:
    assert exporter.get("/audit/export", params={"actor": "nobody", "format": form}).text == empty
    assert exporter.get("/audit/export", params={"actor": "nobody", "format": "csv"}).text.startswith("id,timestamp,")


def test_an_export_holds_no_connection_while_its_reader_is_slow(exported: str) -> None:
    async def read_half_and_look() -> tuple[int, int]:
        async with AsyncConnectionPool[Any](exported, min_size=1, max_size=1, open=False) as pool:
            parts = export_pages.export_pages(pool.connection, audit.query(), format="ndjson")
            await anext(parts)
            async with pool.connection(timeout=1) as conn:
                await conn.execute("select 1")
            return 1, len([part async for part in parts])

    assert anyio.run(read_half_and_look) == (1, 2)


def test_an_export_needs_write_and_a_known_format(exporter: httpx.Client) -> None:
    response = exporter.get("/audit/export", headers=bearer("read"))
    assert_problem(response, 403, "insufficient_scope")
    assert_problem(exporter.get("/audit/export?format=xml"), 422, "invalid_parameter")
    assert_problem(exporter.get("/audit/export?limit=5"), 422, "invalid_parameter")


# Purge


@pytest.fixture
def old(database: str) -> str:
    """A database with old entries: a month of its own, and some in the default partition."""
    with psycopg.connect(database) as conn:
        for number in range(3):
            write(conn, str(number), timestamp=OLD)
        conn.execute("select svc.audit_ensure_partitions()")
        conn.commit()
        write(conn, "straggler", timestamp=OLD + timedelta(days=400))
        write(conn, "new")
    return database


def remaining(conninfo: str) -> set[str]:
    with psycopg.connect(conninfo) as conn:
        rows = conn.execute("select record_id from svc.audit_logs where table_name = 'public.t'").fetchall()
    return {row[0] for row in rows}


def test_a_dry_run_of_a_purge_counts_and_removes_nothing(old: str) -> None:
    with serving_installed(Console(settings(database_url=old))) as client:
        client.headers.update(bearer("admin"))
        report = client.delete("/audit/entries?olderThan=90d&dryRun=true").json()
        assert len(remaining(old)) == 5
        assert report["entries"] == 1
        assert len(report["partitions"]) == 1
        done = client.delete("/audit/entries?olderThan=90d").json()
    assert (done["partitions"], done["entries"], done["postponed"]) == (report["partitions"], 1, [])
    assert remaining(old) == {"new"}


def test_a_purge_leaves_what_has_no_seal_and_says_so_unless_it_is_told_to_remove_it(old: str) -> None:
    with serving_installed(Console(settings(database_url=old))) as client:
        client.headers.update(bearer("admin"))
        assert client.delete("/audit/entries?olderThan=90d&dryRun=true").json()["unsealedSince"] is None
        with psycopg.connect(old, autocommit=True) as conn:
            oldest = scalar(conn, "select min(timestamp) from svc.audit_logs")
            audit.seal(conn, key=audit.SealKey("s1", b"k" * 32))
            conn.execute(
                "insert into svc.audit_logs (table_name, table_oid, operation, record_id, timestamp)"
                " values ('public.t', 0, 'INSERT', 'unsealed', %s)",
                (oldest - timedelta(days=40),),
            )
        report = client.delete("/audit/entries?olderThan=90d").json()
        assert datetime.fromisoformat(report["unsealedSince"]) == oldest - timedelta(days=40)
        assert len(remaining(old)) == 6
        system = client.get("/account/system").json()["proof"]["unsealedSince"]
        assert system == report["unsealedSince"]
        page = signed_in(client, "admin").get("/system").text
        assert "a purge leaves them until <code>svc-pg seal</code>" in page
        assert_problem(client.delete("/audit/entries?olderThan=90d&unsealed=perhaps"), 422, "invalid_parameter")
        assert client.delete("/audit/entries?olderThan=90d&unsealed=true").json()["unsealedSince"] is None
    assert remaining(old) == {"new"}


def test_a_purge_is_on_the_record_with_the_session_as_its_actor(old: str) -> None:
    with serving_installed(Console(settings(database_url=old))) as client:
        client.delete("/audit/entries?olderThan=90d", headers=bearer("admin"))
        entries = client.get("/audit/entries?label=audit+log+purged", headers=bearer("read")).json()["data"]
    assert {(entry["actorId"], entry["severity"]) for entry in entries} == {("ann@corp.example", "medium")}
    assert len(entries) == 2


def test_a_purge_without_an_age_uses_the_configured_retention(old: str) -> None:
    config = Config(audit=AuditConfig(retention_days=90))
    with serving_installed(Console(settings(database_url=old), config=config)) as client:
        assert client.delete("/audit/entries", headers=bearer("admin")).status_code == 200
    assert remaining(old) == {"new"}


def test_a_purge_postpones_a_month_that_a_reader_keeps_locked(old: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres_purge, "_TRIES", 1)
    with psycopg.connect(old) as reader, serving_installed(Console(settings(database_url=old))) as client:
        reader.execute("select count(*) from svc.audit_logs")
        report = client.delete("/audit/entries?olderThan=90d", headers=bearer("admin"), timeout=60).json()
    assert report["postponed"] == ["svc.audit_logs_2020_03"]
    assert remaining(old) == {"0", "1", "2", "new"}


@pytest.mark.parametrize("query", ["", "?olderThan=1h", "?olderThan=never", "?dryRun=1&olderThan=90d", "?before=90d"])
def test_a_purge_without_a_sensible_age_is_422(client: httpx.Client, query: str) -> None:
    assert_problem(client.delete(f"/audit/entries{query}"), 422, "invalid_parameter")


def test_a_purge_needs_admin(client: httpx.Client) -> None:
    response = client.delete("/audit/entries?olderThan=90d", headers=bearer("write"))
    assert_problem(response, 403, "insufficient_scope")
    assert response.json()["requiredPermission"] == "admin"

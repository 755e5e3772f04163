import asyncio
import io
import json
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Event
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from svc_pg import audit
from svc_pg.audit.log.export_fields import ExportReport, Format
from svc_pg.audit.read.follow import follow
from svc_pg.audit.read.sample import EntryCount
from svc_pg.errors import AccessError, ConflictError, QueryError, TransactionError
from svc_pg.other_databases.log.counts import counted_facets
from svc_pg.other_databases.log.entries import log_dialect_of
from svc_pg.other_databases.log.statements import run
from tests.support.logs import Log
from tests.support.selections import NOW
from tests.support.sqlite import audited
from tests.support.waiting import wait_until

HOSTILE = [
    "=1+1",
    "+1",
    "-1",
    "@cmd",
    "\t=1",
    "\r=1",
    "\n=1",
    '"=1"',
    "a,b",
    "\\.",
    " a ",
    "a\r\nb",
    "",
    "é\u2028😀\x01\x7f",
]


def exported(conn: Any, form: Format = "json", **options: Any) -> tuple[bytes, ExportReport]:
    out = io.BytesIO()
    report = audit.export(conn, options.pop("query", audit.query()), format=form, out=out, **options)
    return out.getvalue(), report


def hostile_entries(xact_id: int) -> list[dict[str, Any]]:
    return [
        {
            "id": number,
            "timestamp": NOW + timedelta(microseconds=number),
            "xact_id": xact_id,
            "table_name": "t",
            "operation": "UPDATE",
            "record_id": text,
            "actor_id": text,
            "tenant_id": text or None,
            "db_user": "app",
            "before_data": {"a": text} if number % 2 else None,
            "after_data": {"n": [1.5, None, True]},
            "changed_fields": [text, "b"],
            "label": text,
            "severity": "high",
            "compliance": [] if number % 3 else None,
            "description": text,
            "context": {"text": text},
        }
        for number, text in enumerate(HOSTILE, 1)
    ]


def write_all(log: Log, conn: Any, entries: list[dict[str, Any]]) -> None:
    for entry in entries:
        log.write(conn, entry["record_id"], **entry)


@pytest.mark.parametrize("form", ["json", "ndjson", "csv"])
def test_every_byte_is_as_on_postgresql(log: Log, conn: Any, database: str, form: Format) -> None:
    with psycopg.connect(database) as db:
        [[xact_id, _]] = db.execute("select txid_current(), setval('svc.audit_logs_id_seq', 100)").fetchall()
        entries = hostile_entries(xact_id)
        for entry in entries:
            values = {name: Jsonb(value) if isinstance(value, dict) else value for name, value in entry.items()}
            names = ", ".join(f'"{name}"' for name in values)
            marks = ", ".join(["%s"] * len(values))
            db.execute(
                f"insert into svc.audit_logs ({names}, table_oid) overriding system value values ({marks}, 0)",
                [*values.values()],
            )
        expected = exported(db, form, is_settled=False)[0]
    write_all(log, conn, entries)
    written, report = exported(conn, form)
    assert written.replace(b'{"n":[1.5,null,true]}', b'{"n": [1.5, null, true]}') == expected
    assert report.entries == len(HOSTILE)
    empty = exported(conn, form, query=audit.query().actor("nobody"))[0]
    header = exported(conn, "csv")[0].partition(b"\r\n")[0] + b"\r\n"
    assert empty == {"json": b"[]\n", "ndjson": b"", "csv": header}[form]


def test_line_breaks_inside_stored_json_do_not_end_a_line(log: Log, conn: Any) -> None:
    if isinstance(log.at, Path) or log.at.kind == "mysql":
        pytest.skip("these make JSON of one line")
    with conn.cursor() as cursor:
        cursor.execute(
            "insert into svc.audit_logs (timestamp, table_name, operation, after_data)"
            " values (now(), 't', 'INSERT', %s)",
            ['{"a":\r\n "b\\nc"}'],
        )
    [line] = exported(conn, "ndjson", is_settled=False)[0].splitlines()
    assert json.loads(line)["afterData"] == {"a": "b\nc"}


def test_memory_does_not_grow_with_the_number_of_entries(log: Log, conn: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("svc_pg.other_databases.log.export.PART_ENTRIES", 3)
    monkeypatch.setattr("svc_pg.other_databases.log.export.PART_BYTES", 2500)
    for record in range(1, 12):
        log.write(conn, str(record), timestamp=NOW, after_data={"x": "y" * (1000 if record % 4 else 5000)})
    told: list[int] = []
    text, report = exported(conn, progress=told.append)
    assert [entry["recordId"] for entry in json.loads(text)] == [str(record) for record in range(1, 12)]
    assert (report.entries, told) == (11, [11])


def test_an_export_goes_on_where_the_last_one_ended(log: Log, conn: Any) -> None:
    log.write(conn, "1")
    _, first = exported(conn)
    assert (first.entries, first.held_back) == (1, 0)
    log.write(conn, "2", timestamp=datetime.now(UTC))
    wait_until(lambda: exported(conn, after=first.horizon)[1].entries == 1, "the second entry is settled")
    _, second = exported(conn, after=first.horizon)
    assert exported(conn, after=second.horizon)[1].entries == 0
    assert exported(conn, query=audit.query().record("1"), after=first.horizon)[1].entries == 0


@pytest.mark.parametrize(
    "cursor", ["", "x", "id.", "id.x", "time.x", "time.2026", "0123456789ab.7", "id.1'", "id.9" * 9]
)
def test_what_is_no_end_of_an_export_is_refused(conn: Any, cursor: str) -> None:
    with pytest.raises(QueryError, match="does not say how far"):
        exported(conn, after=cursor)


def test_the_end_of_another_log_is_refused(log: Log, conn: Any) -> None:
    ahead, other = "id.999", "time.2999-01-01T00:00:00.000000Z"
    ahead, other = (ahead, other) if isinstance(log.at, Path) else (other, ahead)
    with pytest.raises(QueryError, match="ahead of the log"):
        exported(conn, after=ahead)
    with pytest.raises(QueryError, match="does not say how far"):
        exported(conn, after=other)


def test_an_export_does_not_go_on_at_a_replica(log: Log, conn: Any) -> None:
    """Its entries come when it has caught up, with times of before."""
    if isinstance(log.at, Path):
        pytest.skip("SQLite has no replicas")
    log.write(conn, "1")
    with closing(conn.cursor()) as cursor:
        cursor.execute("set global read_only = 1")
        try:
            _, first = exported(conn)
            assert first.entries == 1
            with pytest.raises(ConflictError, match="read-only"):
                exported(conn, after=first.horizon)
        finally:
            cursor.execute("set global read_only = 0")
    assert exported(conn, after=first.horizon)[1].entries == 0


def test_entries_of_a_slow_transaction_are_waited_for(log: Log, conn: Any) -> None:
    if isinstance(log.at, Path):
        pytest.skip("SQLite has one writer at a time")
    with closing(log.connect()) as slow, closing(log.connect()) as quick:
        slow.begin()
        log.write(slow, "1", timestamp=datetime.now(UTC))
        log.write(quick, "2", timestamp=datetime.now(UTC))
        for zone in ("SYSTEM", "+05:45", "-08:00"):
            with conn.cursor() as cursor:
                cursor.execute("set time_zone = %s", [zone])
            assert exported(conn)[1].entries == 0
            assert exported(conn)[1].held_back == 1
        assert exported(conn, is_settled=False)[1].entries == 1
        _, before = exported(conn)
        slow.commit()
        wait_until(lambda: exported(conn, after=before.horizon)[1].entries == 2, "both are settled")
        text, _ = exported(conn, after=before.horizon)
        assert [entry["recordId"] for entry in json.loads(text)] == ["1", "2"]


def test_no_entry_of_many_writers_is_skipped_and_none_comes_twice(log: Log) -> None:
    """Each writer's transactions last a while, so that later ones commit first."""
    stop = Event()

    def write(writer: int) -> int:
        written = 0
        with closing(log.connect()) as own, closing(own.cursor()) as cursor:
            while not stop.is_set():
                cursor.execute("begin immediate" if isinstance(log.at, Path) else "begin")
                log.write(own, f"{writer}-{written}", timestamp=datetime.now(UTC))
                stop.wait(0.02 * writer)
                cursor.execute("commit")
                written += 1
        return written

    seen: list[str] = []
    after = None

    def read() -> int:
        nonlocal after
        text, report = exported(reader, after=after)
        after = report.horizon
        seen.extend(entry["recordId"] for entry in json.loads(text))
        return len(seen)

    with ThreadPoolExecutor(3) as pool, closing(log.connect()) as reader:
        try:
            writers = [pool.submit(write, writer) for writer in range(1, 4)]
            while len(seen) < 30:
                read()
        finally:
            stop.set()
        written = sum(writer.result() for writer in writers)
        wait_until(lambda: read() >= written, "all are read")
    assert len(seen) == len(set(seen)) == written


def test_a_connection_inside_a_transaction_is_refused_unless_what_is_settled_does_not_matter(
    log: Log, conn: Any
) -> None:
    with closing(conn.cursor()) as cursor:
        cursor.execute("begin")
    log.write(conn, "1")
    with pytest.raises(TransactionError, match="inside a transaction"):
        exported(conn)
    assert exported(conn, is_settled=False)[1].entries == 1


def test_a_user_who_may_not_see_transactions_is_told_which_right_is_missing(log: Log, conn: Any) -> None:
    if isinstance(log.at, Path):
        pytest.skip("SQLite has no users")
    log.write(conn, "1")
    with conn.cursor() as cursor:
        for statement in (
            "drop user if exists reader@'127.0.0.1'",
            "create user reader@'127.0.0.1' identified by 'pw'",
        ):
            cursor.execute(statement)
        reader = {"user": "reader", "password": "pw"}
        with closing(log.at.connect(**reader)) as own, pytest.raises(AccessError, match="may not read"):
            audit.query().list(own)
        cursor.execute("grant select on svc.* to reader@'127.0.0.1'")
        with closing(log.at.connect(**reader)) as own:
            with pytest.raises(AccessError, match="which transactions run") as caught:
                exported(own)
            assert "grant process" in str(caught.value.hint)
            assert exported(own, is_settled=False)[1].entries == 1
        cursor.execute("grant process on *.* to reader@'127.0.0.1'")
        with closing(log.at.connect(**reader)) as own:
            assert exported(own)[1].entries == 1
        cursor.execute("drop user reader@'127.0.0.1'")


def test_a_connection_without_autocommit_sees_what_is_new_after_its_commit(log: Log) -> None:
    if isinstance(log.at, Path):
        pytest.skip("SQLite begins no transaction for a query")
    with closing(log.connect()) as writer, closing(log.at.connect(log.schema, autocommit=False)) as own:
        log.write(writer, "1")
        assert exported(own)[1].entries == 1
        with pytest.raises(TransactionError):
            exported(own)
        own.commit()
        log.write(writer, "2")
        assert exported(own)[1].entries == 2


@pytest.mark.parametrize("texts", [str, bytes])
def test_texts_of_sqlite_that_are_no_unicode_are_read(log: Log, conn: Any, texts: type) -> None:
    if not isinstance(log.at, Path):
        pytest.skip("MySQL stores none")
    conn.execute(
        "insert into svc_audit_logs (table_name, operation, record_id, moved_from, actor_id, label, after_data)"
        " values ('main.t', 'INSERT', cast(x'ff41' as text), cast(x'fe' as text), cast(x'fe' as text),"
        """ cast(x'fd' as text), cast('{"a":"' || x'ff' || '"}' as text))"""
    )
    conn.text_factory = texts

    async def read() -> Any:
        async with log.connect_async() as own:
            own.text_factory = texts
            return (await audit.query().alist(own)).data

    factories = []
    conn.set_trace_callback(lambda _: factories.append(conn.text_factory))
    found = audit.query().list(conn).data
    [line] = json.loads(exported(conn)[0])
    assert (line["afterData"], line["recordId"]) == ({"a": "\\xff"}, "\\xffA")
    assert set(factories) == {texts}, "other threads may use the connection meanwhile"
    assert found == asyncio.run(read()) == [next(follow(conn, audit.query()))]
    [entry] = found
    assert (entry.record_id, entry.actor_id, entry.label) == ("\\xffA", "\\xfe", "\\xfd")
    assert entry.after_data is not None
    assert entry.after_data.text == r'{"a":"\\xff"}'
    counted = run(conn, counted_facets(log_dialect_of(conn), audit.query(), tells_reach=True))
    assert ("actor", [EntryCount("\\xfe", 1)]) in [(facet.name, facet.values) for facet in counted.facets]


def test_images_that_are_no_unicode_are_put_in_the_order_of_change(log: Log, conn: Any) -> None:
    if not isinstance(log.at, Path):
        pytest.skip("MySQL stores none")
    for before, after in ((2, 3), (1, 2)):
        conn.execute(
            "insert into svc_audit_logs (timestamp, table_name, operation, record_id, before_data, after_data)"
            " values (?, 'main.t', 'UPDATE', 'r', cast('\"' || x'ff' || ? || '\"' as text),"
            " cast('\"' || x'ff' || ? || '\"' as text))",
            (f"{NOW:%Y-%m-%dT%H:%M:%S.%f}Z", before, after),
        )
    found = audit.query().record("r").order("oldest").list(conn)
    assert [str(entry.after_data) for entry in found] == [r'"\\xff2"', r'"\\xff3"']


@pytest.mark.parametrize("encoding", ["UTF-16le", "UTF-16be"])
def test_databases_in_utf_16_are_read(encoding: str) -> None:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as own:
        own.execute(f"pragma encoding = '{encoding}'")
        own.execute("create table t (id integer primary key, name text)")
        audited(own, "t")
        own.execute("insert into t values (1, 'é💳')")
        [entry] = audit.query().list(own)
    assert entry.after_data is not None
    assert (entry.record_id, entry.after_data.value) == ("1", {"id": 1, "name": "é💳"})


def test_the_async_export_is_the_same(log: Log, conn: Any) -> None:
    write_all(log, conn, hostile_entries(1))

    async def read() -> bytes:
        out = io.BytesIO()
        async with log.connect_async() as own:
            await audit.aexport(own, audit.query(), format="csv", out=out)
        return out.getvalue()

    assert asyncio.run(read()) == exported(conn, "csv")[0]

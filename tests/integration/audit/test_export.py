import asyncio
import csv
import io
import json
import random
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields
from decimal import Decimal
from threading import Event
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb
from pydantic.alias_generators import to_camel

from svc_pg import audit
from svc_pg.audit.exports.exporting import aexport, export
from svc_pg.audit.log import export_fields
from svc_pg.audit.log.export_fields import ExportReport, Format
from svc_pg.database.query import scalar
from svc_pg.errors import NotInstalledError, QueryError
from svc_pg.formats.json_writer import encode
from tests.support.postgres import Prepare
from tests.support.tables import audited, create_and_audit

FIELDS = [to_camel(field.name) for field in fields(audit.Entry)]
HOSTILE = [
    "=1+1",
    "+1",
    "-1",
    "@cmd",
    "\t=1",
    "\r=1",
    "\n=1",
    "=",
    '"=1"',
    "a,b",
    'say "hi"',
    "a\r\nb",
    "",
    "é\u2028😀",
]


@pytest.fixture(scope="module")
def prepare() -> Prepare:
    return lambda conninfo: create_and_audit(
        conninfo,
        "create table customer (id int primary key, name text, balance numeric); create table other (id int)",
        audited("customer", "other"),
    )


@pytest.fixture
def db(database: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(database) as conn:
        yield conn


def exported(conn: psycopg.Connection[Any], form: Format = "json", **options: Any) -> tuple[bytes, ExportReport]:
    out = io.BytesIO()
    report = export(conn, options.pop("query", audit.query()), format=form, out=out, **options)
    return out.getvalue(), report


def entries(conn: psycopg.Connection[Any], **options: Any) -> list[dict[str, Any]]:
    written: list[dict[str, Any]] = json.loads(exported(conn, **options)[0], parse_float=Decimal)
    return written


def test_json_has_the_names_and_the_values_of_the_api(db: psycopg.Connection[Any]) -> None:
    with audit.actor(db, "alice", tenant="acme", context={"request_id": "r-1"}):
        db.execute("insert into customer values (1, 'Ünï \"x\" \\ \n', 12345678901234567.10)")
        db.execute("update customer set name = 'b'")
    db.execute("delete from customer")
    db.commit()
    [*of_api] = audit.query().order("oldest").list(db).data
    assert entries(db) == json.loads(encode(of_api), parse_float=Decimal)
    assert [*entries(db)[0]] == FIELDS
    assert entries(db)[0]["timestamp"].endswith("Z")


def test_numbers_keep_every_digit(db: psycopg.Connection[Any]) -> None:
    db.execute("insert into customer values (1, 'a', 12345678901234567.10)")
    db.commit()
    for form in ("json", "ndjson", "csv"):
        assert b"12345678901234567.10" in exported(db, form)[0]


def test_times_are_utc_wherever_the_session_is(db: psycopg.Connection[Any]) -> None:
    db.execute("insert into customer values (1)")
    db.commit()
    db.execute("set timezone = 'Asia/Tokyo'; set datestyle = 'German'; set client_encoding = 'LATIN1'")
    [entry] = entries(db)
    moment = scalar(
        db, """select to_char(timestamp at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') from svc.audit_logs"""
    )
    assert entry["timestamp"] == moment


def test_text_is_utf_8_whatever_the_encoding_of_the_client(db: psycopg.Connection[Any]) -> None:
    db.execute("insert into customer values (1, '😀')")
    db.commit()
    db.execute("set client_encoding = 'LATIN1'")
    assert entries(db)[0]["afterData"]["name"] == "😀"
    assert "😀".encode() in exported(db, "csv")[0]


@pytest.mark.parametrize("form", ["json", "ndjson", "csv"])
@pytest.mark.parametrize("is_settled", [True, False])
def test_the_async_export_writes_the_same(
    db: psycopg.Connection[Any],
    database: str,
    form: Format,
    is_settled: bool,  # noqa: FBT001 - a parameter of pytest
) -> None:
    db.execute("insert into customer values (0)")
    db.commit()
    start = exported(db)[1].horizon
    db.execute("insert into customer select n, '=1, \"' || n from generate_series(1, 20) n")
    db.commit()
    told: list[int] = []

    async def run() -> tuple[bytes, ExportReport]:
        out = io.BytesIO()
        async with await psycopg.AsyncConnection.connect(database) as conn:
            query = audit.query().resource("customer")
            report = await aexport(
                conn, query, format=form, out=out, after=start, is_settled=is_settled, progress=told.append
            )
        return out.getvalue(), report

    with psycopg.connect(database) as slow:
        slow.execute("insert into customer values (21)")
        db.execute("insert into customer values (22)")
        db.commit()
        query = audit.query().resource("customer")
        written, report = exported(db, form, query=query, after=start, is_settled=is_settled)
        assert (report.entries, report.held_back) == ((20, 1) if is_settled else (21, 0))
        db.commit()
        assert asyncio.run(run()) == (written, report)
    assert told == [report.entries]


@pytest.mark.parametrize(("form", "nothing"), [("json", []), ("ndjson", None), ("csv", None)])
def test_nothing_to_export_is_valid_and_empty(db: psycopg.Connection[Any], form: Format, nothing: object) -> None:
    written, report = exported(db, form)
    assert (report.entries, report.held_back) == (0, 0)
    if form == "json":
        assert json.loads(written) == nothing
    elif form == "ndjson":
        assert written == b""
    else:
        assert written.decode() == ",".join(FIELDS) + "\r\n"


def test_every_byte_of_json_is_that_of_row_to_json(db: psycopg.Connection[Any]) -> None:
    texts = [*HOSTILE, "\x01\x02", "null", "\\", "\\.", "%b %s", "\u2028"]
    with db.cursor().copy(
        "copy svc.audit_logs (table_name, table_oid, operation, record_id, actor_id, label, description, compliance,"
        " before_data, after_data, context, xact_id) from stdin"
    ) as rows:
        for number, text in enumerate(texts):
            values = (text, text, text, text, [text, text], Jsonb(text), Jsonb({text: [None, 1.50]}), Jsonb(None))
            rows.write_row(("t", 0, "UPDATE", *values, -number))
        rows.write_row(("t", 0, "DELETE", *[None] * 8, 7))
    db.commit()
    cells = ", ".join(f'{value} as "{name}"' for name, value in export_fields.FIELDS.items())
    with db.cursor() as cursor:
        cursor.execute(
            f"select row_to_json(e)::text from (select {cells} from svc.audit_logs"
            " order by audit_logs.timestamp, audit_logs.id) e"
        )
        lines = [line for (line,) in cursor]
    assert exported(db, "ndjson")[0].decode() == "".join(f"{line}\n" for line in lines)
    assert exported(db, "json")[0].decode() == "[\n" + "\n,".join(lines) + "\n]\n"


def test_ndjson_is_an_object_a_line(db: psycopg.Connection[Any]) -> None:
    db.execute("insert into customer select n, e'a\\nb' from generate_series(1, 3) n")
    db.commit()
    lines = exported(db, "ndjson")[0].decode().splitlines()
    assert [json.loads(line)["recordId"] for line in lines] == ["1", "2", "3"]


def test_ten_thousand_csv_rows_with_hostile_cells_come_back_as_they_were(db: psycopg.Connection[Any]) -> None:
    chance = random.Random(7)
    cells = [chance.choice(HOSTILE) + str(number) for number in range(10_000)]
    with db.cursor().copy(
        "copy svc.audit_logs (table_name, table_oid, operation, record_id, actor_id, label, description, compliance,"
        " after_data) from stdin"
    ) as rows:
        for cell in cells:
            rows.write_row(("t", 0, "INSERT", cell, cell, cell, cell, [cell], Jsonb({cell: cell})))
    db.commit()
    written, report = exported(db, "csv")
    assert report.entries == len(cells)
    assert written.count(b"\r\n") >= len(cells)
    read = list(csv.DictReader(io.StringIO(written.decode(), newline="")))
    assert len(read) == len(cells)
    for cell, row in zip(cells, read, strict=True):
        neutral = f"'{cell}" if cell[0] in "=+-@\t\r\n" else cell
        assert {row["recordId"], row["actorId"], row["label"], row["description"]} == {neutral}
        assert json.loads(row["compliance"]) == [cell]
        assert json.loads(row["afterData"]) == {cell: cell}
        assert not any(value.startswith(tuple("=+-@\t\r\n")) for value in row.values())


def test_an_empty_text_and_a_missing_one_differ_in_csv(db: psycopg.Connection[Any]) -> None:
    db.execute("insert into svc.audit_logs (table_name, table_oid, operation, label) values ('t', 0, 'INSERT', '')")
    db.commit()
    record = exported(db, "csv")[0].decode().splitlines()[1].split(",")
    assert record[FIELDS.index("label")] == '""'
    assert record[FIELDS.index("actorId")] == ""


def test_filters_select_and_the_page_of_the_query_does_not_count(db: psycopg.Connection[Any]) -> None:
    db.execute("insert into customer select n from generate_series(1, 150) n; insert into other values (1)")
    db.commit()
    wanted = audit.query().resource("customer").since("1h").order("newest").limit(10)
    assert [entry["recordId"] for entry in entries(db, query=wanted)] == [str(n) for n in range(1, 151)]


def test_entries_beside_a_running_transaction_are_held_back_and_counted(
    db: psycopg.Connection[Any], database: str
) -> None:
    db.execute("insert into customer values (1)")
    db.commit()
    with psycopg.connect(database) as slow:
        slow.execute("insert into customer values (2)")
        db.execute("insert into customer values (3)")
        db.commit()
        written, report = exported(db)
        assert [entry["recordId"] for entry in json.loads(written)] == ["1"]
        assert (report.entries, report.held_back) == (1, 1)
        assert len(entries(db, is_settled=False)) == 2
        db.rollback()
        slow.commit()
    written, later = exported(db, after=report.horizon)
    assert [entry["recordId"] for entry in json.loads(written)] == ["2", "3"]
    assert later.held_back == 0


def test_exports_beside_writers_have_no_gap_and_no_duplicate(db: psycopg.Connection[Any], database: str) -> None:
    is_over = Event()

    def work(writer: int) -> int:
        chance, written = random.Random(writer), 0
        with psycopg.connect(database) as conn:
            while not is_over.is_set() or written < 20:
                for _ in range(chance.randint(1, 4)):
                    conn.execute("insert into customer values (%s)", (writer * 1_000_000 + written,))
                    written += 1
                if chance.random() < 0.2:
                    conn.execute("select pg_sleep(0.02)")  # a transaction that commits later than younger ones
                conn.commit()
        return written

    seen: list[str] = []
    horizon: str | None = None
    with ThreadPoolExecutor(6) as pool:
        writers = [pool.submit(work, number) for number in range(1, 7)]
        try:
            for _ in range(60):
                written, report = exported(db, after=horizon)
                db.rollback()
                seen += [entry["recordId"] for entry in json.loads(written)]
                horizon = report.horizon
        finally:
            is_over.set()
        total = sum(writer.result(timeout=30) for writer in writers)
    assert 0 < len(seen) < total
    seen += [entry["recordId"] for entry in entries(db, after=horizon)]
    assert len(seen) == len(set(seen)) == total


def test_a_writer_that_fails_leaves_the_connection_usable(db: psycopg.Connection[Any]) -> None:
    db.execute("insert into customer select n, repeat('x', 1000) from generate_series(1, 5000) n")
    db.commit()

    class Closed(io.BytesIO):
        def write(self, _: Any) -> int:
            raise BrokenPipeError

    with pytest.raises(BrokenPipeError):
        export(db, audit.query(), out=Closed())
    db.rollback()
    assert scalar(db, "select count(*) from customer") == 5000


def test_a_reader_exports(db: psycopg.Connection[Any]) -> None:
    db.execute("insert into customer values (1)")
    db.commit()
    db.execute("set role svc_reader")
    assert len(entries(db)) == 1


def test_an_unknown_format_is_refused(db: psycopg.Connection[Any]) -> None:
    with pytest.raises(QueryError, match="'xml' is not a format"):
        export(db, audit.query(), format="xml", out=io.BytesIO())  # type: ignore[arg-type]


def test_without_svc_there_is_nothing_to_export_from(empty_database: str) -> None:
    out = io.BytesIO()
    with psycopg.connect(empty_database) as conn, pytest.raises(NotInstalledError) as caught:
        export(conn, audit.query(), out=out)
    assert caught.value.hint == "Run: svc-pg install"
    assert out.getvalue() == b""

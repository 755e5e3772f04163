import asyncio
import gc
import io
import json
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
import pytest
from psycopg.types.json import Jsonb
from pyarrow import parquet

from svc_pg import audit
from svc_pg.audit.exports import parquet as written_parquet
from svc_pg.audit.log.export_fields import FIELDS
from svc_pg.audit.log.snapshot import Snapshot
from svc_pg.errors import ConfigError
from tests.support.postgres import Prepare
from tests.support.sqlite import audited as audited_in_sqlite
from tests.support.tables import audited, create_and_audit

TEXTS = ["", " ", "=1", '"', "a,b", "a\r\nb", "\\N", "NULL", "null", "é\u2028😀\x01", "'", "[]"]


@pytest.fixture(scope="module")
def prepare() -> Prepare:
    return lambda conninfo: create_and_audit(
        conninfo, "create table customer (id int primary key, name text, balance numeric)", audited("customer")
    )


@pytest.fixture
def db(database: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(database) as conn:
        yield conn


def exported(conn: Any, **options: Any) -> bytes:
    out = io.BytesIO()
    audit.export(conn, audit.query(), format="parquet", out=out, **options)
    return out.getvalue()


def text_of(snapshot: Snapshot | None) -> str | None:
    return None if snapshot is None else snapshot.text


def write_texts(db: psycopg.Connection[Any]) -> None:
    with db.cursor().copy(
        "copy svc.audit_logs (table_name, table_oid, operation, record_id, actor_id, label, description, compliance,"
        " before_data, after_data, context) from stdin"
    ) as rows:
        for text in TEXTS:
            rows.write_row(("t", 0, "UPDATE", text, text, text, text, [text, "b"], Jsonb(text), Jsonb({text: 1}), "{}"))
        rows.write_row(("t", 0, "DELETE", None, None, None, None, [], Jsonb(None), None, None))
    db.commit()


def test_the_columns_have_types_and_the_values_of_the_entries(
    db: psycopg.Connection[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(written_parquet, "GROUP_ENTRIES", 5)
    write_texts(db)
    file = parquet.ParquetFile(io.BytesIO(exported(db)))
    types = {field.name: field.type for field in file.schema_arrow}
    assert [*types] == [*FIELDS]
    assert (types["id"], types["timestamp"]) == (pa.int64(), pa.timestamp("us", tz="UTC"))
    assert (types["compliance"], types["afterData"]) == (pa.list_(pa.string()), pa.string())
    assert [file.metadata.row_group(n).num_rows for n in range(file.num_row_groups)] == [5, 5, 3]
    rows = file.read().to_pylist()
    of_api = audit.query().order("oldest").list(db).data
    for row, entry in zip(rows, of_api, strict=True):
        assert (row["id"], row["timestamp"], row["xactId"]) == (int(entry.id), entry.timestamp, int(entry.xact_id or 0))
        assert (row["recordId"], row["label"], row["description"]) == (entry.record_id, entry.label, entry.description)
        assert (row["compliance"], row["changedFields"]) == (entry.compliance, entry.changed_fields)
        assert (row["beforeData"], row["afterData"]) == (text_of(entry.before_data), text_of(entry.after_data))
    assert [row["label"] for row in rows] == [*TEXTS, None]
    chunks = [file.metadata.row_group(0).column(n) for n in range(file.metadata.num_columns)]
    known = {chunk.path_in_schema.partition(".")[0] for chunk in chunks if chunk.is_stats_set}
    assert known == {"id", "timestamp", "xactId", "tableName", "recordId", "actorId", "tenantId"} | {
        "operation",
        "severity",
        "label",
        "dbUser",
        "dbRole",
        "partition",
    }  # the values of others can be long, and are in memory until the end


READER = """
import json, duckdb
conn = duckdb.connect()
conn.execute("set timezone = 'Asia/Tokyo'")
read = lambda text: conn.execute(text).fetchall()
print(json.dumps([
    read("select column_name, column_type from (describe select * from 'log.parquet')"),
    read("select recordId, afterData, epoch_us(timestamp) from 'log.parquet' where actorId = 'alice'"),
    read("select label from 'log.parquet' where tableName = 't' order by id"),
]))
"""
"""In a process of its own: at its end, DuckDB complains of its own bindings."""


def test_another_program_reads_it(db: psycopg.Connection[Any], tmp_path: Path) -> None:
    write_texts(db)
    with audit.actor(db, "alice"):
        db.execute("insert into customer values (1, 'a', 12345678901234567.10)")
    db.commit()
    (tmp_path / "log.parquet").write_bytes(exported(db))
    done = subprocess.run([sys.executable, "-c", READER], cwd=tmp_path, capture_output=True, check=True, timeout=60)
    columns, of_alice, labels = json.loads(done.stdout)
    types = dict(columns)
    assert (types["id"], types["timestamp"]) == ("BIGINT", "TIMESTAMP WITH TIME ZONE")
    assert (types["compliance"], types["afterData"]) == ("VARCHAR[]", "VARCHAR")
    [[moment]] = db.execute("select (extract(epoch from max(timestamp)) * 1000000)::bigint from svc.audit_logs")
    assert of_alice == [["1", '{"id": 1, "name": "a", "balance": 12345678901234567.10}', moment]]
    assert labels == [*([text] for text in TEXTS), [None]]


def test_nothing_to_export_is_a_file_without_rows(db: psycopg.Connection[Any]) -> None:
    told: list[int] = []
    file = parquet.ParquetFile(io.BytesIO(exported(db, progress=told.append)))
    assert (file.metadata.num_rows, file.schema_arrow.names, told) == (0, [*FIELDS], [0])


def test_an_entry_that_is_larger_than_a_row_group_is_written(
    db: psycopg.Connection[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(written_parquet, "GROUP_BYTES", 1000)
    db.execute("insert into customer select n, repeat('x', 3000000) from generate_series(1, 3) n")
    db.commit()
    told: list[int] = []
    file = parquet.ParquetFile(io.BytesIO(exported(db, progress=told.append)))
    assert (file.num_row_groups, told) == (3, [1, 2, 3])
    assert {len(json.loads(row["afterData"])["name"]) for row in file.read().to_pylist()} == {3_000_000}


def test_the_log_of_sqlite_has_the_same_columns() -> None:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as conn:
        conn.execute("create table t (id integer primary key, name text)")
        audited_in_sqlite(conn, "t")
        for number, text in enumerate(TEXTS):
            conn.execute("insert into t values (?, ?)", (number, text))
        conn.execute("update t set name = 'b' where id = 0")
        rows = parquet.read_table(io.BytesIO(exported(conn))).to_pylist()
        of_api = audit.query().order("oldest").list(conn).data
    assert [row["afterData"] for row in rows] == [text_of(entry.after_data) for entry in of_api]
    assert [row["timestamp"] for row in rows] == [entry.timestamp for entry in of_api]
    assert (rows[-1]["changedFields"], rows[-1]["xactId"], rows[-1]["dbUser"]) == (["name"], None, None)


def test_an_empty_last_field_behind_a_quoted_one_is_null() -> None:
    out = io.BytesIO()
    groups = written_parquet.RowGroups(out)
    fields = {"id": "1", "timestamp": "2026-01-01T00:00:00.000000Z", "tableName": "t", "operation": "INSERT"}
    fields |= dict.fromkeys(("changedFields", "redactedFields", "compliance"), '"[]"') | {"xactId": '"7"'}
    groups.write([",".join(fields.get(name, "") for name in FIELDS).encode()], is_first=True)
    groups.end()
    [row] = parquet.read_table(io.BytesIO(out.getvalue())).to_pylist()
    assert (row["id"], row["xactId"], row["partition"]) == (1, 7, None)


WRITE = """
import sys
from pathlib import Path
from re import search
from svc_pg.audit.exports.parquet import RowGroups
from svc_pg.audit.exports.export_file import ExportFile
from svc_pg.audit.log.export_fields import ARRAYS, FIELDS

def peak():
    return int(search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) / 1024

class Nowhere:
    def write(self, part):
        pass

fields = dict.fromkeys(FIELDS, "") | dict.fromkeys(ARRAYS, '"[]"')
fields |= {"timestamp": "2026-01-01T00:00:00.000000Z", "tableName": "t", "operation": "UPDATE"}

def write(entries):
    file = ExportFile(RowGroups(Nowhere()), lambda _: None)
    for number in range(entries):
        image = f"{number:0400}"
        file.add(",".join((fields | {"id": str(number), "beforeData": image, "afterData": image}).values()).encode())
    file.end()

write(1)
before = peak()
write(60_000)
print(peak() - before)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak of the memory is read from Linux")
def test_memory_has_the_columns_of_a_row_group_and_the_text_of_a_part() -> None:
    """50 MB in groups of 16 MiB: it took 102 MiB when the text of a group was in memory beside its columns."""
    done = subprocess.run([sys.executable, "-c", WRITE], check=True, capture_output=True, text=True)
    assert float(done.stdout) < 70


def test_without_its_package_nothing_is_written_and_the_extra_is_named(
    db: psycopg.Connection[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    out = io.BytesIO()
    with pytest.raises(ConfigError, match="parquet needs pyarrow") as caught:
        audit.export(db, audit.query(), format="parquet", out=out)
    assert caught.value.hint == "Run: pip install 'svc-pg[parquet]'"
    assert out.getvalue() == b""


class BrokenOffError(Exception):
    """Ends an export after its first row group."""


def break_off(_entries: int) -> None:
    raise BrokenOffError


def in_postgresql(conninfo: str, out: io.BytesIO) -> None:
    with psycopg.connect(conninfo) as conn:
        write_texts(conn)
        audit.export(conn, audit.query(), format="parquet", out=out, progress=break_off)


def in_postgresql_async(conninfo: str, out: io.BytesIO) -> None:
    async def export() -> None:
        async with await psycopg.AsyncConnection.connect(conninfo) as conn:
            await audit.aexport(conn, audit.query(), format="parquet", out=out, progress=break_off)

    with psycopg.connect(conninfo) as conn:
        write_texts(conn)
    asyncio.run(export())


def in_sqlite(_conninfo: str, out: io.BytesIO) -> None:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as conn:
        conn.execute("create table t (id integer primary key)")
        audited_in_sqlite(conn, "t")
        conn.executemany("insert into t values (?)", [(number,) for number in range(9)])
        audit.export(conn, audit.query(), format="parquet", out=out, progress=break_off)


@pytest.mark.parametrize("export", [in_postgresql, in_postgresql_async, in_sqlite])
def test_an_export_that_breaks_off_leaves_no_valid_file(
    export: Callable[[str, io.BytesIO], None], database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(written_parquet, "GROUP_ENTRIES", 5)
    out = io.BytesIO()
    with pytest.raises(BrokenOffError):
        export(database, out)
    gc.collect()  # PyArrow ends the file when it frees its writer
    assert out.getvalue().startswith(b"PAR1")
    with pytest.raises(pa.ArrowInvalid):
        parquet.ParquetFile(io.BytesIO(out.getvalue()))

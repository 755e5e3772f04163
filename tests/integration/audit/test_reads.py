"""The record of reads in Python: who read which records, in the transaction of the reader."""

import asyncio
import getpass
import io
import json
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest
import sqlalchemy

from svc_pg import Config, audit
from svc_pg.audit import SealKey
from svc_pg.audit.reads.reading import MOST_KEYS, MOST_TABLES, Reading, bounded_question, reading_through
from svc_pg.errors import ConfigError, ReadNotRecordedError
from tests.support.commands import svc_pg
from tests.support.postgres import Prepare, new_database
from tests.support.rebuilt import rebuilt
from tests.support.tables import create_and_audit

CONFIG = Config()
CONFIG.audit.table("public.patient", record_reads=True)
CONFIG.audit.table("public.note")
DDL = "create table patient (id text primary key, name text); create table note (id int primary key, body text)"


@pytest.fixture(scope="module")
def prepare() -> Prepare:
    def patients(conninfo: str) -> None:
        create_and_audit(conninfo, DDL, CONFIG)
        with psycopg.connect(conninfo) as conn, audit.actor(conn, "ann"):
            conn.execute("insert into patient values ('1', 'Ines'), ('ines@mail.example', 'Ines')")
            conn.execute("insert into note values (1, 'x')")

    return patients


def last(conn: psycopg.Connection[Any]) -> tuple[Any, ...] | None:
    return conn.execute(
        "select after_data ->> 'through', after_data -> 'keys', actor_id, after_data -> 'question' ->> 'of'"
        "  from svc.audit_logs where table_name = 'svc.audit_reads' order by timestamp desc, id desc limit 1"
    ).fetchone()


def number(conn: psycopg.Connection[Any]) -> int:
    row = conn.execute("select count(*) from svc.audit_logs where table_name = 'svc.audit_reads'").fetchone()
    assert row is not None
    return int(row[0])


SEAL_KEY = SealKey.new("s1")


@pytest.fixture
def sealed(postgres: str, template: str) -> Iterator[psycopg.Connection[Any]]:
    """A log whose two entries of patients and one of notes have a seal."""
    with new_database(postgres, template=template) as conninfo:
        create_and_audit(conninfo, DDL, CONFIG)
        with psycopg.connect(conninfo) as conn:
            conn.execute("insert into patient values ('1', 'Ines'), ('2', 'Ada'); insert into note values (1, 'x')")
            conn.commit()
            audit.seal(conn, key=SEAL_KEY)
            yield conn


def test_other_names_of_tables_are_asked_for_once_for_all_reads_of_a_call(database: str) -> None:
    reads = json.dumps([{"table": "public.note", "through": "api"}] * 100)
    with psycopg.connect(database, autocommit=True) as conn:
        conn.execute("set track_functions = 'all'")
        calls = "select pg_stat_get_xact_function_calls('svc.audit_names_of(text)'::regprocedure)"
        for read, asked in ((reads.replace("note", "patient"), None), (reads, 1)):
            with conn.transaction(force_rollback=True):
                conn.execute("select svc.audit_add_reads(%s::jsonb, null, null, null)", (read,))
                assert conn.execute(calls).fetchone() == (asked,)


def entry_of(conn: psycopg.Connection[Any], table: str, key: str) -> str:
    row = conn.execute(
        "select id::text from svc.audit_logs where table_name = %s and record_id = %s", (table, key)
    ).fetchone()
    conn.commit()
    assert row is not None
    return str(row[0])


PROOFS: list[tuple[Callable[[psycopg.Connection[Any], str], object], str]] = [
    (audit.prove, "prove"),
    (audit.certify, "certify entry"),
    (lambda conn, _entry: audit.certify_record(conn, "patient", "1"), "certify record"),
]


@pytest.mark.parametrize(("read", "of"), PROOFS)
def test_each_proof_of_a_record_is_recorded_once_and_for_good(
    sealed: psycopg.Connection[Any], read: Any, of: str
) -> None:
    read(sealed, entry_of(sealed, "public.patient", "1"))
    sealed.rollback()  # the proof was given
    assert number(sealed) == 1
    assert last(sealed) == ("python", ["1"], None, of)
    sealed.rollback()
    sealed.read_only = True
    with pytest.raises(ReadNotRecordedError, match=r"public\.patient"):
        read(sealed, entry_of(sealed, "public.patient", "1"))


def test_proofs_are_given_on_connections_of_sqlalchemy_too(sealed: psycopg.Connection[Any]) -> None:
    entry = entry_of(sealed, "public.patient", "1")
    engine = sqlalchemy.create_engine("postgresql+psycopg://", creator=lambda: psycopg.connect(sealed.info.dsn))
    with engine.connect() as conn:
        for read, _ in PROOFS:
            read(conn, entry)  # type: ignore[arg-type] # what is not promised, and works
        conn.commit()
    engine.dispose()
    assert number(sealed) == len(PROOFS)


def test_the_proof_of_a_table_that_is_not_marked_is_no_read(sealed: psycopg.Connection[Any]) -> None:
    audit.prove(sealed, entry_of(sealed, "public.note", "1"))
    audit.certify(sealed, entry_of(sealed, "public.note", "1"))
    assert number(sealed) == 0


def test_the_certificate_of_an_erasure_is_a_read_of_what_is_left(sealed: psycopg.Connection[Any]) -> None:
    sealed.execute("delete from patient where id = '2'")
    sealed.commit()
    audit.erase(sealed, "patient", "2")
    sealed.commit()
    [erasure] = audit.query().resource("svc.audit_logs").list(sealed).data
    audit.certify_erasure(sealed, erasure.id)
    assert last(sealed) == ("python", ["2"], None, "certify erasure")


def test_the_command_prove_is_recorded(sealed: psycopg.Connection[Any], tmp_path: Path) -> None:
    entry = entry_of(sealed, "public.patient", "1")
    done = svc_pg("prove", entry, folder=tmp_path, variables={"DATABASE_URL": sealed.info.dsn})
    assert done.returncode == 0, done.stderr
    assert last(sealed) == ("command", ["1"], getpass.getuser(), "prove")


def test_async_proofs_are_recorded_too(sealed: psycopg.Connection[Any]) -> None:
    entry = entry_of(sealed, "public.patient", "1")

    async def proofs() -> None:
        async with await psycopg.AsyncConnection.connect(sealed.info.dsn) as conn:
            await audit.aprove(conn, entry)
            await audit.acertify(conn, entry)

    asyncio.run(proofs())
    assert number(sealed) == 2


READS: list[Callable[[psycopg.Connection[Any], str, object], object]] = [
    lambda conn, table, key: audit.history(table, key).list(conn),
    lambda conn, table, key: audit.blame(conn, table, key),
    lambda conn, table, key: audit.as_of(table, "2100-01-01").record(key).list(conn),
    lambda conn, table, key: audit.query().resource(table).record(key).list(conn),
    lambda conn, table, key: audit.last_changes(conn, table, key),
]


@pytest.mark.parametrize("read", READS)
def test_each_way_to_read_a_record_is_recorded_once(conn: psycopg.Connection[Any], read: Any) -> None:
    conn.execute("set local svc.actor_id = 'before'")
    with audit.acting("mara"), reading_through("command", of="test"):
        read(conn, "public.note", 1)
        assert number(conn) == 0
        read(conn, "public.patient", "1")
    assert number(conn) == 1
    found = last(conn)
    assert found is not None
    assert found[:3] == ("command", ["1"], "mara")
    assert conn.execute("select current_setting('svc.actor_id')").fetchone() == ("before",)


def test_an_export_tells_its_question_and_its_number_and_no_keys(conn: psycopg.Connection[Any]) -> None:
    audit.export(conn, audit.query().resource("patient"), out=io.BytesIO())
    row = conn.execute(
        "select after_data from svc.audit_logs where table_name = 'svc.audit_reads' order by id desc limit 1"
    ).fetchone()
    assert row is not None
    assert row[0]["question"]["entries"] == "2"
    assert "keys" not in row[0]
    before = number(conn)
    audit.export(conn, audit.query().resource("note"), out=io.BytesIO())
    audit.export(conn, audit.query().without(resource=["patient"]), out=io.BytesIO())
    assert number(conn) == before
    audit.export(conn, audit.query().without(resource=["note"]), out=io.BytesIO())
    assert number(conn) == before + 1


def test_a_read_is_refused_in_a_transaction_that_only_reads(conn: psycopg.Connection[Any]) -> None:
    conn.execute("set transaction read only")
    with pytest.raises(ReadNotRecordedError, match=r"public\.patient"):
        audit.history("patient", "1").list(conn)
    assert audit.history("note", 1).list(conn).data


def test_a_key_that_may_tell_of_somebody_is_hashed_and_found(conn: psycopg.Connection[Any]) -> None:
    audit.history("patient", "ines@mail.example").list(conn)
    found = last(conn)
    assert found is not None
    assert found[1][0].startswith("hashed:")
    [read] = audit.reads("patient", "ines@mail.example").list(conn).data
    assert (read.is_certain, read.through, read.records) == (True, "python", 1)
    assert audit.reads("patient", "1").list(conn).data == []


def test_a_window_has_only_the_reads_of_its_time(conn: psycopg.Connection[Any]) -> None:
    audit.history("patient", "1").list(conn)
    [read] = audit.reads("patient", "1").list(conn).data
    later = read.timestamp + timedelta(microseconds=1)
    assert audit.reads("patient", "1").since(read.timestamp).until(later).list(conn).data == [read]
    assert audit.reads("patient", "1").since(later).list(conn).data == []
    assert audit.reads("patient", "1").since("1h").list(conn).data == [read]
    assert audit.reads("patient", "1").until("1h").list(conn).data == []
    assert audit.reads("patient", "1").until(read.timestamp).list(conn).data == []


def test_keys_beyond_the_bound_are_counted_and_may_be_any(conn: psycopg.Connection[Any]) -> None:
    conn.execute(
        "select svc.audit_add_reads(jsonb_build_array(jsonb_build_object('table', 'public.patient', 'through', 'api',"
        " 'records', 1500, 'keys', (select jsonb_agg(n::text) from generate_series(1, 1500) n),"
        " 'question', jsonb_build_object('long', repeat('x', 5000)))), null, null, null)"
    )
    row = conn.execute(
        "select jsonb_array_length(after_data -> 'keys'), after_data -> 'more', after_data -> 'question'"
        "  from svc.audit_logs where table_name = 'svc.audit_reads' order by id desc limit 1"
    ).fetchone()
    assert row == (MOST_KEYS, 500, {"cut": True})
    [read] = audit.reads("patient", "1400").list(conn).data
    assert not read.is_certain
    [read] = audit.reads("patient", "7").list(conn).data
    assert read.is_certain


def test_long_keys_never_make_an_answer_unreadable(conn: psycopg.Connection[Any]) -> None:
    reading = Reading("api", {})
    reading.add({"public.patient": [f"{n:04}" + "\x01" * 990 for n in range(MOST_KEYS)]})
    documents = reading.documents(["public.patient"])
    assert conn.execute(
        "select svc.audit_add_reads(%s::jsonb, null, null, null)", (json.dumps(documents),)
    ).fetchone() == (1,)
    row = conn.execute(
        "select after_data -> 'records', jsonb_array_length(after_data -> 'keys') + (after_data -> 'more')::integer"
        "  from svc.audit_logs where table_name = 'svc.audit_reads' order by id desc limit 1"
    ).fetchone()
    assert row == (MOST_KEYS, MOST_KEYS)


def test_the_function_takes_no_table_that_is_not_marked_and_no_other_way(conn: psycopg.Connection[Any]) -> None:
    add = "select svc.audit_add_reads(%s::jsonb, null, null, null)"
    assert conn.execute(add, ('[{"table": "public.note", "through": "api"}]',)).fetchone() == (0,)
    with pytest.raises(psycopg.Error, match="no way to read"):
        conn.execute(add, ('[{"table": "public.patient", "through": "magic"}]',))


def test_a_reader_records_under_its_own_database_user(conn: psycopg.Connection[Any]) -> None:
    conn.execute("set local role svc_reader")
    audit.history("patient", "1").list(conn)
    conn.execute("reset role")
    row = conn.execute(
        "select db_user = session_user::text, db_role from svc.audit_logs where table_name = 'svc.audit_reads'"
    ).fetchone()
    assert row == (True, "svc_reader")


def test_capture_log_writes_no_reads(conn: psycopg.Connection[Any]) -> None:
    with pytest.raises(psycopg.Error, match="READ is not an operation"):
        conn.execute("select svc.capture_log('files', 'READ')")


def test_a_table_beyond_the_bound_is_recorded_without_keys() -> None:
    reading = Reading("page", {})
    reading.add({f"public.t{number}": ["1"] for number in range(MOST_TABLES + 1)})
    last_kept, beyond = reading.documents([f"public.t{MOST_TABLES - 1}", f"public.t{MOST_TABLES}"])
    assert (last_kept["records"], last_kept["keys"]) == (1, ["1"])
    assert beyond == {"table": f"public.t{MOST_TABLES}", "through": "page", "question": {}}


def test_a_question_is_bounded_and_says_so() -> None:
    found = bounded_question({f"filter {n}": "x" * 10_000 for n in range(100)})
    assert found["cut"] == "true"
    assert len(str(found)) < 4_000


def test_without_a_marked_table_nothing_is_written(postgres: str, template: str) -> None:
    config = Config()
    config.audit.table("public.note")
    with new_database(postgres, template=template) as conninfo:
        create_and_audit(conninfo, DDL, config)
        with psycopg.connect(conninfo, autocommit=True) as conn:
            conn.execute("insert into note values (1, 'x')")
            with conn.transaction():
                conn.execute("set transaction read only")
                assert audit.history("note", 1).list(conn).data
                assert audit.query().list(conn).data
            assert number(conn) == 0


def test_what_is_allowed_unrecorded_is_shown_with_a_warning(
    postgres: str, template: str, caplog: pytest.LogCaptureFixture
) -> None:
    config = CONFIG.model_copy(deep=True)
    config.audit.unrecorded_reads = "allow"
    with new_database(postgres, template=template) as conninfo:
        create_and_audit(conninfo, DDL, config)
        with psycopg.connect(conninfo) as conn:
            conn.execute("insert into patient values ('1', 'Ines')")
            conn.commit()
            conn.execute("set transaction read only")
            assert audit.history("patient", "1").list(conn).data
    assert "public.patient" in caplog.text


def test_commands_are_recorded_with_the_user_of_the_machine(database: str, tmp_path: Path) -> None:
    def run(*arguments: str) -> str:
        done = svc_pg(*arguments, folder=tmp_path, variables={"DATABASE_URL": database})
        assert done.returncode == 0, done.stderr
        return done.stdout

    for command in (["history", "patient", "1"], ["blame", "patient", "1"], ["log", "--table", "patient"]):
        run(*command)
        with psycopg.connect(database) as conn:
            through, keys, actor, of = last(conn) or (None,) * 4
        assert (through, of) == ("command", command[0])
        assert "1" in keys
        assert actor == getpass.getuser()
    run("export", "--format", "ndjson", "--to", "log.ndjson")
    told = run("reads", "patient", "1")
    assert told.count("command") == 3
    assert run("reads", "patient", "1", "--between", "2020-01-01 to 2020-01-02") == ""
    assert "perhaps this one" in told
    assert '"export"' in told or "export" in told


def test_reads_are_sealed_and_change_nothing_of_what_the_log_tells_of_rows(postgres: str, template: str) -> None:
    key = SealKey.new("s1")
    with new_database(postgres, template=template) as conninfo:
        create_and_audit(conninfo, DDL, CONFIG)
        with psycopg.connect(conninfo, autocommit=True) as conn:
            conn.execute("insert into patient values ('1', 'Ines'), ('ines@mail.example', 'Ines')")
            for record in ("1", "ines@mail.example"):
                audit.history("patient", record).list(conn)
            conn.execute("update patient set name = 'Inez'")
            assert number(conn) == 2
            audit.seal(conn, key=key)
            verified = audit.verify(conn, public_keys=key.public)
            assert verified.is_intact
            assert (verified.entries, verified.unsealed) == (6, 0)
            exported = io.BytesIO()
            audit.export(conn, audit.query(), out=exported)
            sql, found = rebuilt(exported.getvalue(), table="public.patient")
            assert found.rows == 2
            assert sql.count(b"Inez") == 2
            assert audit.reconcile(conn, CONFIG).is_whole
            conn.execute("delete from patient where id <> '1'")
            audit.erase(conn, "patient", "ines@mail.example")
            rows = conn.execute("select to_json(a)::text from svc.audit_logs a where operation = 'READ'").fetchall()
            assert len(rows) >= 3
            assert not any("ines@" in row for (row,) in rows)
            audit.seal(conn, key=key)
            assert audit.verify(conn, public_keys=key.public).is_intact


def test_sqlite_refuses_the_mark(tmp_path: Any) -> None:
    import sqlite3

    from svc_pg import schema

    conn = sqlite3.connect(tmp_path / "shop.db", isolation_level=None)
    conn.execute("create table patient (id text primary key, name text)")
    config = Config()
    config.audit.table("patient", record_reads=True)
    with pytest.raises(ConfigError, match="record_reads"):
        schema.install(conn, config)
    conn.close()

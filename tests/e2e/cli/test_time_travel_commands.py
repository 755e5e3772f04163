"""The commands history, as-of, diff, blame and revert print what the functions return."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, LiteralString

import psycopg
import pytest
from typer.testing import CliRunner

from cli.app import app
from cli.known_tables import warn_of_silences
from svc_pg import audit, schema
from svc_pg.audit.past import as_of
from svc_pg.database.query import scalar
from svc_pg.maintenance import maintain
from tests.support.commands import svc_pg
from tests.support.long_record import lengthen
from tests.support.postgres import Prepare
from tests.support.roles import as_role, new_role
from tests.support.tables import audited, create_and_audit

Run = Callable[..., Any]


@pytest.fixture(scope="module")
def prepare() -> Prepare:
    """Customer 1 came and was renamed in one transaction; the name of customer 2 could control a terminal."""

    def prepare(conninfo: str) -> None:
        ddl: LiteralString = """
            create table customer (id int primary key, name text, pin text);
            create table offer (id int primary key, until timestamptz, plan jsonb, pin text)
        """
        create_and_audit(conninfo, ddl, audited("customer", "offer", redact=["pin"]))
        with psycopg.connect(conninfo) as conn, audit.actor(conn, "alice"):
            conn.execute("insert into customer values (1, 'a', '0000')")
            conn.execute("update customer set name = 'b', pin = '1234'")
            conn.execute("insert into customer values (2, E'\\x1b[2J', '1111')")

    return prepare


@pytest.fixture
def run(database: str, tmp_path: Path) -> Run:
    return lambda *arguments: svc_pg(*arguments, folder=tmp_path, variables={"DATABASE_URL": database})


def test_related_shows_a_record_with_the_rows_that_refer_to_it(run: Run, database: str) -> None:
    with psycopg.connect(database) as conn:
        ddl: LiteralString = "create table parcel (id int primary key, customer_id int references customer, note text)"
        wanted = audited("customer", "offer", redact=["pin"])
        wanted.audit.table("public.parcel")
        create_and_audit(database, ddl, wanted)
        conn.execute("insert into parcel values (1, 1, E'\\x1b[2J')")
    shown = run("related", "customer", "1", "--at", "last")
    assert shown.returncode == 0, shown.stderr
    lines = shown.stdout.splitlines()
    assert ["parcel 1" in line for line in lines[:3]] == [True, False, False]
    assert "note: " in lines[0]
    assert "\x1b" not in "".join(lines)
    assert lines[3].startswith("As of ")
    assert any(line.startswith("  parcel 1  id: 1, customer_id: 1") for line in lines[4:])
    assert [each["recordId"] for each in json.loads(run("related", "customer", "1", "--json").stdout)["records"]] == [
        "1",
        "1",
    ]
    assert run("related", "customer", "9").returncode == 1


def test_history_shows_the_states_of_a_record(run: Run) -> None:
    lines = run("history", "customer", "1").stdout.splitlines()
    assert [line.split("  ", 1)[1] for line in lines] == [
        'alice  UPDATE    name: "a" -> "b", pin: (redacted)  [entry 2]',
        'alice  INSERT    id: 1, name: "a", pin: (redacted)  [entry 1]',
    ]
    page = json.loads(run("history", "customer", "1", "--limit", "1", "--json").stdout)
    assert [(state["operation"], state["validTo"]) for state in page["data"]] == [("UPDATE", None)]
    assert "INSERT" in run("history", "customer", "1", "--after", page["nextCursor"]).stdout
    assert "\\u001b[2J" in run("history", "customer", "2").stdout


def test_a_time_in_which_capture_was_not_right_is_told(run: Run, database: str) -> None:
    config = audited("customer", "offer", redact=["pin"])
    commands = (["history", "customer", "1"], ["blame", "customer", "1"], ["as-of", "2100-01-01", "customer"])
    with psycopg.connect(database, autocommit=True) as conn:
        assert maintain(conn, config)
        assert [command for command in commands if "capture was" in run(*command).stderr] == []
        conn.execute("alter table customer disable trigger user")
        assert maintain(conn, config)
        told = "warning: capture was not right for a time between "
        assert [told in (done := run(*command).stderr) and " and now;" in done for command in commands] == [True] * 3
        conn.execute("alter table customer enable trigger user")
        schema.install(conn, config)
        conn.execute("delete from svc.audit_gaps")  # as a backfill does
        assert maintain(conn, config)
    for command in commands:
        done = run(*command)
        assert re.search(rf"{told}2\S+ \S+Z and 2\S+ \S+Z; changes of then may be missing", done.stderr)
        assert (done.returncode, told in done.stdout) == (0, False)
    assert told not in run("history", "offer", "1").stderr
    assert "OverflowError" not in run("as-of", "9999999d", "customer").stderr


def test_a_silence_after_the_time_is_told_because_the_values_of_then_come_from_the_next_entry(
    run: Run, database: str
) -> None:
    config = audited("customer", "offer", "old", redact=["pin"])
    with psycopg.connect(database, autocommit=True) as conn:
        conn.execute("create table old (id int primary key, v int, pin text); insert into old values (1, 1, '')")
        schema.install(conn, config)
        assert maintain(conn, config)
        then = scalar(conn, "select clock_timestamp()").isoformat()
        conn.execute("alter table old disable trigger user; update old set v = 2")
        assert maintain(conn, config)
        conn.execute("alter table old enable trigger user; update old set v = 3")
    for key in ([], ["1"]):
        assert "warning: capture was not right for a time between " in run("as-of", then, "old", *key).stderr


def test_it_is_told_if_silences_cannot_be_read(
    postgres: str, database: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    told = "warning: it is not known if capture was right all the time\n"
    with psycopg.connect(database, autocommit=True) as conn:
        warn_of_silences(conn, "customer")
        assert capsys.readouterr().err == ""
        monkeypatch.setattr("cli.optional_read.BY_INDEXES", "set local statement_timeout = '10ms'")
        with psycopg.connect(database) as other:
            other.execute("lock table svc.audit_logs")
            warn_of_silences(conn, "customer")
        assert capsys.readouterr().err == told
    monkeypatch.undo()
    with new_role(postgres) as role, as_role(database, role) as conn:
        warn_of_silences(conn, "customer")
    assert capsys.readouterr().err == told


def test_as_of_shows_a_row_or_a_table(run: Run) -> None:
    done = run("as-of", "2100-01-01", "customer", "1")
    assert done.stdout == 'id    1\nname  "b"\npin   (not known)\n'
    assert "by alice, UPDATE, entry 2" in done.stderr
    [first, second] = json.loads(run("as-of", "2100-01-01", "customer", "--json").stdout)["data"]
    assert (first["recordId"], first["values"], first["unknownFields"]) == (
        "1", {"id": 1, "name": "b", "pin": None}, ["pin"]
    )  # fmt: skip
    assert second["values"]["id"] == 2
    lines = run("as-of", "2100-01-01", "customer")
    assert lines.stdout.startswith('1  id: 1, name: "b", pin: null\n2  id: 2')
    assert "--json names them" in lines.stderr


def test_as_of_shows_values_that_python_does_not_have(run: Run, database: str) -> None:
    with psycopg.connect(database) as conn:
        conn.execute("insert into offer values (1, 'infinity', repeat('9', 5000)::jsonb)")
    assert run("as-of", "2100-01-01", "offer", "1").stdout.startswith('id     1\nuntil  "infinity"\nplan   999')
    assert '"until": "infinity"' in run("as-of", "2100-01-01", "offer", "--json").stdout
    assert run("as-of", "2100-01-01", "offer").stdout.startswith('1  id: 1, until: "infinity", plan: 999')


def test_diff_shows_an_entry_and_a_transaction(run: Run, database: str) -> None:
    with psycopg.connect(database) as conn:
        [(xact,)] = conn.execute("select distinct xact_id from svc.audit_logs")
    assert run("diff", "2").stdout.splitlines()[1:] == ['    name: "a" -> "b"', "    pin: (redacted)"]
    document = json.loads(run("diff", "2", "--json").stdout)
    assert document["patch"] == [{"op": "replace", "path": "/name", "value": "b"}]
    assert document["redacted"] == ["pin"]
    assert [each["id"] for each in json.loads(run("diff", "--transaction", str(xact), "--json").stdout)] == [
        "1", "2", "3"
    ]  # fmt: skip


def test_lists_and_differences_name_the_partition_that_alone_was_emptied(run: Run, database: str) -> None:
    with psycopg.connect(database, autocommit=True) as conn:
        conn.execute("create table part (id int primary key, pin text) partition by list (id)")
        conn.execute("create table part1 partition of part for values in (1)")
        schema.install(conn, audited("customer", "offer", "part", redact=["pin"]))
        conn.execute("truncate part1")
        emptied = scalar(conn, "select min(id) from svc.audit_logs where table_name = 'public.part'")
    assert "public.part (only public.part1)" in run("log", "--table", "part").stdout
    assert "public.part (only public.part1)" in run("diff", str(emptied)).stdout
    assert json.loads(run("diff", str(emptied), "--json").stdout)["partition"] == "public.part1"


def test_blame_shows_who_changed_each_field(run: Run) -> None:
    found = {line.split()[0]: line for line in run("blame", "customer", "1").stdout.splitlines()}
    assert "UPDATE  [entry 2]" in found["name"]
    assert '"b"' in found["name"]
    assert "(redacted)" in found["pin"]
    assert "INSERT  [entry 1]" in found["id"]
    origins = json.loads(run("blame", "customer", "1", "--json").stdout)
    assert origins["nextCursor"] is None
    assert {(each["field"], each["entryId"]) for each in origins["data"]} == {("name", "2"), ("pin", "2"), ("id", "1")}


def test_blame_says_since_when_a_field_has_not_changed_and_goes_on_by_a_cursor(run: Run, database: str) -> None:
    with psycopg.connect(database) as conn:
        lengthen(conn, "customer", "1", "name")
    done = run("blame", "customer", "1")
    found = {line.split()[0]: line for line in done.stdout.splitlines()}
    assert "UPDATE" in found["name"]
    assert "  not changed since 2" in found["id"]
    assert "  not changed since 2" in found["pin"]
    [cursor] = re.findall(r"--after (\S+)", done.stderr)
    found = {line.split()[0]: line for line in run("blame", "customer", "1", "--after", cursor).stdout.splitlines()}
    assert set(found) == {"id", "pin"}
    assert "alice  INSERT  [entry 1]" in found["id"]
    assert "alice  UPDATE  [entry 2]" in found["pin"]


REFUSED: Final[list[tuple[tuple[str, ...], int, str]]] = [
    (("history", "customer", "7"), 1, 'the log does not know a record 7 of "public.customer"'),
    (("history", "nothing", "1"), 1, 'the log does not know a record 1 of "public.nothing"'),
    (
        ("history", "custome", "1"),
        1,
        'does not exist, is not audited and has no entries; did you mean "public.customer"?',
    ),
    (("as-of", "2020-01-01", "customer"), 1, '"public.customer" is not known before 2'),
    (("as-of", "2100-01-01", "customer", "7"), 1, "had no record 7 then"),
    (("as-of", "2100-01-01", "customer", "7"), 1, "warning: 2100-01-01 is in the future: these are the states of now"),
    (("as-of", "1h", "nothing"), 1, 'there is no past of "public.nothing" to read'),
    (("as-of", "soon", "customer"), 2, "'soon' is not a time"),
    (("as-of", "1h", "custome"), 1, 'did you mean "public.customer"?'),
    (("history", "keyless", "1"), 1, 'warning: table "public.keyless" has no key, so the log has no records of it'),
    (("blame", "keyless", "1"), 1, 'warning: table "public.keyless" has no key'),
    (("diff", "99"), 1, "the log has no entry 99"),
    (("diff", "x"), 1, "'x' is not the id of an entry"),
    (("diff", "--transaction", "x"), 1, "'x' is not a transaction"),
    (("diff", "--transaction", "1"), 1, "the log has no transaction 1"),
    (("diff",), 2, "pass the id of an entry, or --transaction ID"),
    (("blame", "customer", "7"), 1, 'the log does not know a record 7 of "public.customer"'),
]


def test_what_cannot_be_shown_is_said(run: Run, database: str) -> None:
    with psycopg.connect(database) as conn:
        conn.execute(
            "insert into svc.audit_logs (table_name, table_oid, operation) values ('public.keyless', 0, 'INSERT')"
        )
    for arguments, code, message in REFUSED:
        done = run(*arguments)
        assert (done.returncode, done.stdout) == (code, "")
        assert message in " ".join(done.stderr.replace("│", "").split())


def test_revert_prints_sql_that_takes_a_change_back(run: Run, database: str) -> None:
    with psycopg.connect(database) as conn:
        [(xact,)] = conn.execute("select distinct xact_id from svc.audit_logs")
    refused = run("revert", "2")
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "the value of pin of public.customer 1 is redacted" in refused.stderr
    done = run("revert", "2", "--leave", "pin")
    assert done.stdout.startswith("-- Takes back entry 2: all of it, or nothing")
    with psycopg.connect(database) as conn:
        conn.execute(done.stdout.encode())
        assert conn.execute("select name from customer where id = 1").fetchone() == ("a",)
        conn.rollback()
        conn.execute(run("revert", "--transaction", str(xact)).stdout.encode())
        assert conn.execute("select count(*) from customer").fetchone() == (0,)
    assert run("revert").returncode == 2


def test_what_was_erased_is_said_to_be(run: Run, database: str) -> None:
    with psycopg.connect(database, autocommit=True) as conn:
        conn.execute("delete from customer where id = 2")
        audit.erase(conn, "customer", 1)
        audit.erase(conn, "customer", 2)
    assert [line.split("  ", 1)[1] for line in run("history", "customer", "1").stdout.splitlines()] == [
        "alice  UPDATE    (erased)  [entry 2]",
        "alice  INSERT    (erased)  [entry 1]",
    ]
    assert "DELETE    (erased)  [entry 4]" in run("history", "customer", "2").stdout
    one = run("as-of", "2100-01-01", "customer", "1")
    assert {line.split()[-1] for line in one.stdout.splitlines()} == {"(erased)"}
    assert "recorded of no column" not in one.stderr
    assert run("as-of", "2100-01-01", "customer").stdout == "1  (erased)\n"
    [first, *fields] = run("diff", "2").stdout.splitlines()
    assert first.endswith("(erased)  [entry 2]")
    assert fields == ["    name: (erased)", "    pin: (erased)"]
    assert "is erased" in run("blame", "customer", "1").stderr


def test_a_revert_in_a_file_has_every_character_of_a_value(run: Run, database: str) -> None:
    with psycopg.connect(database, autocommit=True) as conn:
        conn.execute("update customer set name = 'c' where id = 2")
        entry = scalar(conn, "select max(id)::text from svc.audit_logs")
        conn.execute(run("revert", entry).stdout.encode())
        assert scalar(conn, "select name from customer where id = 2") == "\x1b[2J"


def test_the_names_that_a_renamed_table_had_are_told(run: Run, database: str) -> None:
    with psycopg.connect(database, autocommit=True) as conn:
        conn.execute("alter table customer rename to client")
        schema.install(conn, audited("client", redact=["pin"]), prune=True)
        conn.execute("update client set name = 'c' where id = 1")
    told = '"public.client" was renamed: what the log has of it as public.customer is not shown here\n'
    for arguments in (("history", "client", "1"), ("blame", "client", "1"), ("as-of", "1s", "client")):
        assert told in run(*arguments).stderr
    older = run("history", "customer", "1")
    assert len(older.stdout.splitlines()) == 2
    assert "of it as public.client is not shown here" in older.stderr
    with psycopg.connect(database, autocommit=True) as conn:
        conn.execute("create table customer (id int primary key)")
        schema.install(conn, audited("client", "customer"))
    told = '"public.customer" was the name of what is client now: its entries from then count here too\n'
    assert run("history", "customer", "1").stderr == told


def test_the_rows_as_of_a_time_at_which_few_were_there_end_and_go_on(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(as_of, "MOST_RECORDS", 2)
    with psycopg.connect(database, autocommit=True) as conn:
        conn.execute("insert into offer (id) select generate_series(100, 199)")
        conn.execute("delete from offer where id < 199")

    def listed(*options: str) -> Any:
        return CliRunner().invoke(app, ["as-of", "2100-01-01", "offer", "--json", "--database-url", database, *options])

    answers, cursor = [listed()], ""
    while (cursor := json.loads(answers[-1].stdout)["nextCursor"]) is not None:
        answers.append(listed("--after", cursor))
    assert len(answers) > 1
    assert [row["recordId"] for each in answers for row in json.loads(each.stdout)["data"]] == ["199"]
    people = CliRunner().invoke(app, ["as-of", "2100-01-01", "offer", "--database-url", database])
    assert "Nothing found up to here." in people.stderr
    assert "--after" in people.stderr

"""The command ``rebuild``, from an export that the command ``export`` wrote."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest

from tests.support.commands import PROGRAM, environment, svc_pg
from tests.support.postgres import Prepare
from tests.support.rebuilt import load
from tests.support.tables import audited, create_and_audit

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="module")
def prepare() -> Prepare:
    """A table with two rows, of which one was changed."""

    def prepare(conninfo: str) -> None:
        ddl = "create table customer (id int generated always as identity primary key, name text, iban text)"
        create_and_audit(conninfo, ddl, audited("customer", redact=["iban"]))
        with psycopg.connect(conninfo) as conn:
            conn.execute("insert into customer (name, iban) values ('Ann', 'DE1'), ('Bob', 'DE2')")
            conn.execute("update customer set name = 'Anne' where id = 1")

    return prepare


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Run a command without a database."""
    return lambda *arguments, **options: svc_pg(*arguments, folder=tmp_path, **options)


@pytest.fixture
def export(database: str, tmp_path: Path) -> Path:
    """The whole log as a file."""
    done = svc_pg(
        *("export", "--unsettled", "--format", "ndjson", "--to", "log.ndjson"),
        folder=tmp_path,
        variables={"DATABASE_URL": database},
    )
    assert done.returncode == 0, done.stderr
    return tmp_path / "log.ndjson"


@pytest.mark.parametrize("form", ["inserts", "copy"])
def test_the_rows_of_an_export_are_loaded_without_the_database(
    run: Run, export: Path, empty_database: str, tmp_path: Path, form: str
) -> None:
    done = run("rebuild", "--from", export.name, "--table", "customer", "--format", form, "--output", "customer.sql")
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr.splitlines() == [
        "2 rows from 3 entries.",
        "note: A column is redacted in the log, and is left out: 'iban' in 2 rows.",
    ]
    with psycopg.connect(empty_database, autocommit=True) as conn:
        conn.execute("create table customer (id int generated always as identity primary key, name text, iban text)")
        load(empty_database, (tmp_path / "customer.sql").read_bytes())
        assert conn.execute("select * from customer order by id").fetchall() == [(1, "Anne", None), (2, "Bob", None)]


def test_wrong_input_is_an_error_and_no_traceback(run: Run, export: Path, tmp_path: Path) -> None:
    text = export.read_bytes()
    cases = [
        (("rebuild", "--from", "missing.ndjson"), 1, "missing.ndjson cannot be read: No such file"),
        (("rebuild", "--from", "log.ndjson", "--table", "custmer"), 1, "It has 'public.customer'"),
        (("rebuild", "--from", "log.ndjson", "--at", "7d"), 2, "write a time"),
        (("rebuild", "--from", "log.ndjson", "--at", "2001-01-01"), 1, "is not known before"),
        (("rebuild", "--from", "log.ndjson", "--output", "log.ndjson"), 2, "it would replace the export"),
        (("rebuild", "--from", "."), 1, "cannot be read: Is a directory"),
    ]
    for arguments, code, words in cases:
        done = run(*arguments)
        assert (done.returncode, "Traceback" in done.stderr) == (code, False), done.stderr
        assert words in " ".join(done.stderr.replace("\u2502", "").split())
    assert export.read_bytes() == text
    (tmp_path / "old.sql").write_text("old", encoding="utf-8")
    export.write_bytes(text[: len(text) // 2])
    cut = run("rebuild", "--from", "log.ndjson", "--output", "old.sql")
    assert (cut.returncode, "cut" in cut.stderr) == (1, True), cut.stderr
    assert (tmp_path / "old.sql").read_text(encoding="utf-8") == "old"


def test_a_reader_that_leaves_ends_it(export: Path, tmp_path: Path) -> None:
    line = export.read_text(encoding="utf-8").splitlines()[0]
    many = (line.replace('"id":"', f'"id":"{number}0', 1).replace("Ann", "A" * 1000) for number in range(1, 3000))
    export.write_text("\n".join(many) + "\n", encoding="utf-8")
    command = f"{PROGRAM} rebuild --from - < {export.name} | head -c 10"
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command], cwd=tmp_path, env=environment(), capture_output=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"-- The row", b"")

"""The demo on a file of SQLite: the audit half, with no server at all."""

import json
import shlex
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from cli.app import app
from cli.demo import sqlite


def run(*arguments: str) -> Result:
    """Run one command to its end, in this process."""
    return CliRunner().invoke(app, arguments, prog_name="svc-pg")


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that has temporary files: empty, and with a name that a shell reads as several words."""
    folder = tmp_path / "temporary files"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def test_it_shows_what_the_log_holds_and_its_commands_look_further(temporary: Path) -> None:
    done = run("demo", "--database", "sqlite")
    assert done.exit_code == 0, done.stderr
    words = " ".join(done.stdout.split())
    for shown in ("alice", "support", "password_hash: (redacted)", "****1881", "(nobody)", "price nearly zero"):
        assert shown in words
    assert "DELETE of svc_audit_logs refused" in words
    assert "scrypt" not in words
    [folder] = temporary.iterdir()
    assert f"The shop stays in {folder}" in done.stdout
    log, record, status, export = [
        run(*shlex.split(line)[1:]) for line in done.stdout.splitlines() if line.startswith("  svc-pg ")
    ]
    assert [each.exit_code for each in (log, record, status, export)] == [0, 0, 0, 0]
    assert len(log.stdout.splitlines()) == 8
    mara, nobody = record.stdout.splitlines()
    assert "mara  UPDATE" in mara
    assert "(nobody named)" in nobody
    assert "Tent went from 229.0 to 1.0" in nobody
    assert "objects are as they should be" in status.stderr
    assert "****1881" in export.stdout
    with closing(sqlite3.connect(folder / "shop.db")) as conn:
        conn.execute("update product set price = 249 where id = 1")
        conn.commit()
    assert len(run("log", "--database-url", f"sqlite:///{folder}/shop.db").stdout.splitlines()) == 9


def test_once_leaves_nothing_and_prints_json_alone_if_asked(temporary: Path) -> None:
    done = run("demo", "--database", "sqlite", "--once", "--json")
    assert done.exit_code == 0, done.stderr
    assert list(temporary.iterdir()) == []
    found = json.loads(done.stdout)
    assert (found["folder"], found["commands"]) == (None, [])
    assert [(alarm["actorId"], alarm["severity"]) for alarm in found["alarms"]] == [(None, "critical")]
    [hashed] = [entry for entry in found["auditEntries"] if entry["changedFields"] == ["password_hash"]]
    assert (hashed["actorId"], hashed["redactedFields"]) == ("bob", ["password_hash"])
    assert [step["name"] for step in found["steps"]] == [
        line.removeprefix("- ") for line in done.stderr.splitlines() if line.startswith("- ")
    ]
    told = run("demo", "--database", "sqlite", "--once")
    assert "svc-pg log" not in told.stdout
    assert "Without --once the file stays" in told.stdout
    assert list(temporary.iterdir()) == []


@pytest.mark.parametrize(
    "rule",
    [
        'redact = ["password_hash"]',
        'redact = {card_number = "last4"}',
        'label = "price nearly zero"',
        '[[audit.tables]]\nname = "orders"\nredact = {card_number = "last4"}\n',
    ],
)
def test_a_log_that_lacks_something_or_has_a_secret_is_a_failure(monkeypatch: pytest.MonkeyPatch, rule: str) -> None:
    assert rule in sqlite._TOML
    monkeypatch.setattr(sqlite, "_TOML", sqlite._TOML.replace(rule, ""))
    done = run("demo", "--database", "sqlite", "--once")
    assert (done.exit_code, done.stderr.splitlines()[-1]) == (
        1,
        "error: not all was recorded and delivered as it should be; see above",
    )


def test_a_demo_that_fails_half_way_leaves_nothing(temporary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite, "_DAY", [("alice", "insert into nowhere values (1)", ())])
    done = run("demo", "--database", "sqlite")
    assert isinstance(done.exception, sqlite3.OperationalError)
    assert list(temporary.iterdir()) == []


@pytest.mark.parametrize(
    "options",
    [["--database", "mysql"], ["--database-url", "sqlite:///shop.db"], ["--database", "sqlite", "--embedded"]],
)
def test_options_that_do_not_fit_are_refused(temporary: Path, options: list[str]) -> None:
    done = run("demo", "--once", *options)
    assert (done.exit_code, done.stdout) == (2, "")
    assert list(temporary.iterdir()) == []

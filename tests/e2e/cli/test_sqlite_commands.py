"""The commands on a file of SQLite."""

import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from tests.support.commands import environment, svc_pg
from tests.support.sqlite import audited, connect, entries

TOML = """
[[audit.tables]]
name = "customer"
redact = {email = "hash"}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a shop and a configuration."""
    with closing(connect(database=tmp_path / "shop.db")) as conn:
        conn.execute("create table customer (id integer primary key, name text, email text)")
        conn.execute("insert into customer values (1, 'Ann', 'ann@shop.example')")
    (tmp_path / "svc-pg.toml").write_text(TOML)
    return tmp_path


def test_a_database_is_installed_compared_and_cleared_by_its_address(folder: Path) -> None:
    relative, whole = "sqlite:///shop.db", f"sqlite+aiosqlite:///{folder}/shop.db?timeout=3"
    plan = svc_pg("plan", "--database-url", relative, folder=folder)
    assert (plan.returncode, plan.stdout.count("\n-- create trigger ")) == (0, 10)
    missing = svc_pg("status", folder=folder, variables={"DATABASE_URL": whole})
    assert missing.returncode == 3
    install = svc_pg("install", "--database-url", whole, "--backfill", folder=folder)
    assert (install.returncode, install.stderr.splitlines()[-2:]) == (
        0,
        ["snapshot of 1 row of main.customer", "12 changes."],
    )
    again = svc_pg("install", folder=folder, variables={"DATABASE_URL": relative})
    assert (again.returncode, again.stderr.count("Nothing to change")) == (0, 1)
    status = svc_pg("status", "--database-url", relative, folder=folder)
    assert (status.returncode, "main.customer" in status.stdout) == (0, True)
    with closing(connect(database=folder / "shop.db")) as conn:
        assert entries(conn) == [("SNAPSHOT", "1")]
        conn.execute('drop trigger "00_svc_audit_update_customer"')
    drift = svc_pg("status", "--database-url", relative, folder=folder)
    assert (drift.returncode, "00_svc_audit_update_customer" in drift.stdout) == (3, True)
    for arguments in (["uninstall"], ["uninstall", "--drop-data", "--yes"]):
        assert svc_pg(*arguments, "--database-url", relative, folder=folder).returncode == 0
    with closing(connect(database=folder / "shop.db")) as conn:
        assert conn.execute("select name from sqlite_schema where name not like 'sqlite%'").fetchall() == [
            ("customer",)
        ]


def test_an_install_that_records_nothing_says_where_to_name_tables(folder: Path) -> None:
    (folder / "svc-pg.toml").unlink()
    install = svc_pg("install", "--database-url", "sqlite:///shop.db", folder=folder)
    last = "No table is recorded yet: name them in svc-pg.toml, each below [[audit.tables]]."
    assert (install.returncode, install.stderr.splitlines()[-2:]) == (0, ["5 changes.", last])


def test_an_address_with_a_slip_makes_no_database(folder: Path) -> None:
    before = sorted(folder.iterdir())
    missing = svc_pg("install", "--database-url", "sqlite:///shp.db", folder=folder)
    assert (missing.returncode, missing.stderr.startswith(f"error: there is no file {folder}/shp.db\n")) == (1, True)
    for command in ("plan", "status", "uninstall"):
        assert svc_pg(command, "--database-url", "sqlite:///no/such/shop.db", folder=folder).returncode == 1
    long = svc_pg("log", "--database-url", f"sqlite:///{'x' * 300}", folder=folder)
    assert (long.returncode, long.stderr.endswith("cannot be opened: File name too long\n")) == (1, True)
    assert sorted(folder.iterdir()) == before


def test_a_file_with_damage_is_named_as_such(folder: Path) -> None:
    with closing(connect(database=folder / "shop.db")) as conn:
        audited(conn, "customer")
        conn.executemany("insert into customer (name) values (?)", [("x" * 2000,)] * 50)
    content = bytearray((folder / "shop.db").read_bytes())
    half = len(content) // 2
    content[half:] = bytes(len(content) - half)
    (folder / "shop.db").write_bytes(content)
    for command in ("export", "log"):
        done = svc_pg(command, "--database-url", "sqlite:///shop.db", folder=folder)
        assert (done.returncode, done.stderr.splitlines()[-1]) == (1, "hint: Restore it from a backup.")


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("sqlite://shop.db", "Write sqlite:///shop.db"),
        ("sqlite:shop.db", "Write sqlite:///shop.db"),
        ("sqlite://", "Write sqlite:///shop.db"),
        ("sqlite:///:memory:", "must be a file"),
        ("sqlite:///file:shop.db?uri=true", "only a path is read"),
        ("sqlite:///", "Write sqlite:///shop.db"),
        ("mysql://nobody@localhost", "Write mysql://"),
    ],
)
def test_an_address_that_names_no_file_is_refused(folder: Path, url: str, message: str) -> None:
    refused = svc_pg("status", "--database-url", url, folder=folder)
    assert (refused.returncode, message in refused.stderr) == (1, True)


def test_a_file_that_is_no_database_or_not_a_file_is_refused(folder: Path) -> None:
    (folder / "notes.db").write_text("not a database, but long enough to be taken for one" * 100)
    (folder / "folder.db").mkdir()
    for name, message in (("notes.db", "file is not a database"), ("folder.db", "is not a file")):
        for command in ("install", "status", "uninstall"):
            refused = svc_pg(command, "--database-url", f"sqlite:///{name}", folder=folder)
            assert (refused.returncode, message in refused.stderr) == (1, True)


def test_names_of_files_are_taken_as_they_are(folder: Path) -> None:
    name = "it's %41 #1 ü.db"
    (folder / "shop.db").rename(folder / name)
    assert svc_pg("install", "--database-url", f"sqlite:///{name}", folder=folder).returncode == 0
    assert sorted(file.name for file in folder.iterdir()) == sorted([name, "svc-pg.toml"])


def test_a_file_that_nobody_may_write_is_compared_and_not_installed_into(folder: Path) -> None:
    with closing(connect(database=folder / "shop.db")) as conn:
        conn.execute("pragma journal_mode = delete")
    # as a file on a volume that is read-only: root may write whatever the mode says
    script = f"""
import sqlite3, sys
connect = sqlite3.connect
sqlite3.connect = lambda name, **options: connect(name.replace("mode=rw", "mode=ro"), **options)
import cli
sys.argv = ["svc-pg", *{{arguments}}, "--database-url", "sqlite:///{folder}/shop.db"]
cli.main()
"""
    for arguments, code, message in ((["install"], 1, "may not be written"), (["status"], 3, "differ")):
        done = subprocess.run(
            [sys.executable, "-c", script.replace("{arguments}", repr(arguments))],
            cwd=folder,
            env=environment(PYTHONPATH=str(Path(__file__).parents[3])),
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert (done.returncode, message in done.stderr) == (code, True), done.stderr


def test_a_file_that_another_program_writes_to_is_waited_for_as_long_as_was_said(folder: Path) -> None:
    with closing(connect(database=folder / "shop.db")) as writer:
        writer.execute("begin immediate")
        locked = svc_pg("install", "--database-url", "sqlite:///shop.db", "--lock-timeout", "1s", folder=folder)
        assert (locked.returncode, "--lock-timeout" in locked.stderr) == (1, True)
        status = svc_pg("status", "--database-url", "sqlite:///shop.db", folder=folder)
        assert status.returncode == 3
        writer.execute("commit")


def test_a_text_that_is_no_utf_8_hides_no_entry(folder: Path) -> None:
    (folder / "svc-pg.toml").write_text('[[audit.tables]]\nname = "customer"\n')
    assert svc_pg("install", "--database-url", "sqlite:///shop.db", folder=folder).returncode == 0
    with closing(connect(database=folder / "shop.db")) as conn:
        conn.execute("insert into customer values (2, cast(x'ff41' as text), 'x')")
        conn.execute("insert into customer values (3, 'Bob', 'y')")
    for command in (["log"], ["log", "--json"], ["export"]):
        shown = svc_pg(*command, "--database-url", "sqlite:///shop.db", folder=folder)
        assert (shown.returncode, shown.stdout.count("main.customer")) == (0, 2), shown.stderr


def test_roles_are_refused(folder: Path) -> None:
    refused = svc_pg("install", "--roles", "--database-url", "sqlite:///shop.db", folder=folder)
    assert (refused.returncode, "roles are for PostgreSQL" in refused.stderr) == (1, True)


@pytest.mark.parametrize("command", [["send", "a.b", "{}"], ["serve"], ["worker"], ["webhooks", "list"]])
def test_commands_that_need_postgresql_say_so(folder: Path, command: list[str]) -> None:
    for options, variables in (
        (["--database-url", "sqlite:///shop.db"], {}),
        ([], {"DATABASE_URL": "mysql://ann:hunter2@db/shop"}),
    ):
        refused = svc_pg(*command, *options, folder=folder, variables=variables)
        assert (refused.returncode, "PostgreSQL" in refused.stderr) == (2, True), refused.stderr
        assert "hunter2" not in refused.stderr


KILLED = """
import os, signal, sqlite3, sys
from svc_pg import schema
from svc_pg.other_databases.schema.sqlite import installed
from tests.support.sqlite import config, connect

create = installed.create

def killed(cursor, items):
    create(cursor, items)
    if any("update_customer" in item.identity for item in items):
        cursor.execute("pragma cache_spill = on")
        os.kill(os.getpid(), signal.SIGKILL)

installed.create = killed
conn = connect(database=sys.argv[1])
conn.execute(f"pragma journal_mode = {sys.argv[2]}")
schema.install(conn, config("customer"))
"""


@pytest.mark.parametrize("journal", ["wal", "delete"])
def test_an_install_that_is_killed_leaves_nothing_and_the_next_one_all(folder: Path, journal: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(folder / "shop.db"), journal],
        env=environment(PYTHONPATH=str(Path(__file__).parents[3])),
        timeout=60,
        check=False,
    )
    assert done.returncode == -signal.SIGKILL
    with closing(connect(database=folder / "shop.db")) as conn:
        assert conn.execute("select count(*) from sqlite_schema where name like '%svc%'").fetchone() == (0,)
    assert svc_pg("install", "--database-url", "sqlite:///shop.db", folder=folder).returncode == 0
    assert svc_pg("status", "--database-url", "sqlite:///shop.db", folder=folder).returncode == 0

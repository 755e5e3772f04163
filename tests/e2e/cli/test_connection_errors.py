"""The command line tells of a database that it cannot have: what it tried, how to name another, no password."""

import base64
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import LiteralString

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import make_conninfo

from svc_pg import Config, schema
from tests.support.commands import svc_pg

Run = Callable[..., "subprocess.CompletedProcess[str]"]
CONSOLE = {
    "SVC_ENV": "development",
    "SVC_CONSOLE_AUTO_APPROVE": "true",
    "SVC_CONSOLE_CONNECTION_TOKEN_HASH": "sha256:" + "ab" * 32,
}


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return lambda *arguments, **variables: svc_pg(*arguments, folder=tmp_path, variables=variables)


def refused(done: "subprocess.CompletedProcess[str]") -> tuple[str, str]:
    """The error and the hint, which is all that is printed."""
    assert (done.returncode, done.stdout) == (1, "")
    error, hint = done.stderr.splitlines()
    return error.removeprefix("error: "), hint.removeprefix("hint: ")


def test_no_server_is_said_with_what_was_tried_and_how_to_name_another(run: Run) -> None:
    error, hint = refused(run("status", DATABASE_URL="postgresql://ann:tops3cret@127.0.0.1:9/shop"))
    assert error == (
        'no connection to the database: connection to server at "127.0.0.1", port 9 failed: Connection refused'
    )
    assert hint.startswith("Tried database shop at 127.0.0.1, port 9, as ann. For another: --database-url, ")


@pytest.mark.parametrize("scheme", ["postgresql+psycopg", "postgres+asyncpg"])
def test_the_address_of_sqlalchemy_will_do(run: Run, scheme: str) -> None:
    address = f"{scheme}://ann@127.0.0.1:9/shop"
    for error, hint in (
        refused(run("status", DATABASE_URL=address)),
        refused(run("serve", "--database-url", address, **CONSOLE)),
    ):
        assert error.endswith("Connection refused")
        assert hint.startswith("Tried database shop at 127.0.0.1, port 9, as ann.")


def test_the_environment_of_libpq_is_what_was_tried(run: Run, tmp_path: Path) -> None:
    variables = {"PGHOST": str(tmp_path), "PGPORT": "7777", "PGDATABASE": "shop", "PGUSER": "ann"}
    _, hint = refused(run("status", **variables, PGPASSWORD="tops3cret"))
    assert hint.startswith(f"Tried database shop at {tmp_path}, port 7777, as ann.")


def test_an_unknown_database_and_an_unknown_role_are_named(run: Run, postgres: str) -> None:
    error, hint = refused(run("log", "--database-url", make_conninfo(postgres, dbname="nowhere")))
    assert error.endswith('FATAL: database "nowhere" does not exist')
    assert "Tried database nowhere at " in hint
    error, hint = refused(run("log", "--database-url", make_conninfo(postgres, user="nobody-here")))
    assert error.endswith('FATAL: role "nobody-here" does not exist')
    assert ", as nobody-here. " in hint


def test_what_all_addresses_answer_is_said_once(run: Run, tmp_path: Path) -> None:
    error, hint = refused(run("status", "--database-url", "host=127.0.0.1,127.0.0.1 port=9,7"))
    assert error.count("Connection refused") == 1
    assert "at 127.0.0.1,127.0.0.1, port 9,7, as " in hint
    error, _ = refused(run("status", "--database-url", f"host=127.0.0.1,{tmp_path} port=9"))
    assert "Connection refused" in error
    assert "No such file or directory" in error


@pytest.mark.parametrize(
    "address",
    [
        "shop tops3cret",
        "mysql://ann:tops3cret@127.0.0.1:9/shop",
        "postgresql://ann:p@tops3cret@127.0.0.1:9/shop",
        "postgresql://ann:p/tops3cret@127.0.0.1:9/shop",
        "postgresql://ann:p?tops3cret@127.0.0.1:9/shop",
        "postgresql://ann:p#tops3cret@127.0.0.1:9/shop",
        "postgresql://ann:tops3cret@[127.0.0.1:9/shop",
        "dbname=postgresql://ann:tops3cret@127.0.0.1:9/shop",
        "host=127.0.0.1 port=9 user=ann password=tops3cret",
    ],
)
def test_no_part_of_a_password_is_shown(run: Run, address: str) -> None:
    error, hint = refused(run("status", DATABASE_URL=address))
    assert "tops3cret" not in error + hint
    assert "postgresql://USER:PASSWORD@HOST" in hint or "at 127.0.0.1, port 9, as ann." in hint


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (["worker", "--only", "maintenance", "--database-url", "shop"], "--database-url"),
        (["worker", "--only", "maintenance", "--listen-url", "shop"], "--listen-url"),
        (["serve", "--database-url", "shop"], "--database-url"),
    ],
)
def test_what_is_no_address_is_named(run: Run, arguments: list[str], name: str) -> None:
    error, _ = refused(run(*arguments, **CONSOLE))
    assert error == f"{name} is not the address of a PostgreSQL database"


def test_serve_does_not_start_without_its_database(run: Run) -> None:
    error, hint = refused(run("serve", "--database-url", "host=127.0.0.1 port=9 dbname=shop", **CONSOLE))
    assert error.startswith("no connection to the database: ")
    assert hint.startswith("Tried database shop at 127.0.0.1, port 9")


@pytest.mark.parametrize("command", ["serve", "log", "export", "send order.created {}"])
def test_every_command_says_the_same_where_svc_pg_is_not_installed(run: Run, empty_database: str, command: str) -> None:
    error, hint = refused(run(*command.split(), "--database-url", empty_database, **CONSOLE))
    assert (error, hint) == ("the database has no svc-pg, or an older one", "Run: svc-pg install")


@pytest.mark.parametrize("command", ["webhooks list", "webhooks deliveries"])
def test_a_command_about_webhooks_names_them(run: Run, empty_database: str, command: str) -> None:
    error, hint = refused(run(*command.split(), "--database-url", empty_database, **CONSOLE))
    assert error == "the database has no webhooks of svc-pg, or older ones"
    assert hint == "Run: svc-pg install. Where only the audit trail is installed, add --all."


def test_a_port_that_is_taken_is_named_with_the_option_for_another(run: Run, shared_database: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = str(listener.getsockname()[1])
        error, hint = refused(run("serve", "--port", port, "--database-url", shared_database, **CONSOLE))
    assert error == f"port {port} of 127.0.0.1 is taken"
    assert "--port" in hint


@pytest.mark.parametrize(
    ("function", "command"),
    [
        ("audit_partition_start(oid)", "reconcile"),
        ("audit_partition_start(oid)", "reconcile --repair"),
        ("audit_purge_plan(timestamptz, text[], timestamptz[])", "purge --older-than 30d"),
        ("audit_horizon(text)", "seal"),
    ],
)
def test_a_database_that_lacks_a_function_of_this_program_is_called_older(
    run: Run, empty_database: str, tmp_path: Path, function: LiteralString, command: str
) -> None:
    config = Config.model_validate({"audit": {"tables": [{"name": "t"}]}})
    (tmp_path / "svc-pg.toml").write_text('[[audit.tables]]\nname = "t"\n', encoding="utf-8")
    with psycopg.connect(empty_database, autocommit=True) as conn:
        conn.execute("create table t (id int primary key)")
        schema.install(conn, config)
        conn.execute(sql.SQL("drop function svc.{}").format(sql.SQL(function)))
    key = base64.b64encode(b"k" * 32).decode()
    error, hint = refused(run(*command.split(), "--database-url", empty_database, SVC_SEAL_KEY=f"s1:{key}"))
    assert error == "the database has an older schema of svc-pg than this program"
    assert hint == "Bring it up to date: svc-pg install"

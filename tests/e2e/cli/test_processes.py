"""Each command imports what it needs. Other cases fork from a process that has imported every command already."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import psycopg
import pytest

from tests.support.commands import LIMIT_SECONDS, PROGRAM, environment, forked, program, svc_pg
from tests.support.hooks import KEYS_TEXT
from tests.support.postgres import new_database

LIBRARIES: Final = (
    "cryptography.fernet",
    "fastapi",
    "jinja2",
    "jsonschema",
    "jwt",
    "psycopg_pool",
    "pydantic_settings",
    "rich.table",
    "typer.rich_utils",
    "uvicorn",
)
"""They are most of what a command imports, and nothing of ours."""
NOBODY = "00000000-0000-7000-8000-000000000000"
TOML = """
[[audit.tables]]
name = "customer"

[webhooks.events."order.created"]
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("shop")
    (folder / "svc-pg.toml").write_text(TOML, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def variables(postgres: str, folder: Path) -> Iterator[dict[str, str]]:
    """The environment of an installed shop, in which nothing is sent to anybody."""
    with new_database(postgres) as conninfo:
        with psycopg.connect(conninfo) as conn:
            conn.execute("create table customer (id int primary key)")
        variables = {"DATABASE_URL": conninfo, "SVC_ENCRYPTION_KEYS": KEYS_TEXT}
        assert svc_pg("install", folder=folder, variables=variables).returncode == 0
        with psycopg.connect(conninfo) as conn:
            conn.execute("insert into customer values (7)")
        yield variables


@pytest.mark.parametrize(
    ("command", "code", "words"),
    [
        ("install", 0, "Nothing to change"),
        ("plan", 0, "Nothing to change"),
        ("status", 0, "public.customer"),
        ("migrate", 0, "Nothing to change"),
        ("uninstall --drop-data", 1, "[y/N]"),
        ("log", 0, "INSERT"),
        ("export", 0, '"recordId"'),
        ("purge --older-than 3650d --dry-run", 0, "would remove nothing"),
        ("worker --only maintenance --database-url shop", 1, "--database-url"),
        ("serve --webhooks-path api", 2, "/api/webhooks"),
        ("listen --secret whsec_?", 1, "base64"),
        ("send order.created {}", 0, "No endpoint wants it"),
        ("webhooks add --url https://example.com/ --event order.paid", 1, "order.paid"),
        ("webhooks list --json", 0, "[]"),
        ("webhooks deliveries --json", 0, "[]"),
        (f"webhooks show {NOBODY}", 1, NOBODY),
        (f"webhooks pause {NOBODY}", 1, NOBODY),
        (f"webhooks resume {NOBODY}", 1, NOBODY),
        (f"webhooks disable {NOBODY}", 1, NOBODY),
        (f"webhooks delete {NOBODY}", 1, NOBODY),
        (f"webhooks rotate-secret {NOBODY}", 1, NOBODY),
        (f"webhooks ping {NOBODY}", 1, NOBODY),
        (f"webhooks retry {NOBODY}", 1, NOBODY),
        (f"webhooks recover {NOBODY}", 1, NOBODY),
        ("webhooks prune --failed 90d", 0, "deleted: 0."),
        ("webhooks reencrypt", 0, "0 "),
        ("console init", 0, "SVC_CONSOLE_CONNECTION_TOKEN_HASH=sha256:"),
        ("console openapi", 0, '"openapi": "3.1.0"'),
        ("console sessions", 0, "signed in"),
        (f"console revoke {NOBODY}", 1, NOBODY),
        ("keys new encryption", 0, "SVC_ENCRYPTION_KEYS="),
    ],
)
def test_each_command_runs_where_nothing_of_ours_is_imported(
    folder: Path, variables: dict[str, str], command: str, code: int, words: str
) -> None:
    arguments = [str(PROGRAM), *command.split()]
    done = forked("svc_pg.cli:main", arguments, LIBRARIES, folder=folder, variables=variables)
    assert (done.returncode, "Traceback" in done.stderr) == (code, False), done.stderr
    assert words in done.stdout + done.stderr


@pytest.mark.parametrize("command", ["--version", "log --limit x", "install --help"])
def test_a_forked_command_says_what_a_process_of_its_own_says(tmp_path: Path, command: str) -> None:
    arguments = command.split()
    ours, started = (run(*arguments, folder=tmp_path) for run in (svc_pg, program))
    assert (ours.returncode, ours.stdout, ours.stderr) == (started.returncode, started.stdout, started.stderr)


INTERRUPTED = """
from svc_pg.cli.database import open_database

try:
    with open_database(None) as conn:
        conn.pgconn.send_query(b"select pg_sleep(60)")
        raise KeyboardInterrupt
except KeyboardInterrupt:
    print("ended")
"""


def test_an_interrupt_while_a_statement_is_sent_is_no_warning(database: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED],
        cwd=tmp_path,
        env=environment(DATABASE_URL=database),
        capture_output=True,
        text=True,
        timeout=LIMIT_SECONDS,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "ended\n", "")

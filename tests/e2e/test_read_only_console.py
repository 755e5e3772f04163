"""``svc-pg serve --read-only`` on a standby, and beside an audit log in another database, as docs/console.md says."""

import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import httpx
import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from svc_pg import Config, audit, schema
from svc_pg.console.sign_in import api_tokens
from svc_pg.database.query import scalar
from tests.support.commands import running, svc_pg
from tests.support.postgres import new_database, replicated
from tests.support.waiting import wait_until

CONFIG: Final = Config()
CONFIG.audit.table("public.customer")
SETTINGS: Final = {"SVC_CONSOLE_CONNECTION_TOKEN_HASH": "sha256:" + "ab" * 32}


def prepare(primary: str) -> None:
    with psycopg.connect(primary, autocommit=True) as conn:
        conn.execute("create table customer (id integer primary key)")
        schema.install(conn, CONFIG)
        conn.execute("insert into customer values (1), (2)")


@pytest.fixture(scope="module")
def standby_url() -> Iterator[str]:
    with replicated(prepare) as (_, follower, _):
        yield follower


@pytest.fixture
def own_database(postgres: str, template: str) -> Iterator[str]:
    with new_database(postgres, template=template) as conninfo:
        yield conninfo


@contextmanager
def serving(folder: Path, *options: str, **variables: str) -> Iterator[httpx.Client]:
    """Run ``svc-pg serve`` on a free port; a client of its console."""
    command = ("serve", "--port", "0", "--read-only", *options)
    with running(
        *command, folder=folder, variables={**SETTINGS, **variables}, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        lines = iter(process.stderr.readline, "")
        [url] = next(found for line in lines if (found := re.findall(r"The console is at (\S+)/,", line)))
        with httpx.Client(base_url=url, timeout=30) as client:
            yield client
        process.terminate()
        assert process.wait(timeout=20) == 0


def token(database: str) -> dict[str, str]:
    with psycopg.connect(database) as conn, audit.actor(conn, "ann@corp.example"):
        made = api_tokens.add(conn, "report", permission="admin")
    return {"Authorization": f"Bearer {made.token}"}


def assert_reads(client: httpx.Client, headers: dict[str, str]) -> None:
    entries = client.get("/audit/entries?resource=customer", headers=headers).raise_for_status().json()["data"]
    assert [entry["recordId"] for entry in entries] == ["2", "1"]
    refused = client.delete("/audit/entries?olderThan=1d", headers=headers)
    assert (refused.status_code, refused.json()["code"]) == (403, "read_only")


def test_a_console_of_a_standby_takes_the_tokens_of_the_primary(standby_url: str, tmp_path: Path) -> None:
    with psycopg.connect(standby_url, autocommit=True) as conn:
        primary = str(scalar(conn, "select conninfo from pg_stat_wal_receiver"))
        given = conninfo_to_dict(primary)
        own = f"host={given['host']} port={given['port']} user={given['user']} dbname={conn.info.dbname}"
        headers = token(own)
        wait_until(lambda: scalar(conn, "select count(*) from svc.console_tokens") == 1, "the token is there")
    with serving(tmp_path, DATABASE_URL=standby_url) as client:
        assert_reads(client, headers)


def test_a_console_that_only_reads_shows_the_log_of_a_standby(
    standby_url: str, own_database: str, tmp_path: Path
) -> None:
    headers = token(own_database)
    with serving(tmp_path, "--audit-log", standby_url, DATABASE_URL=own_database) as client:
        assert_reads(client, headers)
    with serving(tmp_path, DATABASE_URL=own_database, SVC_AUDIT_LOG_URL=standby_url) as client:
        assert_reads(client, headers)


def test_what_cannot_work_is_refused_at_the_start(
    standby_url: str, own_database: str, postgres: str, tmp_path: Path
) -> None:
    def refusal(*options: str, database: str) -> str:
        given = {
            **SETTINGS,
            "DATABASE_URL": database,
            "SVC_ENV": "test",
            "SVC_CONSOLE_ALLOWED_EMAILS": '{"ann@corp.example": "admin"}',
        }
        done = svc_pg("serve", "--port", "0", *options, folder=tmp_path, variables=given)
        assert (done.returncode, done.stdout) == (1, "")
        return done.stderr

    told = refusal(database=standby_url)
    assert "error: the console writes sessions, and the database only reads: it is a standby" in told
    assert "hint: Connect to the primary, or add --read-only." in told
    with new_database(postgres) as empty:
        told = refusal("--audit-log", empty, database=own_database)
        assert "the audit log's database: " in told
        assert "svc-pg install" in told
    told = refusal("--read-only", "--audit-log", "host=127.0.0.1 port=9 dbname=log", database=own_database)
    assert "the audit log's database: no connection" in told

"""The log on a standby: it is read there, dry runs tell what the primary would do, and a change is refused clearly."""

import subprocess
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from typer.testing import CliRunner

from cli.app import app
from svc_pg import Config, audit, schema
from svc_pg.config import AuditConfig, AuditedTable
from svc_pg.database.query import scalar
from svc_pg.errors import ConflictError, InstallError
from tests.support.commands import PROGRAM, environment
from tests.support.postgres import replicated
from tests.support.waiting import wait_until

CONFIG = Config(audit=AuditConfig(tables=[AuditedTable(name="public.customer")]))


def prepare(primary: str) -> None:
    with psycopg.connect(primary, autocommit=True) as conn:
        conn.execute("create table customer (id integer primary key)")
        schema.install(conn, CONFIG)
        conn.execute("insert into customer values (1), (2)")
        conn.execute(
            "insert into svc.audit_logs (table_name, table_oid, operation, record_id, timestamp)"
            " values ('public.customer', 0, 'INSERT', '1', '2020-01-01')"
        )
        conn.execute("select svc.audit_ensure_partitions()")
        audit.hold(conn, "public.customer", 2, reason="a case")


@pytest.fixture(scope="module")
def standby_url() -> Iterator[str]:
    with replicated(prepare) as (_, follower, _):
        yield follower


@pytest.fixture
def follower(standby_url: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(standby_url, autocommit=True) as conn:
        wait_until(lambda: scalar(conn, "select count(*) from svc.audit_holds") == 1, "the standby has followed")
        yield conn


def test_the_log_is_read(follower: psycopg.Connection[Any]) -> None:
    assert len(audit.query().resource("public.customer").list(follower).data) == 3
    assert {each.state for each in schema.status(follower, CONFIG)} == {"ok"}


def test_dry_runs_tell_what_the_primary_would_do(follower: psycopg.Connection[Any]) -> None:
    assert audit.erase(follower, "public.customer", 1, dry_run=True).entries == 2
    with pytest.raises(ConflictError, match="cannot be erased, because of holds"):
        audit.erase(follower, "public.customer", 2, dry_run=True)
    assert audit.purge(follower, timedelta(days=1), dry_run=True).partitions == ["svc.audit_logs_2020_01"]


def test_an_install_is_refused(follower: psycopg.Connection[Any]) -> None:
    with pytest.raises(InstallError, match="the server is a standby"):
        schema.install(follower, CONFIG)
    with pytest.raises(InstallError, match="the server is a standby"):
        schema.uninstall(follower)


@pytest.mark.parametrize(
    "change",
    [["purge", "--older-than", "1d"], ["erase", "public.customer", "1", "--yes"], ["hold", "public.customer", "1"]],
)
def test_a_change_is_refused_with_the_way_to_the_primary(standby_url: str, change: list[str]) -> None:
    reason = ["--reason", "a case"] if change[0] == "hold" else []
    run = subprocess.run(
        [PROGRAM, *change, *reason, "--database-url", standby_url],
        capture_output=True,
        text=True,
        env=environment(),
        check=False,
    )
    assert run.returncode == 1
    assert "hint: Connect to the primary, not to a standby" in run.stderr


def test_the_command_line_tells_them_too(follower: psycopg.Connection[Any]) -> None:
    purge = ["purge", "--older-than", "1d", "--database-url", follower.info.dsn]
    dry = CliRunner().invoke(app, [*purge, "--dry-run"], prog_name="svc-pg")
    assert (dry.exit_code, dry.output) == (0, "would drop svc.audit_logs_2020_01 with about 1 entry\n")


def test_a_reconciliation_reports_and_repairs_nothing(follower: psycopg.Connection[Any]) -> None:
    found = audit.reconcile(follower, CONFIG)
    assert [(each.rows, each.is_whole, each.is_recorded) for each in found.tables] == [(2, True, False)]
    with pytest.raises(ConflictError, match="a standby cannot be repaired"):
        audit.reconcile(follower, CONFIG, repair=True)

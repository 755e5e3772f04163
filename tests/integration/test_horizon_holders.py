"""The transactions that hold back readers of the log, as status and the page System name them."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import LiteralString

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from cli import horizon_holders as command
from svc_pg.console import Console
from svc_pg.horizon_holders import HorizonHolder, horizon_holders
from svc_pg.query import fetch
from tests.integration.console.browsing import assert_strict, signed_in
from tests.integration.console.serving import serving_installed, settings
from tests.support.commands import svc_pg
from tests.support.postgres import Prepare
from tests.support.tables import audited, create_and_audit

NAME = "<b>nightly"


@pytest.fixture(scope="module")
def prepare() -> Prepare:
    return lambda conninfo: create_and_audit(
        conninfo, "create table customer (id int primary key)", audited("customer")
    )


@pytest.fixture
def open_transactions(database: str) -> Iterator[tuple[int, int]]:
    """One that writes and one that only reads, idle in their transactions."""
    conninfo = make_conninfo(database, application_name=NAME)
    with psycopg.connect(conninfo) as writer, psycopg.connect(conninfo) as reader:
        writer.execute("insert into customer values (1)")
        reader.execute("set transaction isolation level repeatable read")
        reader.execute("select 1")
        yield writer.info.backend_pid, reader.info.backend_pid


def holders_of(conninfo: str, role: LiteralString = "none") -> dict[int | None, HorizonHolder]:
    with psycopg.connect(conninfo, autocommit=True) as conn:
        conn.execute(f"set role {role}")
        for _ in range(3):
            conn.execute("select txid_current()")
        return {holder.pid: holder for holder in fetch(conn, horizon_holders())}


def test_who_writes_holds_back_the_log_and_who_reads_only_vacuum(
    database: str,
    tmp_path: Path,
    open_transactions: tuple[int, int],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    writer, reader = open_transactions
    found = holders_of(database)
    assert [*found].index(writer) < [*found].index(reader)
    for pid, holds_log in ((writer, True), (reader, False)):
        holder = found[pid]
        assert (holder.kind, holder.name, holder.state) == ("session", NAME, "idle in transaction")
        assert (holder.holds_log, holder.is_long) == (holds_log, False)
        assert holder.transactions >= 3
        assert holder.seconds is not None
    done = svc_pg("status", "--json", folder=tmp_path, variables={"DATABASE_URL": database})
    assert f'"pid": {writer}' in done.stdout
    assert "wait" not in done.stderr
    monkeypatch.setattr("svc_pg.horizon_holders._LONG", timedelta(0))
    command.tell([found[writer], found[reader]])
    said = capsys.readouterr().err.splitlines()
    assert said[0].startswith(f'Exports, seals and followers of the log wait for session {writer} of "{NAME}" (user ')
    assert "idle in transaction, open for" in said[0]
    assert said[1].startswith(f"Vacuum waits for session {reader}")
    with serving_installed(Console(settings(database_url=database), config=audited("customer"))) as client:
        page = signed_in(client, "read").get("/system").text
    assert_strict(page)
    assert f"session {writer}" in page
    assert "exports, seals, followers" in page
    assert ("&lt;b&gt;nightly" in page, NAME in page) == (True, False)


def test_a_role_that_may_not_see_other_sessions_is_told(
    database: str,
    open_transactions: tuple[int, int],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = holders_of(database, "svc_reader")
    assert not found.keys() & {*open_transactions}
    assert (found[None].kind, found[None].holds_log) == ("hidden", True)
    monkeypatch.setattr("svc_pg.horizon_holders._MANY", 3)
    command.tell([found[None]])
    assert "wait for a session that this role may not see (grant it pg_read_all_stats); " in capsys.readouterr().err


def test_a_prepared_transaction_and_a_slot_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    prepared = HorizonHolder("prepared", None, "transfer-7", "shop", "bob", None, 7300, 12_345, holds_log=True)
    slot = HorizonHolder("slot", None, "standby_1", None, None, "inactive", None, 20_000, holds_log=False)
    command.tell([prepared, slot])
    assert capsys.readouterr().err.splitlines() == [
        'Exports, seals and followers of the log wait for prepared transaction "transfer-7" (user bob, database shop),'
        " open for 2h; 12,345 transactions have begun since.",
        "Vacuum waits for replication slot standby_1, which is inactive; 20,000 transactions have begun since.",
    ]

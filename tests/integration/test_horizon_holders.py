"""The transactions that hold back readers of the log, as status and the page System name them."""

import io
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any, LiteralString

import psycopg
import pytest
from psycopg import pq
from psycopg.conninfo import make_conninfo

from cli.status import horizon_holders as command
from svc_pg import audit
from svc_pg.console import Console
from svc_pg.database.query import fetch, fetch_one, scalar
from svc_pg.status.horizon_holders import HorizonHolder, horizon_holders
from svc_pg.webhooks.traffic.backlog import backlog
from tests.integration.console.browsing import assert_strict, signed_in
from tests.integration.console.serving import serving_installed, settings
from tests.support.commands import svc_pg
from tests.support.postgres import Prepare
from tests.support.tables import audited, create_and_audit
from tests.support.waiting import wait_until

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
    monkeypatch.setattr("svc_pg.status.horizon_holders._LONG", timedelta(0))
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
    monkeypatch.setattr("svc_pg.status.horizon_holders._MANY", 3)
    command.tell([found[None]])
    assert "wait for a session that this role may not see (grant it pg_read_all_stats); " in capsys.readouterr().err


@contextmanager
def standby(conn: psycopg.Connection[Any], slot: str, *, xmin: int, catalog_xmin: int) -> Iterator[int]:
    """A standby as the server sees it, whose queries need the rows of these transactions; its slot is dropped last."""
    conn.execute("select pg_create_physical_replication_slot(%s, immediately_reserve => true)", (slot,))
    position = scalar(conn, "select pg_current_wal_flush_lsn()::text")  # a server sends nothing that it has not flushed
    receiver = pq.PGconn.connect(make_conninfo(conn.info.dsn, replication="true").encode())
    try:
        if receiver.status == pq.ConnStatus.BAD:
            pytest.skip(f"the server takes no standby from here: {receiver.get_error_message()}")
        begun = receiver.exec_(f"START_REPLICATION SLOT {slot} PHYSICAL {position}".encode())
        assert begun.status == pq.ExecStatus.COPY_BOTH, begun.get_error_message()
        receiver.put_copy_data(b"h" + struct.pack("!qIIII", 0, xmin, 0, catalog_xmin, 0))  # hot standby feedback
        receiver.flush()
        told = "select xmin is not null or catalog_xmin is not null from pg_replication_slots where slot_name = %s"
        wait_until(lambda: scalar(conn, told, (slot,)), "the slot holds what the standby needs")
        yield receiver.backend_pid
    finally:
        receiver.finish()
        left = "select not active from pg_replication_slots where slot_name = %s"
        wait_until(lambda: scalar(conn, left, (slot,)), "nobody uses the slot")
        conn.execute("select pg_drop_replication_slot(%s)", (slot,))


def size_after_vacuum(conn: psycopg.Connection[Any]) -> int:
    conn.execute("vacuum past")
    size: int = scalar(conn, "select pg_relation_size('past')")
    return size


def test_a_slot_is_named_while_vacuum_waits_for_it_and_readers_of_the_log_do_not(
    database: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("svc_pg.status.horizon_holders._MANY", 3)
    with psycopg.connect(database, autocommit=True) as conn:
        oldest = scalar(conn, "select txid_current()")
        with standby(conn, "replica", xmin=oldest, catalog_xmin=0) as pid:
            conn.execute("create table past (id int)")
            conn.execute("insert into past values (1)")
            conn.execute("delete from past")
            conn.execute("insert into customer values (1)")
            assert size_after_vacuum(conn) > 0
            assert audit.export(conn, audit.query(), out=io.BytesIO()).held_back == 0
            [slot] = [holder for holder in holders_of(database).values() if holder.kind == "slot"]
            assert (slot.pid, slot.name, slot.state, slot.holds_log) == (pid, "replica", "active", False)
            assert slot.transactions >= 3
            assert fetch_one(conn, backlog()).oldest_snapshot_transactions >= 3
            command.tell([slot])
        said = capsys.readouterr().err
        assert said.startswith("Vacuum waits for replication slot replica, which is active; ")
        assert size_after_vacuum(conn) == 0
        with standby(conn, "catalogs_only", xmin=0, catalog_xmin=oldest):
            conn.execute("insert into past values (1)")
            conn.execute("delete from past")
            assert size_after_vacuum(conn) == 0
            assert "slot" not in {holder.kind for holder in holders_of(database).values()}


def test_a_prepared_transaction_and_a_slot_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    prepared = HorizonHolder("prepared", None, "transfer-7", "shop", "bob", None, 7300, 12_345, holds_log=True)
    slot = HorizonHolder("slot", None, "standby_1", None, None, "inactive", None, 20_000, holds_log=False)
    command.tell([prepared, slot])
    assert capsys.readouterr().err.splitlines() == [
        'Exports, seals and followers of the log wait for prepared transaction "transfer-7" (user bob, database shop),'
        " open for 2h; 12,345 transactions have begun since.",
        "Vacuum waits for replication slot standby_1, which is inactive; 20,000 transactions have begun since.",
    ]

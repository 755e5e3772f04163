"""Maintenance makes partitions, keeps to what is kept, and never gets in the way."""

import asyncio
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from threading import Thread
from typing import Any

import psycopg
import pytest

from svc_pg import Config, audit, schema, webhooks
from svc_pg.audit import Seal, SealKey
from svc_pg.config import AuditConfig
from svc_pg.database.advisory_locks import Lock
from svc_pg.database.query import fetch, scalar
from svc_pg.errors import ConflictError, TransactionError
from svc_pg.maintenance import Maintenance, maintain, prune_deliveries
from svc_pg.maintenance.seal_timestamps import Authority, SealTimestamps
from svc_pg.maintenance.sealer import Sealer
from svc_pg.seals.timestamp_files import read_timestamps
from svc_pg.seals.verification.copies import read_copies
from svc_pg.seals.writing.copying import append_new, appending
from svc_pg.status.last_runs import last_runs
from svc_pg.status.seal_destinations import SealDestination, seal_destinations
from svc_pg.webhooks.http.single_post import post
from tests.support.hooks import endpoint, hooks_config, is_asleep, rows, working
from tests.support.pgbouncer import pgbouncer
from tests.support.timestamp_authority import TimestampAuthority, granted, root, serving
from tests.support.waiting import wait_until

CONFIG = hooks_config("order.created")
SOON = timedelta(milliseconds=20)
WEEK = timedelta(weeks=1)


@contextmanager
def maintaining(conninfo: str) -> Iterator[Maintenance]:
    """Maintain in a thread of its own until the block ends."""
    maintenance = Maintenance(conninfo, config=CONFIG, every=SOON)
    with running(maintenance):
        yield maintenance


@contextmanager
def running(job: Maintenance | Sealer) -> Iterator[None]:
    """Run in a thread of its own until the block ends."""
    loop = asyncio.new_event_loop()
    thread = Thread(target=loop.run_until_complete, args=(job.run(),))
    thread.start()
    try:
        yield
    finally:
        loop.call_soon_threadsafe(job.stop)
        thread.join()
        loop.run_until_complete(loop.shutdown_default_executor())
        loop.close()


def deliver_long_ago(conninfo: str, status: str, age: timedelta) -> None:
    """A delivery, its attempt and its message, that ended so long ago."""
    with psycopg.connect(conninfo) as conn:
        message = webhooks.send(conn, "order.created", {})
        conn.execute(
            "update svc.webhook_messages set id = svc.uuid7_at(now() - %s), created_at = now() - %s where id = %s",
            [age, age, message],
        )
        conn.execute(
            "update svc.webhook_deliveries set id = svc.uuid7_at(now() - %(age)s), status = %(status)s,"
            " failure = nullif(%(status)s, 'delivered'),"
            " next_attempt_at = null, finished_at = now() - %(age)s, created_at = now() - %(age)s,"
            " message_id = svc.uuid7_at(now() - %(age)s) where message_id = %(message)s",
            {"age": age, "status": status, "message": message},
        )
        conn.execute("delete from svc.webhook_queue")


def test_maintenance_of_a_database_without_webhooks_tells_when_they_are_added(
    empty_database: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    maintenance = Maintenance(empty_database, config=CONFIG, every=SOON)
    maintenance.has_webhooks = False
    runs = maintenance.statistics.maintenance
    with psycopg.connect(empty_database, autocommit=True) as conn:
        schema.install(conn, Config(products=["audit"]))
        with running(maintenance):
            wait_until(lambda: runs["success"] > 1, "it maintains")
            assert "webhooks" not in caplog.text
            schema.install(conn, Config(products=["audit", "webhooks"]))
            wait_until(lambda: "webhooks have been added to the database" in caplog.text, "it tells of webhooks")


def test_maintenance_makes_partitions_and_removes_what_is_older_than_it_is_kept(
    database: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    endpoint(database, CONFIG, "http://127.0.0.1:9/")
    deliver_long_ago(database, "delivered", timedelta(days=6))
    deliver_long_ago(database, "delivered", timedelta(days=8))
    deliver_long_ago(database, "failed", timedelta(days=29))
    deliver_long_ago(database, "failed", timedelta(days=31))
    config = CONFIG.model_copy(update={"audit": AuditConfig(retention_days=365)})
    with psycopg.connect(database, autocommit=True) as conn:
        last = scalar(
            conn,
            "select max(inhrelid::regclass::text) from pg_inherits i where inhparent = 'svc.audit_logs'::regclass"
            " and inhrelid <> 'svc.audit_logs_default'::regclass",
        )
        conn.execute(f"drop table {last}")
        conn.execute(
            'insert into svc.audit_logs ("timestamp", table_name, table_oid, operation)'
            " values (now() - interval '2 years', 'public.old', 0, 'INSERT')"
        )
        assert maintain(conn, config)
        assert scalar(conn, "select to_regclass(%s) is not null", [last])
        assert scalar(conn, "select count(*) from svc.audit_logs where table_name = 'public.old'") == 0
        assert maintain(conn, config)
    kept = [(row["status"]) for row in rows(database, "webhook_deliveries")]
    assert kept == ["failed", "delivered"]
    assert last.removeprefix("svc.") in caplog.text
    assert "maintenance of deliveries: removed" in caplog.text


def test_what_fails_is_logged_and_the_rest_is_done(database: str, caplog: pytest.LogCaptureFixture) -> None:
    endpoint(database, CONFIG, "http://127.0.0.1:9/")
    deliver_long_ago(database, "delivered", timedelta(days=8))
    with psycopg.connect(database, autocommit=True) as conn:
        conn.execute("drop function svc.audit_ensure_partitions")
        assert not maintain(conn, CONFIG)
    assert rows(database, "webhook_deliveries") == []
    assert "maintenance of the log's partitions failed" in caplog.text


def test_maintenance_goes_on_after_an_error_and_counts_it(database: str) -> None:
    with psycopg.connect(database, autocommit=True) as conn:
        conn.execute("alter function svc.audit_ensure_partitions rename to elsewhere")
        with maintaining(database) as maintenance:
            wait_until(lambda: maintenance.statistics.maintenance["failure"], "a run has failed")
            conn.execute("alter function svc.elsewhere rename to audit_ensure_partitions")
            wait_until(lambda: maintenance.statistics.maintenance["success"], "a run has succeeded")


def test_maintenance_without_a_database_tries_again(caplog: pytest.LogCaptureFixture) -> None:
    with maintaining("host=127.0.0.1 port=9") as maintenance:
        wait_until(lambda: maintenance.statistics.maintenance["failure"] >= 2, "two runs have failed")
    assert "maintenance failed" in caplog.text


def test_one_maintains_at_a_time(database: str) -> None:
    with psycopg.connect(database, autocommit=True) as conn, psycopg.connect(database, autocommit=True) as other:
        conn.execute("drop function svc.audit_ensure_partitions")
        other.execute("select pg_advisory_lock(%s, %s)", Lock.MAINTENANCE.key)
        assert maintain(conn, CONFIG)  # and so did not even try
        other.execute("select pg_advisory_unlock_all()")
        assert not maintain(conn, CONFIG)


def test_whoever_maintained_leaves_the_lock_to_others(database: str) -> None:
    with psycopg.connect(database, autocommit=True) as conn, psycopg.connect(database, autocommit=True) as other:
        assert maintain(conn, CONFIG)
        other.execute("drop function svc.audit_ensure_partitions")
        assert not maintain(other, CONFIG)


def test_maintenance_needs_a_connection_in_autocommit(conn: psycopg.Connection[Any]) -> None:
    with pytest.raises(TransactionError, match="autocommit"):
        maintain(conn, CONFIG)
    with pytest.raises(TransactionError, match="autocommit"):
        prune_deliveries(conn, delivered=WEEK, failed=WEEK)


def test_a_worker_that_sleeps_is_in_the_way_of_no_partition(database: str) -> None:
    with working(database, CONFIG), psycopg.connect(database, autocommit=True) as conn:
        wait_until(lambda: is_asleep(conn), "the worker sleeps")
        conn.execute("select svc.audit_ensure_partitions()")


def test_stopping_breaks_off_a_step_that_takes_long(database: str) -> None:
    with psycopg.connect(database) as blocker, maintaining(database) as maintenance:
        blocker.execute("lock table svc.audit_epoch in share row exclusive mode")

        def is_waiting() -> bool:
            with psycopg.connect(database) as conn:
                waits = "select exists (select from pg_locks where not granted and relation = %s::regclass)"
                return bool(scalar(conn, waits, ("svc.audit_epoch",)))

        wait_until(is_waiting, "maintenance waits")
        maintenance.stop()
    assert maintenance.statistics.maintenance["failure"] == 0


def test_maintenance_works_behind_a_pooler(database: str) -> None:
    endpoint(database, CONFIG, "http://127.0.0.1:9/")
    deliver_long_ago(database, "delivered", timedelta(days=8))
    with pgbouncer(database) as pooled, maintaining(pooled) as maintenance:
        wait_until(lambda: maintenance.statistics.maintenance["success"], "a run has succeeded")
    assert rows(database, "webhook_deliveries") == []


def test_a_worker_with_a_key_seals_the_audit_log_and_goes_on_after_an_error(database: str) -> None:
    key = SealKey("s1", b"k" * 32)
    sealer = Sealer(database, key=key, every=SOON)

    def seals() -> int:
        lag = audit.seal_lag(conn)
        return 0 if lag is None else lag.number

    with psycopg.connect(database, autocommit=True) as conn, running(sealer):
        audit.capture_log(conn, "a", "INSERT")
        wait_until(lambda: seals() == 1)
        conn.execute("alter table svc.audit_seals rename to hidden")
        wait_until(lambda: sealer.statistics.sealing["failure"] > 0)
        [run] = [run for run in fetch(conn, last_runs()) if run.task == "sealing"]
        assert run.problem == "the database has no svc-pg, or an older one"
        conn.execute("alter table svc.hidden rename to audit_seals")
        audit.capture_log(conn, "b", "INSERT")
        wait_until(lambda: seals() == 2)
        wait_until(lambda: sealer.statistics.sealing["success"] >= 2)
        lag = audit.seal_lag(conn)
        assert lag is not None
        assert lag.lag == timedelta(0)
    with psycopg.connect(database, autocommit=True) as conn:
        audit.capture_log(conn, "c", "INSERT")
        lag = audit.seal_lag(conn)
        assert lag is not None
        assert timedelta(0) < lag.lag < timedelta(minutes=5)
        assert audit.verify(conn, public_keys=key.public).unsealed == 1


def test_a_worker_with_a_key_seals_nothing_where_only_webhooks_are_until_the_audit_trail_is_added(
    empty_database: str, caplog: pytest.LogCaptureFixture
) -> None:
    with psycopg.connect(empty_database) as conn:
        schema.install(conn, Config(products=["webhooks"]))
    sealer = Sealer(empty_database, key=SealKey("s1", b"k" * 32), every=SOON)
    with psycopg.connect(empty_database, autocommit=True) as conn, running(sealer):
        wait_until(lambda: sealer.statistics.sealing["success"] > 2)
        assert [run for run in fetch(conn, last_runs()) if run.task == "sealing"] == []
        schema.install(conn, Config(products=["audit", "webhooks"]))
        audit.capture_log(conn, "a", "INSERT")
        wait_until(lambda: audit.seal_lag(conn) is not None)
    assert caplog.text.count("seals nothing: only webhooks are installed here") == 1
    assert sealer.statistics.sealing["failure"] == 0


def sealing_problem(conn: psycopg.Connection[Any]) -> str:
    return "".join(run.problem or "" for run in fetch(conn, last_runs()) if run.task == "sealing")


def destination(conn: psycopg.Connection[Any]) -> SealDestination:
    nothing = SealDestination("copies", "", None, 0, None, None)
    return next(iter(fetch(conn, seal_destinations(has_webhooks=True))), nothing)


def copies_problem(conn: psycopg.Connection[Any]) -> str:
    return destination(conn).problem or ""


def without_seals(conn: psycopg.Connection[Any]) -> None:
    """Remove all seals as a superuser can."""
    with conn.transaction():
        conn.execute("set local session_replication_role = replica")
        for table in ("audit_seal_leaves", "audit_seals"):
            conn.execute(f"alter table svc.{table} disable trigger all")
            conn.execute(f"delete from svc.{table}")


@pytest.mark.parametrize("is_sealed_anew", [False, True], ids=["removed", "replaced"])
def test_a_worker_refuses_to_seal_a_log_that_lost_the_seals_it_knows(database: str, *, is_sealed_anew: bool) -> None:
    key, sealer = SealKey("s1", b"k" * 32), Sealer(database, key=SealKey("s1", b"k" * 32), every=SOON)
    with psycopg.connect(database, autocommit=True) as conn, running(sealer):
        audit.capture_log(conn, "a", "INSERT")
        wait_until(lambda: audit.seals(conn) != [], "a seal is made")
        known = audit.seals(conn)[0].number
        runs = sealer.statistics.sealing["success"]
        wait_until(lambda: sealer.statistics.sealing["success"] > runs, "a run has seen it")
        without_seals(conn)
        if is_sealed_anew:  # with the same key, by somebody who has it
            audit.capture_log(conn, "forged", "INSERT")
            made = audit.seal(conn, key=key)
            assert made[0].number == known
        wait_until(lambda: sealer.statistics.sealing_refusals > 1, "it refuses")
        audit.capture_log(conn, "b", "INSERT")
        before = sealer.statistics.sealing_refusals
        wait_until(lambda: sealer.statistics.sealing_refusals > before + 1, "it goes on refusing")
        assert len(audit.seals(conn)) == (1 if is_sealed_anew else 0)
        assert f"seal {known} {'was replaced' if is_sealed_anew else 'is no longer in the log'}" in sealing_problem(
            conn
        )
    sealer = Sealer(database, key=key, every=SOON)  # remembers nothing
    with psycopg.connect(database, autocommit=True) as conn, running(sealer):
        wait_until(lambda: sealer.statistics.sealing["success"] > 0)
        assert sealing_problem(conn) == ""


def test_seals_that_vanish_as_a_run_ends_are_still_known(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    really_seal = audit.seal
    removed: list[int] = []

    def seal_and_remove(conn: psycopg.Connection[Any], *, known: Seal | None, **options: Any) -> list[Seal]:
        made = really_seal(conn, known=known, **options)
        if known is not None and not removed:
            without_seals(conn)
            removed.append(known.number)
        return made

    monkeypatch.setattr(audit, "seal", seal_and_remove)
    sealer = Sealer(database, key=SealKey("s1", b"k" * 32), every=SOON)
    with psycopg.connect(database, autocommit=True) as conn, running(sealer):
        audit.capture_log(conn, "a", "INSERT")
        wait_until(lambda: sealer.statistics.sealing_refusals > 0, "it refuses")
        assert f"seal {removed[0]} is no longer in the log" in sealing_problem(conn)
        assert audit.seals(conn) == []


def test_who_locks_the_state_of_copies_holds_up_no_seal(database: str, tmp_path: Path) -> None:
    key = SealKey("s1", b"k" * 32)
    sealer = Sealer(database, key=key, copies=tmp_path / "seals", every=SOON)
    with psycopg.connect(database, autocommit=True) as conn, running(sealer), psycopg.connect(database) as locking:
        audit.capture_log(conn, "a", "INSERT")
        wait_until(lambda: destination(conn).last_seal == 1, "the state is told")
        locking.execute("lock table svc.seal_destinations in exclusive mode")
        audit.capture_log(conn, "b", "INSERT")
        wait_until(lambda: len(audit.seals(conn)) == 2, "it is sealed")
        audit.capture_log(conn, "c", "INSERT")
        wait_until(lambda: len(audit.seals(conn)) == 3, "the next run seals too")
        locking.rollback()
        wait_until(lambda: destination(conn).last_seal == 3, "the state is told again")


def test_a_worker_appends_copies_and_compares_with_them_after_a_restart(database: str, tmp_path: Path) -> None:
    key, file = SealKey("s1", b"k" * 32), tmp_path / "seals"

    def copied() -> list[Seal]:
        return [*read_copies(file)] if file.exists() else []

    def is_appended_by_others() -> bool:
        try:
            with appending(file) as copies:
                append_new(conn, copies)
        except ConflictError:
            return False
        return True

    def is_folder() -> bool:
        file.unlink()
        try:
            file.mkdir()
        except FileExistsError:
            return False
        return True

    with psycopg.connect(database, autocommit=True) as conn:
        audit.capture_log(conn, "a", "INSERT")
        audit.seal(conn, key=key)  # by somebody else
        with running(Sealer(database, key=key, copies=file, every=SOON)):
            wait_until(lambda: len(copied()) == 1, "it copies what is there")
            audit.capture_log(conn, "b", "INSERT")
            wait_until(lambda: len(copied()) == 2, "it copies what it makes")
            audit.capture_log(conn, "c", "INSERT")
            audit.seal(conn, key=key)
            wait_until(is_appended_by_others, "nobody else has the file")
            audit.capture_log(conn, "d", "INSERT")
            wait_until(lambda: len(copied()) == 4)
        assert audit.verify(conn, public_keys=key.public, copies=copied()).is_intact
        whole = file.read_bytes()
        without_seals(conn)
        sealer = Sealer(database, key=key, copies=file, every=SOON)
        with running(sealer):
            wait_until(lambda: "seal 4 of the copies is not in this log" in sealing_problem(conn))
            assert sealer.statistics.sealing_refusals > 0
            file.write_bytes(whole[:-1])
            wait_until(lambda: "is cut: its line 4 does not end" in sealing_problem(conn))
            assert audit.seals(conn) == []
            wait_until(is_folder, "no copy is made in between")
            wait_until(lambda: "no longer has the copies up to seal" in copies_problem(conn))
            wait_until(lambda: sealing_problem(conn) == "", "it knew these copies from nowhere else")
        assert len(audit.seals(conn)) == 1


def test_a_worker_keeps_copies_in_a_folder_and_goes_on_sealing_while_that_is_gone(
    database: str, tmp_path: Path
) -> None:
    key, folder = SealKey("s1", b"k" * 32), tmp_path / "copies"
    folder.mkdir()

    def entry(name: str) -> None:
        audit.capture_log(conn, name, "INSERT")

    with psycopg.connect(database, autocommit=True) as conn:
        with running(Sealer(database, key=key, copies=folder, every=SOON)):
            entry("a")
            wait_until(lambda: len([*folder.glob("*.json")]) == 1)
            wait_until(lambda: (destination(conn).last_seal, destination(conn).waiting) == (1, 0))
            assert destination(conn).copied_at is not None
            folder.rename(tmp_path / "gone")
            entry("b")
            wait_until(lambda: audit.seals(conn)[0].number == 2, "it seals without the folder")
            wait_until(lambda: f"{folder} is gone" in copies_problem(conn))
            assert (destination(conn).last_seal, destination(conn).waiting) == (1, 1)
            assert sealing_problem(conn) == ""
            assert [row.problem for row in fetch(conn, last_runs()) if row.task == "sealing"] == [None]
            folder.mkdir()  # an empty one, as if its disk were not mounted
            wait_until(lambda: "no longer has the copies up to seal 1: mount it" in copies_problem(conn))
            assert [*folder.iterdir()] == []
            folder.rmdir()
            (tmp_path / "gone").rename(folder)
            entry("c")
            wait_until(lambda: (destination(conn).last_seal, copies_problem(conn)) == (3, ""), "it has caught up")
        copies = [*read_copies(folder)]
        assert copies == [*reversed(audit.seals(conn))]
        assert audit.verify(conn, public_keys=key.public, copies=copies).is_intact
        conn.execute("set session_replication_role = replica")
        for table in ("audit_seal_leaves", "audit_seals"):
            conn.execute(f"alter table svc.{table} disable trigger all")
        conn.execute("delete from svc.audit_seal_leaves where seal = 3; delete from svc.audit_seals where number = 3")
        sealer = Sealer(database, key=key, copies=folder, every=SOON)
        with running(sealer):
            wait_until(lambda: "seal 3 of the copies is not in this log" in sealing_problem(conn))
        found = audit.verify(conn, public_keys=key.public, copies=read_copies(folder))
        assert [each.message for each in found.findings] == ["seal 3 is missing: the copies have them"]


def test_a_worker_whose_copies_fail_in_any_way_goes_on_sealing(
    database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "copies\udcff"
    folder.mkdir()
    (folder / "9999999999999999999.json").touch()
    sealer = Sealer(database, key=SealKey("s1", b"k" * 32), copies=folder, every=SOON)
    with psycopg.connect(database, autocommit=True) as conn, running(sealer):
        audit.capture_log(conn, "a", "INSERT")
        wait_until(lambda: destination(conn).last_seal == 1, "strange names are nothing")
        assert destination(conn).name == rf"{tmp_path}/copies\udcff"

        def fail(*_: object) -> None:
            raise ZeroDivisionError

        monkeypatch.setattr("svc_pg.seals.writing.copy_folder.copy_in", fail)
        audit.capture_log(conn, "b", "INSERT")
        wait_until(lambda: audit.seals(conn)[0].number == 2, "it seals")
        wait_until(lambda: "cannot be read or written: ZeroDivisionError()" in copies_problem(conn))
        assert sealing_problem(conn) == ""
        monkeypatch.setattr("svc_pg.maintenance.sealer.audit.seal", fail)
        wait_until(lambda: [run for run in fetch(conn, last_runs()) if run.problem] != [], "a failure is on record")


def test_what_maintenance_did_last_is_on_record(database: str) -> None:
    with psycopg.connect(database, autocommit=True) as conn:
        assert maintain(conn, CONFIG)
        assert {run.task: run.problem for run in fetch(conn, last_runs())} == {"maintenance": None, "purge": None}
        conn.execute("alter function svc.audit_ensure_partitions rename to elsewhere")
        assert not maintain(conn, CONFIG)
        found = {run.task: run for run in fetch(conn, last_runs())}
        assert found["purge"].problem is None
        assert "the log's partitions: " in (found["maintenance"].problem or "")
        assert found["purge"].seconds is not None
        assert found["maintenance"].seconds is not None
        assert found["purge"].seconds < found["maintenance"].seconds  # it has succeeded since
        conn.execute("alter function svc.elsewhere rename to audit_ensure_partitions")
        conn.execute("set role svc_reader")
        assert len(fetch(conn, last_runs())) == 2
        conn.execute("set role svc_admin")
        assert maintain(conn, CONFIG)
        assert [run.problem for run in fetch(conn, last_runs())] == [None, None]


def test_a_worker_has_seals_stamped_and_copies_the_timestamps(database: str, tmp_path: Path) -> None:
    key, tsa = SealKey("s1", b"k" * 32), TimestampAuthority.new(tmp_path / "tsa", root())
    folder = tmp_path / "copies"
    folder.mkdir()
    trusted = audit.TimestampAuthority.read(tsa.ca_file)
    with serving(granted(tsa)) as served, psycopg.connect(database, autocommit=True) as conn:
        audit.capture_log(conn, "a", "INSERT")
        stamping = SealTimestamps(Authority(served.url, trusted), post)
        sealer = Sealer(database, key=key, copies=folder, timestamps=stamping, every=SOON)
        with running(sealer):
            wait_until(lambda: [*read_timestamps(folder)] != [], "a run has copied it")
        assert sealer.statistics.sealing["failure"] == 0
        found = audit.verify(conn, public_keys=key.public, authority=trusted, timestamps=read_timestamps(folder))
    assert (found.findings, found.timestamps) == ([], 1)


def test_an_authority_that_fails_fails_no_run_of_a_worker(database: str, tmp_path: Path) -> None:
    key, tsa = SealKey("s1", b"k" * 32), TimestampAuthority.new(tmp_path / "tsa", root())
    trusted = audit.TimestampAuthority.read(tsa.ca_file)
    with serving(lambda _: (500, {}, b"")) as served, psycopg.connect(database, autocommit=True) as conn:
        audit.capture_log(conn, "a", "INSERT")
        stamping = SealTimestamps(Authority(served.url, trusted), post)
        sealer = Sealer(database, key=key, timestamps=stamping, every=SOON)
        with running(sealer):
            wait_until(lambda: sealer.statistics.sealing["success"] > 3, "it goes on")
        told = destination(conn)
        assert (told.kind, told.problem, told.waiting) == ("timestamps", "it answered 500", 1)
        assert (len(served.queries), sealer.statistics.sealing["failure"]) == (1, 0)

"""The signs of life of a worker, for those who watch it."""

import asyncio
import re
import socket
import sys
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import psycopg
import pytest
from prometheus_client.parser import text_string_to_metric_families
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from svc_pg import audit, webhooks
from svc_pg.audit import LastVerification
from svc_pg.database.by_indexes import BY_INDEXES
from svc_pg.database.conninfo import Conninfo
from svc_pg.database.query import scalar
from svc_pg.errors import ConfigError
from svc_pg.status.last_runs import LastRun
from svc_pg.status.worker_seen import WORKER_SEEN
from svc_pg.webhooks.traffic import backlog
from svc_pg.webhooks.traffic.backlog import EMPTY, Backlog
from svc_pg.webhooks.worker.database_state import DatabaseState, StateReader
from svc_pg.webhooks.worker.health import health_server
from svc_pg.webhooks.worker.prometheus import exposition
from svc_pg.webhooks.worker.statistics import Statistics
from svc_pg.webhooks.worker.worker import Worker
from tests.support.documents import ROOT
from tests.support.hooks import KEYS, endpoint, hooks_config, rows
from tests.support.ports import free_port
from tests.support.queue import end_leases, postpone
from tests.support.receiver import receiving
from tests.support.waiting import wait_until

CONFIG = hooks_config("order.created")
NOBODY = "http://127.0.0.1:9/hook"


def send(conninfo: str, number: int = 1) -> None:
    with psycopg.connect(conninfo) as conn:
        for each in range(number):
            webhooks.send(conn, "order.created", {"id": each})


def read(conninfo: str) -> Backlog:
    found = read_state(conninfo).backlog
    assert found is not None
    return found


def read_state(conninfo: str) -> DatabaseState:
    # by another name than a worker's, for whose session it would be taken until that has ended
    reader = StateReader(Conninfo.parse(make_conninfo(conninfo, application_name="reader")))
    found = asyncio.run(reader.state())
    assert found is not None
    return found


def test_the_backlog_is_read_within_the_limits_of_a_worker(database: str) -> None:
    parameters = conninfo_to_dict(StateReader(Conninfo.parse(database))._conninfo.bounded)
    assert (parameters["client_encoding"], parameters["connect_timeout"]) == ("UTF8", "10")
    with pytest.raises(ConfigError, match="the conninfo is not the address"):
        StateReader(Conninfo.parse("shop hunter2"))


def watching(conninfo: str, look: Callable[[Worker, httpx.AsyncClient], Awaitable[None]]) -> None:
    """Run a worker with monitoring, look at it, and stop it."""

    async def watch() -> None:
        port = free_port()
        worker = Worker(conninfo, keys=KEYS, config=CONFIG)
        running = asyncio.create_task(worker.run())
        async with (
            health_server(worker, conninfo=Conninfo.parse(conninfo), host="127.0.0.1", port=port),
            httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", trust_env=False) as http,
        ):
            await look(worker, http)
        await worker.stop()
        await running

    asyncio.run(watch())


async def until(condition: Callable[[], bool]) -> None:
    await asyncio.to_thread(wait_until, condition)


async def status(http: httpx.AsyncClient, path: str) -> int:
    return (await http.get(path)).status_code


async def samples(http: httpx.AsyncClient) -> dict[str, float]:
    text = (await http.get("/metrics")).text
    return {
        "".join([sample.name, *(f"/{value}" for name, value in sample.labels.items() if name != "le")]): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_the_metrics_say_what_a_worker_has_done(database: str) -> None:
    with receiving(lambda number: 500 if number == 1 else 204) as receiver:
        endpoint(database, CONFIG, receiver.url)

        async def look(worker: Worker, http: httpx.AsyncClient) -> None:
            await asyncio.to_thread(send, database, 3)
            await until(lambda: worker.statistics.deliveries["delivered"] == 3)
            found = await samples(http)
            assert found["svc_webhook_attempts_total/success"] == 3
            assert found["svc_webhook_attempts_total/http_error"] == 1
            assert found["svc_webhook_attempts_total/timeout"] == 0
            assert found["svc_webhook_deliveries_total/delivered"] == 3
            assert found["svc_webhook_deliveries_total/retry"] == 1
            assert found["svc_webhook_claimed_deliveries_total"] == 4
            assert found["svc_webhook_attempt_duration_seconds_count"] == 4
            assert found["svc_webhook_claim_duration_seconds_count"] >= 2
            assert found["svc_webhook_in_flight"] == 0
            assert found["svc_webhook_database_up"] == 1
            assert found["svc_webhook_endpoints/active"] == 1

        watching(database, look)


def test_a_delivery_whose_last_attempt_was_lost_is_counted_and_logged(
    database: str, caplog: pytest.LogCaptureFixture
) -> None:
    endpoint(database, CONFIG, NOBODY)
    send(database)
    with psycopg.connect(database) as conn:
        conn.execute("update svc.webhook_deliveries set attempts = 19, lost_attempts = 19")
        conn.execute("select svc.webhook_claim('w', 1)")
        end_leases(conn)

    async def look(worker: Worker, http: httpx.AsyncClient) -> None:
        await until(lambda: worker.statistics.deliveries["failed"] == 1)
        found = await samples(http)
        assert found["svc_webhook_deliveries_total/failed"] == 1
        assert found["svc_webhook_claimed_deliveries_total"] == 0

    watching(database, look)
    [failed] = rows(database, "webhook_deliveries")
    assert failed["status"] == "failed"
    assert f"delivery {failed['id']} failed: its last attempt, number 20, was lost" in caplog.text


def test_a_worker_with_its_database_is_alive_and_ready(database: str) -> None:
    endpoint(database, CONFIG, NOBODY)

    async def look(worker: Worker, http: httpx.AsyncClient) -> None:
        await until(lambda: worker.is_connected)
        assert [await status(http, path) for path in ("/healthz", "/readyz", "/metrics")] == [200, 200, 200]
        assert await status(http, "/") == 404

    watching(database, look)


def test_a_worker_without_its_database_is_alive_and_not_ready() -> None:
    async def look(_: Worker, http: httpx.AsyncClient) -> None:
        assert [await status(http, path) for path in ("/healthz", "/readyz")] == [200, 503]
        found = await samples(http)
        assert found["svc_webhook_database_up"] == 0
        assert "svc_webhook_backlog_age_seconds" not in found

    watching("host=127.0.0.1 port=9", look)


@pytest.mark.parametrize("accept", ["", "text/plain", "application/openmetrics-text; version=1.0.0"])
def test_metrics_come_in_the_format_that_is_asked_for(accept: str) -> None:
    runs = (LastRun("purge", 90.5, None), LastRun("maintenance", None, "no"))
    found = Backlog(1.5, 1, 0, 0, 0, 0, 0, 7, 9, is_worker_seen=True, needs_attention=False)
    now, age = datetime.now(UTC), timedelta(hours=2)
    verification = LastVerification(
        now, age, 1, 9, 5, 0, 3, is_complete=True, has_copies=False, keys=["s1"], verified_by="alice"
    )
    state = DatabaseState(found, seal_lag=12.5, verification=verification, last_runs=runs, unsettled=3)
    body, content_type = exposition(Statistics(), state, accept=accept)
    assert (b"# EOF" in body) == content_type.startswith("application/openmetrics-text") == ("openmetrics" in accept)
    assert b"svc_webhook_backlog_age_seconds 1.5\n" in body
    assert b"svc_audit_seal_lag_seconds 12.5\n" in body
    assert b"svc_audit_verification_age_seconds 7200.0\n" in body
    assert b"svc_audit_verification_findings 3.0\n" in body
    assert b"svc_audit_unsettled_transactions 3.0\n" in body
    assert b'svc_maintenance_age_seconds{task="purge"} 90.5\n' in body
    assert b'task="maintenance"' not in body  # it has not succeeded yet
    served = set(re.findall(rb"\bsvc_\w+", body))
    assert set(re.findall(rb"\bsvc_\w+", (ROOT / "docs" / "alerts.yml").read_bytes())) <= served


@pytest.mark.parametrize("state", [None, DatabaseState(None), DatabaseState(EMPTY)])
def test_a_worker_that_does_not_deliver_has_no_metrics_of_deliveries(state: DatabaseState | None) -> None:
    body, _ = exposition(Statistics(), state, is_delivering=False, accept="")
    assert b"svc_maintenance_runs_total" in body
    assert b"svc_webhook_attempts" not in body


def test_the_lag_of_seals_and_the_last_verification_are_read_with_the_backlog(database: str) -> None:
    key = audit.SealKey("s1", b"k" * 32)
    assert read_state(database).seal_lag is None
    with psycopg.connect(database, autocommit=True) as conn:
        audit.capture_log(conn, "a", "INSERT")
        audit.seal(conn, key=key)
        sealed = read_state(database)
        assert (sealed.seal_lag, sealed.verification) == (0, None)
        audit.verify(conn, public_keys=key.public)
        verification = read_state(database).verification
        assert verification is not None
        assert (verification.last_seal, verification.findings) == (1, 0)
        audit.capture_log(conn, "b", "INSERT")
    lag = read_state(database).seal_lag
    assert lag is not None
    assert lag > 0


def test_the_backlog_is_as_old_as_the_first_delivery_that_nothing_but_workers_holds_back(database: str) -> None:
    active, _ = endpoint(database, CONFIG, NOBODY)
    paused, _ = endpoint(database, CONFIG, NOBODY)
    broken, _ = endpoint(database, CONFIG, NOBODY)
    limited, _ = endpoint(database, CONFIG, NOBODY, rate_per_second=1)
    assert read(database).oldest_due_seconds == 0
    send(database, 3)
    with psycopg.connect(database, autocommit=True) as conn:
        conn.execute("update svc.webhook_endpoints set status = 'paused' where id = %s", [paused])
        conn.execute(
            "insert into svc.webhook_rates (endpoint_id, spent_until, full_until)"
            " values (%s, now(), now() + interval '1 min')",
            [limited],
        )
        conn.execute(
            "update svc.webhook_endpoint_state set breaker_until = now() + interval '1 min' where endpoint_id = %s",
            [broken],
        )
        postpone(conn, timedelta(days=-1), "d.endpoint_id = any(%s::uuid[])", ([paused, broken, limited],))
        postpone(conn, timedelta(hours=1), "d.endpoint_id = %s", (active,))
        found = read(database)
        assert found == Backlog(
            0,
            3,
            1,
            0,
            0,
            1,
            0,
            found.oldest_snapshot_transactions,
            found.unsettled_transactions,
            is_worker_seen=False,
            needs_attention=False,
        )
        postpone(conn, timedelta(minutes=-10), "d.endpoint_id = %s", (active,))
        assert timedelta(minutes=10) <= timedelta(seconds=read(database).oldest_due_seconds) < timedelta(minutes=15)
        conn.execute("update svc.webhook_endpoints set status = 'paused' where id = %s", [active])
        assert not read(database).needs_attention


def test_late_deliveries_need_attention_sooner_if_no_worker_is_seen(database: str) -> None:
    held, _ = endpoint(database, CONFIG, NOBODY)
    send(database)
    worker = make_conninfo(database, application_name="svc-pg worker")
    with psycopg.connect(database, autocommit=True) as conn:

        def look(minutes: int) -> tuple[bool, bool]:
            postpone(conn, timedelta(minutes=-minutes))
            with conn.transaction():
                conn.execute("set local role svc_reader")  # as those who look may be
                found = backlog.read_backlog(conn)
            return found.is_worker_seen, found.needs_attention

        assert [look(minutes) for minutes in (0, 2)] == [(False, False), (False, True)]
        with psycopg.connect(worker):
            assert [look(minutes) for minutes in (10, 20)] == [(True, False), (True, True)]
        wait_until(lambda: not read(database).is_worker_seen)  # its session outlives its connection by a moment
        delivery = conn.execute("delete from svc.webhook_queue returning delivery_id").fetchone()
        conn.execute(
            "insert into svc.webhook_leases (endpoint_id, delivery_id, lease_until, leased_at, worker)"
            " values (%s, %s, now() + interval '1 min', now(), 'w')",
            [held, *(delivery or ())],
        )
        with conn.transaction():
            assert backlog.read_backlog(conn).is_worker_seen
        conn.execute("update svc.webhook_leases set lease_until = now() - interval '5 min'")  # its worker is gone
        with conn.transaction():
            found = backlog.read_backlog(conn)
        assert (found.is_worker_seen, found.needs_attention) == (False, True)


def test_a_session_that_a_pooler_keeps_of_a_worker_that_is_gone_shows_no_worker(database: str) -> None:
    pooled = make_conninfo(database, application_name="svc-pg worker host:1")
    limit = "interval '1 minute'"
    assert limit in WORKER_SEEN
    seen = f"select ({WORKER_SEEN})".replace(limit, "interval '0'")
    with psycopg.connect(database, autocommit=True) as conn, psycopg.connect(pooled, autocommit=True) as kept:
        wait_until(lambda: scalar(conn, seen) is False)
        assert scalar(conn, f"select ({WORKER_SEEN})") is True, "it has only just become idle"
        with kept.transaction():
            kept.execute("select 1")
            assert scalar(conn, seen) is True, "it works"
        wait_until(lambda: scalar(conn, seen) is False)
        with conn.transaction():
            conn.execute("set local role svc_reader")
            assert scalar(conn, seen) is True, "this role may not see since when it is idle"


def test_deliveries_that_a_pause_parked_are_late_if_no_worker_takes_them_after_a_resume(database: str) -> None:
    held, _ = endpoint(database, CONFIG, NOBODY)
    send(database, 2)
    with psycopg.connect(database, autocommit=True) as conn:
        postpone(conn, timedelta(days=-1))
        conn.execute("update svc.webhook_endpoints set status = 'paused'")
        conn.execute("select svc.webhook_park(array[%s]::uuid[], now())", [held])  # as a claim does that sees many
        assert conn.execute("select distinct lane::text from svc.webhook_queue").fetchall() == [("parked",)]
        assert not read(database).needs_attention
        conn.execute("select svc.webhook_set_status(%s, 'active')", [held])
        assert not read(database).needs_attention
        conn.execute("update svc.webhook_endpoint_state set open_since = now() - interval '10 min'")
        with conn.transaction():
            conn.execute("set local role svc_reader")
            found = backlog.read_backlog(conn)
        assert (round(found.oldest_due_seconds / 60), found.is_worker_seen, found.needs_attention) == (10, False, True)


def test_no_time_counts_in_which_an_endpoint_was_paused_or_its_breaker_open(database: str) -> None:
    held, _ = endpoint(database, CONFIG, NOBODY)
    send(database, 2)

    def late(conn: psycopg.Connection[Any]) -> float:
        with conn.transaction():
            return round(backlog.read_backlog(conn).oldest_due_seconds / 60)

    with psycopg.connect(database, autocommit=True) as conn:
        postpone(conn, timedelta(days=-1))
        conn.execute("select svc.webhook_set_status(%s, 'active')", [held])  # as it was
        assert late(conn) == 24 * 60
        for status in ("paused", "active"):
            conn.execute("select svc.webhook_set_status(%s, %s)", [held, status])
        assert late(conn) == 0
        conn.execute(
            "update svc.webhook_endpoint_state set open_since = null, failure_streak = 10, failing_since = now(),"
            " breaker_until = now()"
        )
        [(delivery, lease)] = conn.execute("select delivery_id, lease_id from svc.webhook_claim('w', 9)").fetchall()
        conn.execute(
            """select svc.webhook_acknowledge(%s, %s, '{delivered}', '{0}', '{success}', '{204}', '{}', '{7}', '{}',
                                              '{}', '{}')""",
            ([delivery], [lease]),
        )
        assert late(conn) == 0
        conn.execute("update svc.webhook_endpoint_state set open_since = now() - interval '10 min'")
        assert late(conn) == 10


def test_an_old_snapshot_is_seen(database: str) -> None:
    with psycopg.connect(database) as old, psycopg.connect(database, autocommit=True) as conn:
        old.execute("set transaction isolation level repeatable read")
        old.execute("select 1")
        for _ in range(5):
            conn.execute("select txid_current()")
        assert read(database).oldest_snapshot_transactions >= 5


def test_a_transaction_that_readers_of_the_log_wait_for_is_seen(database: str) -> None:
    with psycopg.connect(database) as old, psycopg.connect(database, autocommit=True) as conn:
        old.execute("select txid_current()")
        for _ in range(5):
            conn.execute("select txid_current()")
        assert read(database).unsettled_transactions >= 6


def test_the_backlog_is_read_by_index_whatever_the_statistics_say(database: str) -> None:
    endpoint(database, CONFIG, NOBODY)
    endpoint(database, CONFIG, NOBODY)
    send(database, 20)  # so few, and unknown to the planner, that it would rather read the table
    with psycopg.connect(database) as conn:
        conn.execute("analyze svc.webhook_queue, svc.webhook_leases")
        conn.execute(BY_INDEXES)
        [(plan,)] = conn.execute(f"explain (analyze, format json, costs off, timing off) {backlog.backlog().text}")
    scans = [node for node in nodes(plan[0]["Plan"]) if node.get("Relation Name") == "webhook_queue"]
    assert {node["Node Type"] for node in scans} <= {"Index Scan", "Index Only Scan"}
    assert max(node["Actual Rows"] for node in scans) <= 1
    # a probe for each endpoint, one that finds the end, and one for those whose time has come since the last claim
    assert sum(node["Actual Loops"] for node in scans) == 4


def nodes(plan: dict[str, Any]) -> list[dict[str, Any]]:
    return [plan, *(node for child in plan.get("Plans", []) for node in nodes(child))]


def test_a_port_that_is_taken_is_an_error_that_says_so(database: str) -> None:
    async def serve() -> None:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            worker = Worker(database, keys=KEYS, config=CONFIG)
            async with health_server(
                worker, conninfo=Conninfo.parse(database), host="127.0.0.1", port=taken.getsockname()[1]
            ):
                raise AssertionError

    with pytest.raises(ConfigError, match="cannot serve metrics"):
        asyncio.run(serve())


def test_without_prometheus_client_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    async def serve() -> None:
        worker = Worker("", keys=KEYS, config=CONFIG)
        async with health_server(worker, conninfo=Conninfo.parse(""), host="127.0.0.1", port=free_port()):
            raise AssertionError

    monkeypatch.delitem(sys.modules, "svc_pg.webhooks.worker.prometheus", raising=False)
    monkeypatch.setitem(sys.modules, "prometheus_client", None)
    with pytest.raises(ConfigError) as raised:
        asyncio.run(serve())
    assert raised.value.hint == "pip install 'svc-pg[metrics]'"


def test_who_asks_again_soon_gets_the_same_answer(database: str) -> None:
    async def ask() -> tuple[DatabaseState | None, ...]:
        reader = StateReader(Conninfo.parse(database))
        return tuple(await asyncio.gather(reader.state(), reader.state(), reader.state()))

    first, second, third = asyncio.run(ask())
    assert first is not None
    assert first is second is third
    assert rows(database, "webhook_deliveries") == []

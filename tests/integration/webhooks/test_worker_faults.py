"""A worker whose database, clock or connections fail."""

import asyncio
import json
import time
from collections.abc import Callable
from datetime import timedelta
from threading import Event
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from svc_pg import webhooks
from svc_pg.database.conninfo import Conninfo
from svc_pg.database.query import scalar
from svc_pg.webhooks.http.transport import Result
from svc_pg.webhooks.worker import leases
from svc_pg.webhooks.worker.leases import Acknowledgement, Lease
from svc_pg.webhooks.worker.results import ResultQueue
from svc_pg.webhooks.worker.statistics import Statistics
from svc_pg.webhooks.worker.worker import Worker
from svc_pg.webhooks.worker.worker_connections import Connection, connected
from tests.support.forwarder import forwarding
from tests.support.hooks import KEYS, endpoint, hooks_config, rows, working
from tests.support.leases import shorten_leases
from tests.support.postgres import embedded_programs, server
from tests.support.receiver import Receiver, receiving
from tests.support.roles import execute, new_role
from tests.support.waiting import wait_until

CONFIG = hooks_config("order.created")
TRANSACTION_TIMEOUT_SINCE = 170000
CONNECTIONS = range(3)  # for claims, to listen, and for acknowledgements


def send(conninfo: str, number: int) -> None:
    with psycopg.connect(conninfo) as conn:
        conn.execute("set default_transaction_read_only = off")
        conn.commit()
        webhooks.send(conn, "order.created", {"id": number})


def answer(may_answer: Event) -> Callable[[int], int]:
    """Answer 204, but only when it may; 500 where nobody ever allows it."""
    return lambda _: 204 if may_answer.wait(10) else 500


def wait_until_delivered(conninfo: str, number: int) -> None:
    def statuses() -> list[str]:
        return [row["status"] for row in rows(conninfo, "webhook_deliveries")]

    wait_until(lambda: statuses() == ["delivered"] * number, f"{number} are delivered")


def ids(receiver: Receiver) -> list[int]:
    return sorted(json.loads(request.body)["data"]["id"] for request in receiver.requests)


def connections(conninfo: str) -> list[int]:
    """The process ids of a worker's connections, oldest first."""
    with psycopg.connect(conninfo) as conn:
        return [
            pid
            for (pid,) in conn.execute(
                "select pid from pg_stat_activity where datname = current_database()"
                " and starts_with(application_name, 'svc-pg worker') order by backend_start"
            )
        ]


def terminate(conninfo: str, pid: int) -> None:
    with psycopg.connect(conninfo, autocommit=True) as conn:
        conn.execute("select pg_terminate_backend(%s)", [pid])
    wait_until(lambda: pid not in connections(conninfo), "the connection is gone")


def wait_until_all_are_up(conninfo: str, worker: Worker) -> list[int]:
    wait_until(lambda: worker.is_connected and len(connections(conninfo)) == len(CONNECTIONS), "it is connected")
    return connections(conninfo)


def test_a_worker_that_sleeps_outlives_the_loss_of_each_connection(database: str) -> None:
    with receiving() as receiver:
        endpoint(database, CONFIG, receiver.url)
        with working(database, CONFIG) as worker:
            for which in CONNECTIONS:
                terminate(database, wait_until_all_are_up(database, worker)[which])
                send(database, which)
                wait_until_delivered(database, which + 1)
        assert ids(receiver) == list(CONNECTIONS)
    assert worker.statistics.reconnects == len(CONNECTIONS)


def test_a_delivery_under_way_is_sent_once_whichever_connection_is_lost_meanwhile(database: str) -> None:
    may_answer = Event()
    with receiving(answer(may_answer)) as receiver:
        endpoint(database, CONFIG, receiver.url)
        with working(database, CONFIG) as worker:
            for which in CONNECTIONS:
                may_answer.clear()
                pids = wait_until_all_are_up(database, worker)
                send(database, which)
                receiver.wait_for(which + 1)
                terminate(database, pids[which])
                may_answer.set()
                wait_until_delivered(database, which + 1)
        assert ids(receiver) == list(CONNECTIONS)
    assert [row["outcome"] for row in rows(database, "webhook_delivery_attempts")] == ["success"] * 3


def test_an_endpoint_is_read_anew_from_another_server_where_its_version_may_be_another(database: str) -> None:
    with receiving() as old, receiving() as new:
        key, _ = endpoint(database, CONFIG, old.url)
        with working(database, CONFIG) as worker:
            send(database, 0)
            wait_until_delivered(database, 1)
            pids = wait_until_all_are_up(database, worker)
            with psycopg.connect(database) as conn:  # a standby that lost a change gives its version to the next one
                conn.execute("update svc.webhook_endpoints set url = %s where id = %s", [new.url, key])
            for pid in pids:
                terminate(database, pid)
            send(database, 1)
            wait_until_delivered(database, 2)
        assert (ids(old), ids(new)) == ([0], [1])


def test_a_worker_that_finds_no_connection_for_its_results_sends_nothing_again(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("svc_pg.webhooks.worker.results._STUCK", 0.5)
    acknowledging = "select pid from pg_stat_activity where query ~ 'webhook_acknowledge' and pid <> pg_backend_pid()"
    ended = "select bool_and(lease_until < now() - interval '1 s') from svc.webhook_leases"
    with (
        receiving() as receiver,
        new_role(database) as role,
        psycopg.connect(database, autocommit=True) as conn,
    ):
        endpoint(database, CONFIG, receiver.url)
        shorten_leases(database)
        execute(database, "grant svc_admin to {}", role)
        with working(make_conninfo(database, user=role), CONFIG) as worker:
            wait_until_all_are_up(database, worker)
            send(database, 0)
            wait_until_delivered(database, 1)
            execute(database, "alter role {} connection limit 2", role)
            terminate(database, scalar(conn, acknowledging))
            send(database, 1)
            receiver.wait_for(2)
            wait_until(lambda: scalar(conn, ended), "the lease has ended")
            execute(database, "alter role {} connection limit -1", role)
            wait_until_delivered(database, 2)
    assert ids(receiver) == [0, 1]


def test_the_log_tells_at_once_why_the_server_refuses_after_a_loss(
    database: str, caplog: pytest.LogCaptureFixture
) -> None:
    with new_role(database) as role:
        execute(database, "grant svc_admin to {}", role)
        with working(make_conninfo(database, user=role), CONFIG) as worker:
            pids = wait_until_all_are_up(database, worker)
            execute(database, "alter role {} nologin", role)
            for pid in pids:
                terminate(database, pid)
            wait_until(lambda: "is not permitted to log in" in caplog.text, "it says why", limit=timedelta(seconds=3))
    assert "the database fails" in caplog.text


def test_a_stopping_worker_outlives_the_loss_of_its_connections_and_forgets_nothing(database: str) -> None:
    may_answer = Event()
    with receiving(answer(may_answer)) as receiver:
        endpoint(database, CONFIG, receiver.url)
        with working(database, CONFIG) as worker:
            send(database, 1)
            receiver.wait_for(1)
            pids = wait_until_all_are_up(database, worker)
            worker.stop()
            for pid in pids:
                terminate(database, pid)
            may_answer.set()
        wait_until_delivered(database, 1)
        assert len(receiver.requests) == 1


def test_results_are_kept_while_the_database_is_away(database: str) -> None:
    may_answer = Event()
    with forwarding(database) as (way, conninfo), receiving(answer(may_answer)) as receiver:
        endpoint(database, CONFIG, receiver.url)
        way.open()
        with working(conninfo, CONFIG) as worker:
            send(database, 1)
            receiver.wait_for(1)
            way.close()
            may_answer.set()
            wait_until(lambda: worker.statistics.attempts["success"] == 1, "it has arrived")
            assert [row["status"] for row in rows(database, "webhook_deliveries")] == ["pending"]
            assert not worker.is_connected
            way.open()
            wait_until_delivered(database, 1)
        assert len(receiver.requests) == 1


def test_a_worker_that_stops_without_its_database_ends_and_says_what_will_be_sent_again(
    database: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("svc_pg.webhooks.worker.worker._LAST_ACKNOWLEDGEMENTS", 1.0)
    may_answer = Event()
    with forwarding(database) as (way, conninfo), receiving(answer(may_answer)) as receiver:
        endpoint(database, CONFIG, receiver.url)
        way.open()
        with working(conninfo, CONFIG):
            send(database, 1)
            receiver.wait_for(1)
            way.close()
            may_answer.set()
    assert "the database did not take: 1 delivery" in caplog.text


def test_results_are_acknowledged_to_the_last_on_the_next_connection(database: str) -> None:
    claim = Lease(str(uuid4()), str(uuid4()), 1, 5, str(uuid4()), 1, str(uuid4()))

    async def work() -> None:
        results = ResultQueue(statistics)
        results.put(Acknowledgement(claim, "released"))
        results.close()
        async with connected(Conninfo.parse(database)) as broken:
            pass
        with pytest.raises(psycopg.OperationalError):
            await results.acknowledge_all(broken)
        assert len(results) == 1
        async with connected(Conninfo.parse(database)) as conn:
            await results.acknowledge_all(conn)
        assert len(results) == 0

    statistics = Statistics()
    asyncio.run(work())
    assert statistics.lost_leases == 1


def test_results_of_two_leases_of_a_delivery_are_both_settled(database: str) -> None:
    endpoint(database, CONFIG, "http://127.0.0.1:9/hook")
    send(database, 1)

    async def work() -> None:
        async with connected(Conninfo.parse(database)) as conn:
            [lease], _ = await leases.claim(conn, worker="w", batch=10, after=None)
            results = ResultQueue(statistics)
            for lease_id in (str(uuid4()), lease.lease_id):
                results.put(Acknowledgement(lease._replace(lease_id=lease_id), "delivered", Result("success", 200)))
            results.close()
            await asyncio.wait_for(results.acknowledge_all(conn), 10)
            assert len(results) == 0

    statistics = Statistics()
    asyncio.run(work())
    assert (statistics.deliveries["delivered"], statistics.lost_leases) == (1, 1)
    assert [row["status"] for row in rows(database, "webhook_deliveries")] == ["delivered"]


def test_a_worker_reads_utf8_whatever_the_encoding_of_its_role_is(database: str) -> None:
    with receiving() as receiver:
        endpoint(database, CONFIG, receiver.url)
        with psycopg.connect(database) as conn:
            webhooks.send(conn, "order.created", {"price": "7 €"})
            conn.execute(
                sql.SQL("alter database {} set client_encoding = 'LATIN1'").format(sql.Identifier(conn.info.dbname))
            )
        with working(database, CONFIG):
            [request] = receiver.wait_for(1)
    assert json.loads(request.body)["data"] == {"price": "7 €"}


def test_a_worker_that_cannot_acknowledge_stops_claiming(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("svc_pg.webhooks.worker.dispatcher._SLACK", 5)
    may_answer = Event()
    with receiving(answer(may_answer)) as receiver, psycopg.connect(database) as holder:
        endpoint(database, CONFIG, receiver.url, max_in_flight=100)
        for number in range(10):
            send(database, number)
        with working(database, CONFIG, concurrency=10) as worker:
            receiver.wait_for(10)
            holder.execute("lock table svc.webhook_endpoint_state in share mode")
            for number in range(10, 30):
                send(database, number)
            may_answer.set()
            receiver.wait_for(15)
            wait_until(lambda: not worker.statistics.in_flight, "nothing is under way")
            assert worker.statistics.claimed == 15
            holder.commit()
            wait_until_delivered(database, 30)


def test_a_delivery_that_somebody_has_locked_holds_up_no_result_but_its_own(
    database: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("svc_pg.webhooks.worker.results._AGAIN", 0.1)
    may_answer = Event()
    with receiving(answer(may_answer)) as receiver, psycopg.connect(database) as holder:
        endpoint(database, CONFIG, receiver.url, max_in_flight=100)
        for number in range(3):
            send(database, number)
        with working(database, CONFIG) as worker:
            receiver.wait_for(3)
            [(locked,)] = holder.execute("select id from svc.webhook_deliveries order by id limit 1 for update")
            may_answer.set()
            wait_until(lambda: worker.statistics.deliveries["delivered"] == 2, "the others are acknowledged")
            send(database, 3)
            wait_until(lambda: worker.statistics.deliveries["delivered"] == 3, "so are later ones")
            [pending] = [row for row in rows(database, "webhook_deliveries") if row["status"] == "pending"]
            assert pending["id"] == locked
            holder.rollback()
            wait_until_delivered(database, 4)
        assert (worker.statistics.reconnects, worker.statistics.lost_leases) == (0, 0)
        assert ids(receiver) == [0, 1, 2, 3]
    assert caplog.text.count("another transaction has locked 1 delivery; results are kept") == 1


def test_a_worker_that_stops_while_a_delivery_is_locked_acknowledges_the_others(
    database: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("svc_pg.webhooks.worker.worker._LAST_ACKNOWLEDGEMENTS", 1.0)
    monkeypatch.setattr("svc_pg.webhooks.worker.reconnecting._LAST", 1.0)
    may_answer = Event()
    with receiving(answer(may_answer)) as receiver, psycopg.connect(database) as holder:
        endpoint(database, CONFIG, receiver.url)
        send(database, 1)
        send(database, 2)
        with working(database, CONFIG):
            receiver.wait_for(2)
            holder.execute("select from svc.webhook_deliveries order by id limit 1 for update")
            may_answer.set()
        # while it is locked: the last statement of the worker may still run, and would find it free
        assert [row["status"] for row in rows(database, "webhook_deliveries")] == ["pending", "delivered"]
    assert "the database did not take: 1 delivery" in caplog.text


def test_a_connection_is_closed_also_where_its_task_is_cancelled_while_it_leaves(database: str) -> None:
    opened: list[Connection] = []

    async def leave() -> None:
        async with connected(Conninfo.parse(database)) as conn:
            opened.append(conn)
            await conn.execute("begin")
            leaving[0].cancel()

    async def work() -> None:
        leaving.append(asyncio.create_task(leave()))
        await leaving[0]

    leaving: list[asyncio.Task[None]] = []
    with pytest.raises(asyncio.CancelledError):
        asyncio.run(work())
    assert opened[0].closed


def test_a_worker_that_starts_before_its_database_waits_for_it(database: str, caplog: pytest.LogCaptureFixture) -> None:
    with forwarding(database) as (way, conninfo), receiving() as receiver:
        endpoint(database, CONFIG, receiver.url)
        send(database, 1)
        with working(conninfo, CONFIG) as worker:
            wait_until(lambda: "no connection to the database" in caplog.text, "it says that it cannot connect")
            assert worker.is_alive
            assert not worker.is_connected
            way.open()
            wait_until_delivered(database, 1)


def test_a_worker_that_waits_for_its_database_can_be_stopped(caplog: pytest.LogCaptureFixture) -> None:
    with working("host=127.0.0.1 port=9", CONFIG):
        wait_until(lambda: "no connection to the database" in caplog.text, "it says that it cannot connect")
    assert "Is the server running" not in caplog.text  # a line is a line


def test_a_server_that_only_reads_is_as_good_as_none_until_it_writes_again(
    database: str, caplog: pytest.LogCaptureFixture
) -> None:
    with receiving() as receiver:
        endpoint(database, CONFIG, receiver.url)
        set_read_only(database, is_read_only=True)
        send(database, 1)
        with working(database, CONFIG):
            wait_until(lambda: "read-only transaction" in caplog.text, "it says that it cannot write")
            assert receiver.requests == []
            set_read_only(database, is_read_only=False)
            wait_until_delivered(database, 1)


def set_read_only(conninfo: str, *, is_read_only: bool) -> None:
    """Make a database read-only, as a standby is, or not; and end a worker's connections, as a switch-over does."""
    name = sql.Identifier(str(conninfo_to_dict(conninfo)["dbname"]))
    with psycopg.connect(conninfo, autocommit=True) as conn:
        conn.execute("set default_transaction_read_only = off")
        value = sql.SQL("on" if is_read_only else "off")
        conn.execute(sql.SQL("alter database {} set default_transaction_read_only = {}").format(name, value))
    for pid in connections(conninfo):
        terminate(conninfo, pid)


def test_an_error_that_stays_ends_a_worker(database: str) -> None:
    with psycopg.connect(database, autocommit=True) as conn:
        conn.execute("alter table svc.webhook_queue rename column next_attempt_at to later")

    def work() -> None:
        with working(database, CONFIG) as worker:
            wait_until(lambda: not worker.is_alive, "it has ended")

    with pytest.raises(psycopg.errors.UndefinedColumn):
        work()


@pytest.mark.parametrize("code", ["XX000", "25P03", "25P04", "72000", "54000", "22003", "P0001"])
def test_an_error_that_can_heal_ends_no_worker(database: str, caplog: pytest.LogCaptureFixture, code: str) -> None:
    with receiving() as receiver, psycopg.connect(database, autocommit=True) as conn:
        endpoint(database, CONFIG, receiver.url)
        definition: str = scalar(conn, "select pg_get_functiondef('svc.webhook_claim'::regproc)")
        with working(database, CONFIG) as worker:
            head, _, _ = definition.partition("AS $function$")
            conn.execute(f"{head} AS $$ begin raise exception 'out of sorts' using errcode = '{code}'; end $$".encode())
            wait_until(lambda: worker.statistics.reconnects > 1, "it has tried more than once")
            conn.execute(definition.encode())
            send(database, 1)
            wait_until_delivered(database, 1)
    assert caplog.text.count("the database fails, trying on other connections until it works: out of sorts") == 1
    assert "connected to the database again" not in caplog.text  # it never was for long


def test_a_limit_of_transactions_ends_no_worker(database: str, caplog: pytest.LogCaptureFixture) -> None:
    with receiving() as receiver, psycopg.connect(database, autocommit=True) as conn:
        if conn.info.server_version < TRANSACTION_TIMEOUT_SINCE:
            pytest.skip("knows no transaction_timeout")
        endpoint(database, CONFIG, receiver.url)
        send(database, 1)
        holder = psycopg.connect(database)
        holder.execute("lock table svc.webhook_claim_lock in share update exclusive mode")
        name = sql.Identifier(conn.info.dbname)
        conn.execute(sql.SQL("alter database {} set transaction_timeout = '100 ms'").format(name))
        with holder, working(database, CONFIG):
            wait_until(lambda: "transaction timeout" in caplog.text, "its claim is broken off")
            holder.rollback()
            wait_until_delivered(database, 1)


def test_a_worker_follows_the_server_that_writes(database: str, postgres_choice: str | None) -> None:
    servers = [conninfo_to_dict(database)]
    with (
        server(postgres_choice or str(embedded_programs())) as maintenance,
        receiving() as receiver,
    ):
        other = make_conninfo(maintenance, dbname=servers[0]["dbname"])
        servers.append(conninfo_to_dict(other))
        with psycopg.connect(maintenance, autocommit=True) as conn:
            conn.execute(sql.SQL("create database {}").format(sql.Identifier(str(servers[0]["dbname"]))))
        for conninfo in (database, other):
            endpoint(conninfo, CONFIG, receiver.url)
        set_read_only(other, is_read_only=True)
        both = make_conninfo(
            database,
            host=",".join(str(each["host"]) for each in servers),
            port=",".join(str(each["port"]) for each in servers),
            target_session_attrs="read-write",
        )
        with working(both, CONFIG):
            send(database, 1)
            wait_until_delivered(database, 1)
            set_read_only(other, is_read_only=False)
            set_read_only(database, is_read_only=True)
            send(other, 2)
            wait_until_delivered(other, 1)
        assert ids(receiver) == [1, 2]


@pytest.mark.parametrize("shift", [timedelta(hours=1), timedelta(hours=-1)])
def test_a_worker_whose_clock_is_wrong_signs_with_it_and_does_nothing_else_with_it(
    database: str, monkeypatch: pytest.MonkeyPatch, shift: timedelta
) -> None:
    right = time.time
    monkeypatch.setattr(time, "time", lambda: right() + shift.total_seconds())
    answered = Event()
    with receiving(lambda number: 500 if number == 1 or not answered.wait(10) else 204) as receiver:
        endpoint(database, CONFIG, receiver.url)
        with working(database, CONFIG):
            send(database, 1)
            receiver.wait_for(2)  # after a failure and its wait
            [leased] = rows(database, "webhook_leases")
            answered.set()
            wait_until_delivered(database, 1)
    with psycopg.connect(database) as conn:
        now: Any = scalar(conn, "select now()")
    assert timedelta(0) < leased["lease_until"] - now < timedelta(seconds=30)
    assert leased["lease_until"] - leased["leased_at"] == timedelta(seconds=30)
    signed_at = int(receiver.requests[0].headers["webhook-timestamp"])
    assert abs(signed_at - right() - shift.total_seconds()) < 60


def test_an_endpoint_that_is_gone_is_disabled_aloud(database: str, caplog: pytest.LogCaptureFixture) -> None:
    with receiving(lambda _: 410) as receiver:
        endpoint_id, _ = endpoint(database, CONFIG, receiver.url)
        with working(database, CONFIG) as worker:
            send(database, 1)
            wait_until(lambda: worker.statistics.disabled_endpoints == 1, "it is disabled")
    assert f"endpoint {endpoint_id} is disabled" in caplog.text
    assert worker.statistics.deliveries["gone"] == 1


def test_a_started_worker_delivers_until_it_is_stopped(database: str) -> None:
    async def work() -> None:
        worker = Worker(database, keys=KEYS, config=CONFIG)
        await worker.start()
        assert worker.is_alive
        await asyncio.to_thread(send, database, 1)
        await asyncio.to_thread(wait_until_delivered, database, 1)
        await worker.stop()
        assert not worker.is_alive
        await worker.stop()
        with pytest.raises(RuntimeError, match="runs once"):
            await worker.start()

    with receiving() as receiver:
        endpoint(database, CONFIG, receiver.url)
        asyncio.run(work())


def test_a_worker_that_was_stopped_before_it_started_ends_at_once(database: str) -> None:
    async def work() -> None:
        worker = Worker(database, keys=KEYS, config=CONFIG)
        await worker.stop()
        await worker.run()

    asyncio.run(work())

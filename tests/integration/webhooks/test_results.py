"""Results wait a moment for others, so that batches are large, but not while an endpoint may wait for room."""

import asyncio
from collections.abc import Sequence

import psycopg
import pytest

from svc_pg import webhooks
from svc_pg.database.conninfo import Conninfo
from svc_pg.webhooks.http.transport import Result
from svc_pg.webhooks.worker import leases
from svc_pg.webhooks.worker.leases import Acknowledged, Acknowledgement, Disposition
from svc_pg.webhooks.worker.results import ResultQueue
from svc_pg.webhooks.worker.statistics import Statistics
from svc_pg.webhooks.worker.worker_connections import Connection, connected
from tests.support.hooks import endpoint, hooks_config, rows

CONFIG = hooks_config("order.created")
ALL = 60


@pytest.fixture
def batches(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The sizes of the batches so far."""
    sizes: list[int] = []
    acknowledge = leases.acknowledge

    async def noting(conn: Connection, batch: Sequence[Acknowledgement], *, newest: int) -> Acknowledged:
        sizes.append(len(batch))
        return await acknowledge(conn, batch, newest=newest)

    monkeypatch.setattr(leases, "acknowledge", noting)
    monkeypatch.setattr("svc_pg.webhooks.worker.results._GATHER", 60.0)  # seconds: nothing but news ends a wait
    return sizes


def test_results_wait_for_others_after_a_large_batch_until_somebody_waits_for_them(
    database: str, batches: list[int]
) -> None:
    endpoint(database, CONFIG, "http://127.0.0.1:9/hook", max_in_flight=ALL)
    with psycopg.connect(database) as conn:
        webhooks.send_many(conn, "order.created", [{"id": number} for number in range(ALL)])
    results = ResultQueue(statistics := Statistics())

    async def work() -> None:
        async with connected(Conninfo.parse(database)) as conn, connected(Conninfo.parse(database)) as claiming:
            held, _ = await leases.claim(claiming, worker="w", batch=ALL, after=None)
            ended = [Acknowledgement(lease, "delivered", Result("success", 200)) for lease in held]
            acknowledging = asyncio.create_task(results.acknowledge_all(conn))
            results.gather(is_wanted=True)
            for begin in (0, 20):  # after no batch, and after a large one
                for item in ended[begin : begin + 20]:
                    results.put(item)
                if begin == 0:
                    await asyncio.wait_for(results.acknowledged.wait(), 10)
                    results.acknowledged.clear()
            await leases.next_due(claiming)  # meanwhile they could have been acknowledged
            assert (batches, len(results)) == ([20], 20)
            results.gather(is_wanted=False)
            await asyncio.wait_for(results.acknowledged.wait(), 10)
            assert (batches, len(results)) == ([20, 20], 0)
            results.acknowledged.clear()
            results.gather(is_wanted=True)
            for item in ended[40:]:
                results.put(item)
            await leases.next_due(claiming)
            assert len(results) == ALL - 40
            results.close()
            await asyncio.wait_for(acknowledging, 10)

    asyncio.run(work())
    assert (batches, statistics.deliveries["delivered"]) == ([20, 20, 20], ALL)


def test_a_result_whose_delivery_was_claimed_again_meanwhile_is_lost_and_not_kept(database: str) -> None:
    endpoint(database, CONFIG, "http://127.0.0.1:9/hook")
    with psycopg.connect(database) as conn:
        webhooks.send(conn, "order.created", {})
    results = ResultQueue(statistics := Statistics())

    async def work() -> None:
        async with connected(Conninfo.parse(database)) as conn, asyncio.timeout(10):
            [late], _ = await leases.claim(conn, worker="w1", batch=1, after=None)
            await conn.execute("update svc.webhook_leases set lease_until = now()")
            [again], _ = await leases.claim(conn, worker="w2", batch=1, after=None)
            assert (again.delivery_id, again.lease_id != late.lease_id) == (late.delivery_id, True)
            results.put(Acknowledgement(late, "delivered", Result("success", 200)))
            results.close()
            await results.acknowledge_all(conn)

    asyncio.run(work())
    assert (statistics.lost_leases, statistics.deliveries["delivered"], len(results)) == (1, 0, 0)


def test_the_health_of_an_endpoint_has_the_error_of_its_last_failure(database: str) -> None:
    endpoint(database, CONFIG, "http://127.0.0.1:9/hook")
    with psycopg.connect(database) as conn:
        webhooks.send_many(conn, "order.created", [{}, {}, {}])

    async def work() -> None:
        async with connected(Conninfo.parse(database)) as conn, asyncio.timeout(10):
            held, _ = await leases.claim(conn, worker="w", batch=3, after=None)
            for lease, error in zip(held, ["timeout", "the endpoint answered 503", None], strict=True):
                result = Result("http_error", error=error) if error else Result("success", 200)
                await leases.acknowledge(conn, [Acknowledgement(lease, "failed" if error else "delivered", result)])

    asyncio.run(work())
    with psycopg.connect(database) as conn:
        [health] = webhooks.endpoints.health(conn)
        stats = webhooks.endpoints.stats(conn, health.endpoint_id)
        assert (health.last_failure, stats.last_failure) == ("the endpoint answered 503",) * 2


def test_each_delivery_of_a_batch_gets_its_own_result_and_a_locked_one_in_the_middle_none(database: str) -> None:
    dispositions: list[Disposition] = [
        "failed",
        "delivered",
        "retry",
        "delivered",
        "released",
        "throttled",
        "delivered",
    ]
    locked = 3
    endpoint(database, CONFIG, "http://127.0.0.1:9/hook")
    with psycopg.connect(database) as conn:
        webhooks.send_many(conn, "order.created", [{} for _ in dispositions])

    def result(number: int) -> Result:
        is_success = dispositions[number] == "delivered"
        return Result(
            "success" if is_success else "http_error",
            200 + number,
            headers={"number": str(number)},
            body=f"body {number}",
            error=None if is_success else f"error {number}",
            remote_ip=f"127.0.0.{number}",
            duration_ms=number,
        )

    async def work() -> list[str]:
        async with (
            asyncio.timeout(10),
            connected(Conninfo.parse(database)) as conn,
            connected(Conninfo.parse(database)) as other,
        ):
            held, _ = await leases.claim(conn, worker="w", batch=len(dispositions), after=None)
            ids = [lease.delivery_id for lease in held]
            batch = [
                Acknowledgement(lease, disposition, None if disposition == "released" else result(number))
                for number, (lease, disposition) in enumerate(zip(held, dispositions, strict=True))
            ]
            async with other.transaction():
                await other.execute("select from svc.webhook_deliveries where id = %s for update", (ids[locked],))
                done = await leases.acknowledge(conn, batch)
            assert sorted(done.accepted) == sorted(set(ids) - {ids[locked]})
            assert await leases.held(conn, batch) == [batch[locked]]
            return ids

    ids = asyncio.run(work())
    names = ("status_code", "error", "response_headers", "response_body", "remote_ip", "duration_ms", "outcome")
    attempts = {str(row["delivery_id"]): row for row in rows(database, "webhook_delivery_attempts")}
    unsent = {ids[number] for number in (locked, dispositions.index("released"))}
    assert set(attempts) == set(ids) - unsent
    for number, delivery in enumerate(ids):
        if delivery not in unsent:
            found = [attempts[delivery][name] for name in names]
            told = result(number)
            outcome = "success" if dispositions[number] == "delivered" else "http_error"
            assert (*found[:4], str(found[4]), *found[5:]) == (
                *(told.status, told.error, told.headers, told.body, told.remote_ip, told.duration_ms),
                outcome,
            )
    ended = {"failed": "failed", "delivered": "delivered"}
    states = {str(row["id"]): row["status"] for row in rows(database, "webhook_deliveries")}
    assert [states[delivery] for delivery in ids] == [
        "pending" if number == locked else ended.get(disposition, "pending")
        for number, disposition in enumerate(dispositions)
    ]
    waiting = {str(row["delivery_id"]) for row in rows(database, "webhook_queue")}
    assert waiting == {ids[dispositions.index(name)] for name in ("retry", "released", "throttled")}


def test_a_delivered_batch_ends_each_of_its_leases_and_queues_nothing(database: str) -> None:
    endpoint(database, CONFIG, "http://127.0.0.1:9/hook")
    with psycopg.connect(database) as conn:
        webhooks.send_many(conn, "order.created", [{}, {}, {}])

    async def work() -> None:
        async with asyncio.timeout(10), connected(Conninfo.parse(database)) as conn:
            held, _ = await leases.claim(conn, worker="w", batch=3, after=None)
            assert len({lease.lease_id for lease in held}) == 3  # a worker knows its attempts by their leases
            batch = [Acknowledgement(lease, "delivered", Result("success", 200)) for lease in held]
            assert len((await leases.acknowledge(conn, batch)).accepted) == 3
            assert (await leases.acknowledge(conn, batch)).accepted == []

    asyncio.run(work())
    assert [row["status"] for row in rows(database, "webhook_deliveries")] == ["delivered"] * 3
    assert len(rows(database, "webhook_delivery_attempts")) == 3
    assert rows(database, "webhook_queue") == rows(database, "webhook_leases") == []

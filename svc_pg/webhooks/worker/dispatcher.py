"""Claim deliveries that can start now and start them; sleep while there are none."""

import asyncio
import logging
import time
from collections import deque
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Final, TypeVar

from svc_pg.database import performing
from svc_pg.database.conninfo import Conninfo
from svc_pg.formats.plurals import counted
from svc_pg.webhooks.worker import leases, protocol, server_clock
from svc_pg.webhooks.worker.attempts import Done
from svc_pg.webhooks.worker.leases import Acknowledgement, EndpointSnapshot, Lease, Message
from svc_pg.webhooks.worker.local_faults import LocalFaults
from svc_pg.webhooks.worker.results import ResultQueue
from svc_pg.webhooks.worker.statistics import Statistics
from svc_pg.webhooks.worker.waiting import before
from svc_pg.webhooks.worker.wakeup import Wakeup, waking
from svc_pg.webhooks.worker.worker_connections import Connection

_log = logging.getLogger(__name__)

_LEAST_CLAIMED: Final = 25
_MOST_CLAIMED: Final = 200
_ENOUGH: Final = 50  # free slots for which a claim does not wait
_MOST_ENDPOINTS: Final = 10_000
_SLACK: Final = 200  # results that may wait for acknowledgement before they occupy slots
_LATEST_START: Final = 10.0  # seconds after the claim was asked for; a lease outlives its attempt by 15
_SLICE: Final = 20  # deliveries that are started in one go
_PAUSE: Final = 1.0  # seconds without claims while results cannot be acknowledged
_GATHER: Final = 0.02  # seconds to wait for more free slots, so that claims stay batches under load

Answer = TypeVar("Answer")

Attempt = Callable[[Lease, Message, EndpointSnapshot, Done], None]


class Dispatcher:
    """Keeps up to ``concurrency`` attempts under way until ``stopping`` is set; their results go to ``results``."""

    def __init__(
        self,
        attempt: Attempt,
        *,
        worker: str,
        listen_conninfo: Conninfo,
        concurrency: int,
        interval: timedelta,
        results: ResultQueue,
        faults: LocalFaults,
        stopping: asyncio.Event,
        statistics: Statistics,
    ) -> None:
        self._attempt = attempt
        self._worker = worker
        self._listen_conninfo = listen_conninfo
        self._concurrency = concurrency
        # the other half is under way meanwhile; but many small claims cost more than that saves
        self._batch = min(max(concurrency // 2, _LEAST_CLAIMED), _MOST_CLAIMED)
        self._enough = min(_ENOUGH, concurrency // 2)
        self._interval = interval
        self._results = results
        self._faults = faults
        self._stopping = stopping
        self._statistics = statistics
        self._endpoints: dict[str, EndpointSnapshot] = {}
        self._last_endpoint: str | None = None
        self._running: set[str | None] = set()  # by lease_id
        self._freed = asyncio.Event()
        self._protocol = protocol.NEWEST
        self._server_time: float | None = None  # unix seconds
        self._claimed_after: float | None = None  # what that was at the last claim
        self._has_started = False  # since it last asked what is due next

    async def claim_all(self, conn: Connection) -> None:
        """Claim on ``conn`` until the worker stops. Raises ProtocolError."""
        self._protocol = await protocol.check(conn)
        self._endpoints.clear()  # a standby that lost a change gives its version to another one
        async with waking(self._listen_conninfo, claiming=conn, interval=self._interval) as wakeup:
            while not self._stopping.is_set():
                await self._wait_for_slots()
                self._results.acknowledged.clear()
                pause = self._pause
                if self._stopping.is_set() or pause or await self._claim(conn):
                    await self._unless_stopped(wakeup.stop_polling())
                    await self._until_news(asyncio.sleep(pause))
                    continue
                is_asleep = await self._unless_stopped(wakeup.fall_asleep())
                before, self._server_time = self._server_time, wakeup.asked_at
                if self._stopping.is_set():
                    break
                if self._protocol >= protocol.FOLLOWS_CLOCK and server_clock.may_be_set_back(before, self._server_time):
                    await performing.arun(conn, server_clock.follow())
                if not is_asleep:
                    is_new = wakeup.is_polling or self._has_started  # the worker that sleeps does not know of it
                    within = await self._next_due(conn) if is_new else None
                    await self._unless_stopped(wakeup.tell_sleeper(within))
                    await self._until_news(wakeup.wait_briefly(within=within))
                elif await self._claim(conn):
                    await self._unless_stopped(wakeup.wake_up())
                else:
                    await self._until_news(wakeup.wait(within=await self._next_due(conn)))
                    await self._wake_up(conn, wakeup)

    async def _wake_up(self, conn: Connection, wakeup: Wakeup) -> None:
        """Tell senders that no worker sleeps, and claim meanwhile, which saves the first POST a round trip."""
        if self._stopping.is_set():
            return
        waking = asyncio.create_task(wakeup.wake_up())
        try:
            if not self._pause:
                await self._claim(conn)
            await self._unless_stopped(waking)
        finally:
            waking.cancel()
            await asyncio.gather(waking, return_exceptions=True)

    async def _next_due(self, conn: Connection) -> timedelta | None:
        """The time until the next delivery may start that the last claim could not start; None if there is none."""
        self._has_started = False
        return await leases.next_due(conn, since=self._claimed_after, newest=self._protocol)

    async def _unless_stopped(self, telling: Awaitable[Answer]) -> Answer | None:
        """Wait for ``telling``; None if the worker stops first, because the end of the connection tells senders too."""
        return await before(telling, self._stopping)

    @property
    def _pause(self) -> float:
        """The seconds to wait before the next claim. Deliveries whose results are stuck would be sent again."""
        return _PAUSE if self._results.are_stuck else self._faults.pause

    async def finish(self) -> None:
        """Wait until the attempts under way have ended."""
        while self._running:
            self._freed.clear()
            await self._freed.wait()

    async def _wait_for_slots(self) -> None:
        """Wait for free slots, and under load a little longer, so that a claim fills several."""
        while not self._free():
            self._freed.clear()
            self._results.acknowledged.clear()
            await self._until_news(self._freed.wait())
            if self._stopping.is_set():
                return
        if self._free() < self._enough:
            with suppress(TimeoutError):
                async with asyncio.timeout(_GATHER):
                    while self._free() < self._enough:
                        self._freed.clear()
                        await self._freed.wait()

    def _free(self) -> int:
        """The free slots. Unacknowledged results occupy slots too.

        Otherwise a worker that cannot reach the database would keep sending.
        """
        return max(self._concurrency - len(self._running) - max(len(self._results) - _SLACK, 0), 0)

    async def _claim(self, conn: Connection) -> bool:
        """Claim deliveries that can start now and start them. False if nothing was due."""
        batch = min(self._free(), self._batch)
        started = time.perf_counter()
        self._claimed_after = self._server_time
        claimed, messages = await leases.claim(conn, worker=self._worker, batch=batch, after=self._last_endpoint)
        self._statistics.claim_duration.add(time.perf_counter() - started)
        self._results.gather(is_wanted=len(claimed) == batch)  # otherwise an endpoint may be full
        if not claimed:
            return False
        self._has_started = True
        self._last_endpoint = claimed[-1].endpoint_id
        held = [lease for lease in claimed if lease.lease_id]
        self._statistics.claimed += len(held)
        if len(held) < len(claimed):
            self._note_exhausted([lease for lease in claimed if not lease.lease_id])
        try:
            await self._read_endpoints(conn, held)
            messages |= await self._read_messages(conn, {lease.message_id for lease in held} - messages.keys())
            if time.perf_counter() > started + _LATEST_START:
                _log.warning("given back unsent, because the claim took too long: %s", counted(len(held), "delivery"))
                messages = {}
        finally:  # if the connection is lost, they need not wait for their leases to end
            await self._start_all(deque(held), messages)
        return True

    def _note_exhausted(self, exhausted: Sequence[Lease]) -> None:
        self._statistics.deliveries["failed"] += len(exhausted)
        for lease in exhausted:
            _log.error("delivery %s failed: its last attempt, number %s, was lost", lease.delivery_id, lease.attempt)

    async def _read_endpoints(self, conn: Connection, held: Sequence[Lease]) -> None:
        """Read the endpoints that are new or have changed."""
        stale = {
            lease.endpoint_id
            for lease in held
            if (known := self._endpoints.get(lease.endpoint_id)) is None or known.version != lease.endpoint_version
        }
        if stale:
            found = {endpoint.id: endpoint for endpoint in await leases.endpoints(conn, list(stale))}
            if len(self._endpoints) > _MOST_ENDPOINTS:  # those of other leases are read again
                needed = {lease.endpoint_id for lease in held}
                self._endpoints = {key: known for key, known in self._endpoints.items() if key in needed}
            for endpoint_id in stale - found.keys():  # deleted
                self._endpoints.pop(endpoint_id, None)
            self._endpoints |= found

    async def _read_messages(self, conn: Connection, ids: Collection[str]) -> dict[str, Message]:
        return {message.id: message for message in await leases.messages(conn, list(ids))} if ids else {}

    async def _start_all(self, held: deque[Lease], messages: Mapping[str, Message]) -> None:
        """Start leases; release those that cannot start."""
        try:
            while held:
                for _ in range(min(len(held), _SLICE)):
                    lease = held.popleft()
                    message, endpoint = messages.get(lease.message_id), self._endpoints.get(lease.endpoint_id)
                    if message is None or endpoint is None or self._stopping.is_set():
                        self._results.put(Acknowledgement(lease, "released"))
                    else:
                        self._start(lease, message, endpoint)
                if held:
                    await asyncio.sleep(0)  # responses that have come meanwhile need not wait for all
        finally:
            for lease in held:
                self._results.put(Acknowledgement(lease, "released"))

    def _start(self, lease: Lease, message: Message, endpoint: EndpointSnapshot) -> None:
        self._running.add(lease.lease_id)
        self._statistics.in_flight = len(self._running)
        try:
            self._attempt(lease, message, endpoint, self._end)
        except Exception:  # noqa: BLE001 - a bug must cost neither the worker nor its slot
            _log.exception("an attempt failed in the worker itself; its lease will end")
            self._end(lease, None)

    def _end(self, lease: Lease, done: Acknowledgement | None) -> None:
        if lease.lease_id not in self._running:
            return  # it failed when it was started
        self._running.remove(lease.lease_id)
        self._statistics.in_flight = len(self._running)
        self._freed.set()
        if done is not None:
            self._results.put(done)
            if done.result is not None:
                self._statistics.attempts[done.result.outcome] += 1
                self._statistics.attempt_duration.add(done.result.duration_ms / 1000)

    async def _until_news(self, waiting: Awaitable[object]) -> None:
        """Wait, at most until the worker stops or an acknowledgement has made room at a full endpoint."""
        await before(waiting, self._stopping, self._results.acknowledged)

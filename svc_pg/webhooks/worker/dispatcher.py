"""Claim what can start now and start it; with nothing to do, sleep until there is."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Final

from svc_pg.webhooks.worker import leases
from svc_pg.webhooks.worker.connections import Connection, connected
from svc_pg.webhooks.worker.leases import Acknowledgement, Claim, Message, Target
from svc_pg.webhooks.worker.results import ResultQueue
from svc_pg.webhooks.worker.statistics import Tally
from svc_pg.webhooks.worker.wakeup import Bell

_log = logging.getLogger(__name__)

_LEAST_CLAIMED: Final = 25
_MOST_CLAIMED: Final = 200
_MOST_TARGETS: Final = 10_000
_SLACK: Final = 200  # results that may wait to be acknowledged before they take places
_LATEST_START: Final = 10.0  # seconds after the claim was asked for; a lease outlives its attempt by 15
_GATHER: Final = 0.02  # seconds to wait for more free places, so that claims stay batches under load

Attempt = Callable[[Claim, Message, Target], Awaitable[Acknowledgement]]


class Dispatcher:
    """Keeps up to ``concurrency`` attempts under way until ``stopping`` is set; their ends go to ``results``."""

    def __init__(
        self,
        attempt: Attempt,
        *,
        worker: str,
        listen_conninfo: str,
        concurrency: int,
        interval: timedelta,
        results: ResultQueue,
        stopping: asyncio.Event,
        tally: Tally,
    ) -> None:
        self._attempt = attempt
        self._worker = worker
        self._listen_conninfo = listen_conninfo
        self._concurrency = concurrency
        # the other half is under way meanwhile; but many small claims cost more than that saves
        self._batch = min(max(concurrency // 2, _LEAST_CLAIMED), _MOST_CLAIMED)
        self._interval = interval
        self._results = results
        self._stopping = stopping
        self._tally = tally
        self._targets: dict[str, Target] = {}
        self._last_endpoint: str | None = None
        self._running: set[asyncio.Task[None]] = set()
        self._freed = asyncio.Event()

    async def claim_all(self, conn: Connection) -> None:
        """Claim on ``conn`` until the worker stops."""
        async with connected(self._listen_conninfo) as ear:
            bell = Bell(ear, interval=self._interval)
            await bell.listen()
            while not self._stopping.is_set():
                await self._places()
                self._results.acknowledged.clear()
                if self._stopping.is_set() or await self._claim(conn):
                    continue
                async with bell.asleep() as granted:
                    if not granted:
                        await self._until_news(bell.moment())
                    elif not await self._claim(conn):
                        await self._until_news(bell.ring(within=await leases.next_due(conn)))

    async def finish(self) -> None:
        """Wait until what is under way has ended."""
        while self._running:
            await asyncio.wait(self._running)

    def cancel(self) -> None:
        """Break off what is under way; its leases will end."""
        for task in self._running:
            task.cancel()

    async def _places(self) -> None:
        """Wait until there are free places, and under load a moment more, so that a claim fills several."""
        while not self._free():
            self._freed.clear()
            self._results.acknowledged.clear()
            await self._until_news(self._freed.wait())
            if self._stopping.is_set():
                return
            with suppress(TimeoutError):
                async with asyncio.timeout(_GATHER):
                    while len(self._running) > self._concurrency // 2:
                        self._freed.clear()
                        await self._freed.wait()

    def _free(self) -> int:
        """What is not acknowledged takes places too: or a worker that cannot acknowledge would send again and again."""
        return max(self._concurrency - len(self._running) - max(len(self._results) - _SLACK, 0), 0)

    async def _claim(self, conn: Connection) -> bool:
        """Claim what can start now and start it. False where nothing was due."""
        batch = min(self._free(), self._batch)
        started = time.perf_counter()
        claimed = await leases.claim(conn, worker=self._worker, batch=batch, after=self._last_endpoint)
        self._tally.claim_duration.add(time.perf_counter() - started)
        if not claimed:
            return False
        self._last_endpoint = claimed[-1].endpoint_id
        leased = [claim for claim in claimed if claim.lease_id]
        self._tally.claimed += len(leased)
        if len(leased) < len(claimed):
            self._note_exhausted([claim for claim in claimed if not claim.lease_id])
        messages: dict[str, Message] = {}
        try:
            await self._read_targets(conn, leased)
            messages = await self._read_messages(conn, leased)
            if time.perf_counter() > started + _LATEST_START:
                _log.warning("a claim took so long that its %s deliveries are given back unsent", len(leased))
                messages = {}
        finally:  # where the connection is lost, they need not wait for their leases to end
            for claim in leased:
                message, target = messages.get(claim.message_id), self._targets.get(claim.endpoint_id)
                if message is None or target is None or self._stopping.is_set():
                    self._results.put(Acknowledgement(claim, "released"))
                else:
                    self._start(claim, message, target)
        return True

    def _note_exhausted(self, exhausted: Sequence[Claim]) -> None:
        self._tally.deliveries["failed"] += len(exhausted)
        for claim in exhausted:
            _log.error("delivery %s failed: its last attempt, the %s., was lost", claim.delivery_id, claim.attempt)

    async def _read_targets(self, conn: Connection, leased: Sequence[Claim]) -> None:
        """Read the endpoints that are new or have changed since they were read."""
        stale = {
            claim.endpoint_id
            for claim in leased
            if (known := self._targets.get(claim.endpoint_id)) is None or known.version != claim.endpoint_version
        }
        if stale:
            found = {target.id: target for target in await leases.targets(conn, list(stale))}
            if len(self._targets) > _MOST_TARGETS:
                self._targets.clear()
            for endpoint_id in stale - found.keys():  # deleted
                self._targets.pop(endpoint_id, None)
            self._targets |= found

    async def _read_messages(self, conn: Connection, leased: Sequence[Claim]) -> dict[str, Message]:
        ids = {claim.message_id for claim in leased}
        return {message.id: message for message in await leases.messages(conn, list(ids))} if ids else {}

    def _start(self, claim: Claim, message: Message, target: Target) -> None:
        task = asyncio.create_task(self._run(claim, message, target))
        self._running.add(task)
        task.add_done_callback(self._end)
        self._tally.in_flight = len(self._running)

    async def _run(self, claim: Claim, message: Message, target: Target) -> None:
        done = await self._attempt(claim, message, target)
        self._results.put(done)
        if done.result is not None:
            self._tally.attempts[done.result.outcome] += 1
            self._tally.attempt_duration.add(done.result.duration_ms / 1000)

    def _end(self, task: asyncio.Task[None]) -> None:
        self._running.discard(task)
        self._tally.in_flight = len(self._running)
        self._freed.set()
        if not task.cancelled() and (error := task.exception()):
            _log.error("an attempt failed in the worker itself; its lease will end", exc_info=error)

    async def _until_news(self, waiting: Awaitable[object]) -> None:
        """Wait, but only until the worker stops or an acknowledgement has made room at an endpoint that was full."""
        news = (self._stopping.wait(), self._results.acknowledged.wait())
        tasks = {asyncio.ensure_future(waiting), *map(asyncio.create_task, news)}
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

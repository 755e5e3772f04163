"""Deliver webhooks: claim what is due, sign and POST it, acknowledge what became of it."""

import asyncio
import logging
import os
import socket
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import timedelta
from typing import Any, Final
from uuid import UUID

from psycopg import AsyncConnection, OperationalError

from svc_pg.config import Config
from svc_pg.errors import translating
from svc_pg.webhooks import claims
from svc_pg.webhooks.attempts import attempt
from svc_pg.webhooks.bell import Bell
from svc_pg.webhooks.claims import Acknowledgement, Claim, Target
from svc_pg.webhooks.guard import Guard
from svc_pg.webhooks.secrets import KeyRing
from svc_pg.webhooks.transport import AiohttpTransport, Transport

_log = logging.getLogger(__name__)

_BATCH: Final = 200
_GATHER: Final = 0.02  # seconds to wait for more free places, so that claims stay batches under load
_RECONNECT_WAITS: Final = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
_TRIES_WHEN_STOPPING: Final = 5

Connection = AsyncConnection[Any]


class Worker:
    """Delivers the webhooks of one database; run as many as you like.

    ``concurrency`` is the number of POSTs at a time. The worker listens for work on ``listen_conninfo``, or where that
    goes through a pooler asks for it every ``interval``. Raises NotInstalledError and psycopg.OperationalError from
    ``run`` where the database cannot be used at the start; later it reconnects for ever.
    """

    def __init__(
        self,
        conninfo: str,
        *,
        keys: KeyRing,
        config: Config,
        concurrency: int = 50,
        interval: timedelta = timedelta(seconds=2),
        listen_conninfo: str | None = None,
        transport: Transport | None = None,
    ) -> None:
        if concurrency < 1:
            raise ValueError("concurrency must be at least 1")
        self.name = f"{socket.gethostname()}:{os.getpid()}"
        self._conninfo = conninfo
        self._listen_conninfo = listen_conninfo or conninfo
        self._keys = keys
        self._config = config.webhooks
        self._concurrency = concurrency
        self._interval = interval
        self._transport = transport
        self._targets: dict[UUID, Target] = {}
        self._last_endpoint: UUID | None = None
        self._running: set[asyncio.Task[None]] = set()
        self._freed = asyncio.Event()
        self._finished: asyncio.Queue[Acknowledgement | None] = asyncio.Queue()
        self._unacknowledged: list[Acknowledgement] = []
        self._acknowledged = asyncio.Event()
        self._stopping = asyncio.Event()

    def stop(self) -> None:
        """Claim nothing more; ``run`` returns when what is under way has ended and is acknowledged."""
        self._stopping.set()

    async def run(self) -> None:
        """Deliver until ``stop`` is called. Runs once."""
        await self._check()
        guard = Guard(allow_cidrs=tuple(self._config.allow_cidrs), allow_http=self._config.allow_http)
        transport = self._transport or AiohttpTransport(guard, concurrency=self._concurrency)
        _log.info("worker %s started", self.name)
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._keep_connected(self._acknowledge_all))
                group.create_task(self._deliver(transport))
        except ExceptionGroup as errors:
            raise errors.exceptions[0] from None
        finally:
            await transport.close()
        _log.info("worker %s stopped", self.name)

    async def _deliver(self, transport: Transport) -> None:
        try:
            await self._keep_connected(lambda conn: self._claim_all(conn, transport))
            while self._running:
                await asyncio.wait(self._running)
        finally:
            for task in self._running:
                task.cancel()
            self._finished.put_nowait(None)

    async def _check(self) -> None:
        with translating():
            async with await self._connect(self._conninfo) as conn:
                await claims.next_due(conn)

    async def _connect(self, conninfo: str) -> Connection:
        # no prepared statements: PgBouncer in transaction mode does not keep them
        return await AsyncConnection.connect(conninfo, autocommit=True, prepare_threshold=None)

    async def _keep_connected(self, work: Callable[[Connection], Awaitable[None]]) -> None:
        """Do ``work`` to its end, with a new connection whenever the last one is lost."""
        failures = 0
        while True:
            try:
                async with await self._connect(self._conninfo) as conn:
                    if failures:
                        _log.info("reconnected to the database")
                    failures = 0
                    return await work(conn)
            except OperationalError as error:
                if not failures:
                    _log.warning("lost the database, reconnecting: %s", error)
                failures += 1
                if self._stopping.is_set() and failures > _TRIES_WHEN_STOPPING:
                    _log.error("stopped without the database; what was under way will be sent again")
                    return None
                await asyncio.sleep(_RECONNECT_WAITS[min(failures, len(_RECONNECT_WAITS)) - 1])

    async def _claim_all(self, conn: Connection, transport: Transport) -> None:
        async with await self._connect(self._listen_conninfo) as ear:
            bell = Bell(ear, interval=self._interval)
            await bell.listen()
            while not self._stopping.is_set():
                await self._places()
                self._acknowledged.clear()
                if self._stopping.is_set() or await self._claim(conn, transport):
                    continue
                async with bell.asleep() as granted:
                    if not granted:
                        await self._until_news(bell.moment())
                    elif not await self._claim(conn, transport):
                        await self._until_news(bell.ring(within=await claims.next_due(conn)))

    async def _places(self) -> None:
        """Wait until there are free places, and under load a moment more, so that a claim fills several."""
        while len(self._running) >= self._concurrency:
            self._freed.clear()
            await self._until_news(self._freed.wait())
            if self._stopping.is_set():
                return
            with suppress(TimeoutError):
                async with asyncio.timeout(_GATHER):
                    while len(self._running) > self._concurrency // 2:
                        self._freed.clear()
                        await self._freed.wait()

    async def _claim(self, conn: Connection, transport: Transport) -> bool:
        """Claim what can start now and start it. False where nothing was due."""
        batch = min(self._concurrency - len(self._running), _BATCH)
        claimed = await claims.claim(conn, worker=self.name, batch=batch, after=self._last_endpoint)
        if not claimed:
            return False
        self._last_endpoint = claimed[-1].endpoint_id
        await self._read_targets(conn, claimed)
        for claim in claimed:
            target = self._targets.get(claim.endpoint_id)
            if target is None or self._stopping.is_set():
                self._finished.put_nowait(Acknowledgement(claim, "released"))
            else:
                self._start(self._attempt(claim, target, transport))
        return True

    async def _read_targets(self, conn: Connection, claimed: list[Claim]) -> None:
        """Read the endpoints that are new or have changed since they were read."""
        stale = {
            claim.endpoint_id
            for claim in claimed
            if (known := self._targets.get(claim.endpoint_id)) is None or known.version != claim.endpoint_version
        }
        if stale:
            self._targets |= {target.id: target for target in await claims.targets(conn, list(stale))}

    def _start(self, work: Any) -> None:
        task: asyncio.Task[None] = asyncio.create_task(work)
        self._running.add(task)
        task.add_done_callback(self._end)

    def _end(self, task: asyncio.Task[None]) -> None:
        self._running.discard(task)
        self._freed.set()
        if not task.cancelled() and (error := task.exception()):
            _log.error("an attempt failed in the worker itself; its lease will end", exc_info=error)

    async def _attempt(self, claim: Claim, target: Target, transport: Transport) -> None:
        done = await attempt(claim, target, transport=transport, keys=self._keys, retry=self._config.retry)
        self._finished.put_nowait(done)

    async def _acknowledge_all(self, conn: Connection) -> None:
        """Acknowledge in batches of what has finished meanwhile; a batch outlives a lost connection."""
        is_last = False
        while not is_last:
            if not self._unacknowledged:
                is_last = self._take(await self._finished.get())
            while not is_last and len(self._unacknowledged) < _BATCH and not self._finished.empty():
                is_last = self._take(self._finished.get_nowait())
            if self._unacknowledged:
                accepted = await claims.acknowledge(conn, self._unacknowledged)
                if lost := len(self._unacknowledged) - len(accepted):
                    _log.warning("%s deliveries had lost their lease; they will be sent again", lost)
                self._unacknowledged.clear()
                self._acknowledged.set()

    def _take(self, item: Acknowledgement | None) -> bool:
        if item is not None:
            self._unacknowledged.append(item)
        return item is None

    async def _until_news(self, waiting: Awaitable[object]) -> None:
        """Wait, but only until ``stop`` is called or an acknowledgement has made room at an endpoint that was full."""
        news = (self._stopping.wait(), self._acknowledged.wait())
        tasks = {asyncio.ensure_future(waiting), *map(asyncio.create_task, news)}
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

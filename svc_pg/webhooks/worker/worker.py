"""Deliver webhooks: claim due deliveries, sign and POST them, acknowledge the results."""

import asyncio
import logging
from collections.abc import Awaitable, Generator
from datetime import timedelta
from typing import Final

from svc_pg.config import Config, WebhooksConfig
from svc_pg.database.application_names import worker_name
from svc_pg.database.conninfo import Conninfo
from svc_pg.errors import ProtocolError
from svc_pg.formats.plurals import counted
from svc_pg.webhooks.http.guard import Guard
from svc_pg.webhooks.http.http1_transport import Http1Transport
from svc_pg.webhooks.http.proxy import Proxy
from svc_pg.webhooks.http.transport import Transport
from svc_pg.webhooks.secrets import KeyRing
from svc_pg.webhooks.worker import protocol
from svc_pg.webhooks.worker.attempts import Attempts
from svc_pg.webhooks.worker.dispatcher import Dispatcher
from svc_pg.webhooks.worker.failed_attempts import FailedAttempts
from svc_pg.webhooks.worker.local_faults import LocalFaults
from svc_pg.webhooks.worker.reconnecting import Reconnecting
from svc_pg.webhooks.worker.results import ResultQueue
from svc_pg.webhooks.worker.statistics import Statistics

_log = logging.getLogger(__name__)

_LAST_ACKNOWLEDGEMENTS: Final = 20.0  # seconds after the last attempt


class Worker:
    """Delivers the webhooks of one database; run as many as you like.

    ``concurrency`` is the number of POSTs at a time. The worker is notified of work on ``listen_conninfo``; while it
    cannot listen there, it polls every ``interval``. It waits for a database that cannot be reached, also at its start.
    ``statistics`` has its counters. Raises ConfigError for an unreadable conninfo.
    """

    def __init__(
        self,
        conninfo: str | Conninfo,
        *,
        keys: KeyRing,
        config: Config,
        concurrency: int = 400,
        interval: timedelta = timedelta(seconds=2),
        listen_conninfo: str | Conninfo | None = None,
        transport: Transport | None = None,
    ) -> None:
        if concurrency < 1:
            raise ValueError("concurrency must be at least 1")
        self.name = worker_name()
        self.statistics = Statistics()
        self._keys = keys
        self._config = config.webhooks
        self._concurrency = concurrency
        self._interval = interval
        database = Conninfo.parse(conninfo)
        self._listen_conninfo = database if listen_conninfo is None else Conninfo.parse(listen_conninfo)
        self._transport = transport
        self._stopping = asyncio.Event()
        self._working: asyncio.Task[None] | None = None
        self._refusal: ProtocolError | None = None
        self._faults = LocalFaults()
        self._failures = FailedAttempts()
        self._claiming = Reconnecting(database, stopping=self._stopping, statistics=self.statistics)
        self._finished = asyncio.Event()
        self._acknowledging = Reconnecting(database, stopping=self._finished, statistics=self.statistics)

    @property
    def is_delivering(self) -> bool:
        """True: it does nothing else."""
        return True

    @property
    def is_alive(self) -> bool:
        """True if it runs, even while it waits for its database."""
        return self._working is None or not self._working.done()

    @property
    def is_connected(self) -> bool:
        """True if the database has answered within the last 15 s."""
        return self._claiming.is_up and self._acknowledging.is_up

    @property
    def problem(self) -> str | None:
        """The reason that it cannot deliver now, for people; None if it can."""
        return self._faults.current if self.is_connected else "no connection to the database"

    async def run(self) -> None:
        """Deliver until ``stop`` is called. Raises NotInstalledError and ProtocolError."""
        await self.start()
        if self._working is not None:
            await self._working

    async def start(self) -> None:
        """Start in this event loop, and return when the worker runs. A worker runs once.

        Raises NotInstalledError and ProtocolError.
        """
        if self._working is not None:
            raise RuntimeError("a worker runs once; make another")
        await self._claiming.run(protocol.check)
        if not self._stopping.is_set():
            self._working = asyncio.create_task(self._work())

    def stop(self) -> Awaitable[None]:
        """Claim nothing more and finish the attempts under way. Idempotent.

        Takes effect at once, so that a signal handler can call it. Await the result to wait for the end; that
        raises the error that ended the worker, if one did.
        """
        self._stopping.set()
        return _Nothing() if self._working is None else self._working

    async def _work(self) -> None:
        _log.info("worker %s started", self.name)
        transport = self._transport or _transport(self._config, concurrency=self._concurrency)
        results = ResultQueue(self.statistics)
        attempts = Attempts(
            transport=transport,
            keys=self._keys,
            retry=self._config.retry,
            faults=self._faults,
            failures=self._failures,
        )
        dispatcher = Dispatcher(
            attempts.start,
            worker=self.name,
            listen_conninfo=self._listen_conninfo,
            concurrency=self._concurrency,
            interval=self._interval,
            results=results,
            faults=self._faults,
            stopping=self._stopping,
            statistics=self.statistics,
        )
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._acknowledge(results))
                group.create_task(self._deliver(dispatcher, results, transport))
        except ExceptionGroup as errors:
            raise errors.exceptions[0] from None
        _log.info("worker %s stopped", self.name)
        if self._refusal is not None:
            raise self._refusal

    async def _deliver(self, dispatcher: Dispatcher, results: ResultQueue, transport: Transport) -> None:
        try:
            await self._claiming.run(dispatcher.claim_all)
            await dispatcher.finish()
        except ProtocolError as error:  # the functions were replaced meanwhile: claimed deliveries are finished
            self._refusal = error
            await dispatcher.finish()
        finally:
            self._failures.close()
            await transport.close()  # if attempts are under way, their leases will end
            results.close()
            self._finished.set()

    async def _acknowledge(self, results: ResultQueue) -> None:
        await self._acknowledging.run(
            results.acknowledge_all, patience=lambda: _LAST_ACKNOWLEDGEMENTS if len(results) else 0.0
        )
        if len(results):
            lost = counted(len(results), "delivery")
            _log.error("stopped with results that the database did not take: %s will be sent again", lost)


def _transport(config: WebhooksConfig, *, concurrency: int) -> Transport:
    proxy = None if config.proxy is None else Proxy.of(config.proxy)
    return Http1Transport(Guard.of(config), concurrency=concurrency, proxy=proxy)


class _Nothing:
    """A completed awaitable, for a worker that does not run."""

    def __await__(self) -> Generator[None, None, None]:
        yield from ()

"""The results of attempts, kept until the database has acknowledged them."""

import asyncio
import logging
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from svc_pg.formats.plurals import counted
from svc_pg.webhooks.worker import leases, protocol
from svc_pg.webhooks.worker.leases import Acknowledgement
from svc_pg.webhooks.worker.statistics import Statistics
from svc_pg.webhooks.worker.worker_connections import Connection

_log = logging.getLogger(__name__)

_BATCH: Final = 200
_FEW: Final = 16  # results in a batch; after a larger one, the next is gathered
_GATHER: Final = 0.005  # seconds; a call costs the server 1.6 ms, for any number of results
_STUCK: Final = 10.0  # seconds without an acknowledgement, fewer than any lease has
_AGAIN: Final = 1.0  # seconds after which locked deliveries are tried again


class ResultQueue:
    """Acknowledges results in batches. A batch outlives a lost connection; results of locked deliveries are kept.

    ``acknowledged`` is set after each batch: a full endpoint may have room again.
    """

    def __init__(self, statistics: Statistics) -> None:
        self.acknowledged = asyncio.Event()
        self._statistics = statistics
        self._waiting: list[Acknowledgement] = []
        self._news = asyncio.Event()
        self._is_gathering = False
        self._is_busy = False
        self._batch: list[Acknowledgement] = []
        self._locked: list[Acknowledgement] = []
        self._again_at = 0.0
        self._moved_at = 0.0
        self._is_told = False
        self._is_closed = False

    def put(self, item: Acknowledgement) -> None:
        """Add a result to the next batch."""
        if not self._waiting and not self._batch:
            self._moved_at = time.monotonic()
        self._waiting.append(item)
        if len(self._waiting) in (1, _BATCH):
            self._news.set()

    def gather(self, *, is_wanted: bool) -> None:
        """Hold results back so that batches are large; or not, because an endpoint may wait for room."""
        self._is_gathering = is_wanted
        if not is_wanted:
            self._news.set()

    def close(self) -> None:
        """Accept no further results; ``acknowledge_all`` ends when the queue is empty."""
        self._is_closed = True
        self._news.set()

    def __len__(self) -> int:
        return len(self._waiting) + len(self._batch) + len(self._locked)

    @property
    def are_stuck(self) -> bool:
        """True if results have waited long for a connection or its answer, except those of locked deliveries."""
        return bool(self._waiting or self._batch) and time.monotonic() - self._moved_at > _STUCK

    async def acknowledge_all(self, conn: Connection) -> None:
        """Acknowledge until it is closed and empty."""
        newest = await protocol.newest(conn)
        while len(self) or not self._is_closed:
            if not self._batch:
                await self._wait()
            self._waiting = self._take(self._waiting)
            if time.monotonic() >= self._again_at:
                self._locked = self._take(self._locked)
            if self._batch:
                self._is_busy = len(self._batch) > _FEW
                # if the connection breaks here it may have been done: the lease fences the second time
                self._note(await leases.acknowledge(conn, self._batch, newest=newest))
                self._keep(await leases.held(conn, self._batch) if self._batch else [])
                self._moved_at = time.monotonic()
                self.acknowledged.set()

    def _take(self, results: list[Acknowledgement]) -> list[Acknowledgement]:
        """Fill the batch with results, one for each delivery, and return the others.

        A delivery whose lease has ended may have been claimed again here: then both leases have a result.
        """
        ids = {item.lease.delivery_id for item in self._batch}
        others = []
        for item in results:
            if len(ids) < _BATCH and item.lease.delivery_id not in ids:
                ids.add(item.lease.delivery_id)
                self._batch.append(item)
            else:
                others.append(item)
        return others

    async def _wait(self) -> None:
        """Wait for results, or until the locked ones are to be tried again."""
        if not self._waiting and (self._locked or not self._is_closed):
            await self._wait_for_news(max(self._again_at - time.monotonic(), 0.0) if self._locked else None)
        if self._is_busy and self._is_gathering and 0 < len(self._waiting) < _BATCH and not self._is_closed:
            await self._wait_for_news(_GATHER)

    async def _wait_for_news(self, limit: float | None) -> None:
        self._news.clear()
        with suppress(TimeoutError):
            async with asyncio.timeout(limit):
                await self._news.wait()

    def _note(self, done: leases.Acknowledged) -> None:
        """Count the accepted results; the others stay in the batch."""
        accepted = set(done.accepted)
        for item in self._batch:
            if item.lease.delivery_id in accepted:
                self._statistics.deliveries[item.disposition] += 1
        self._batch = [item for item in self._batch if item.lease.delivery_id not in accepted]
        for endpoint_id in done.disabled:
            _log.error("endpoint %s is disabled: it answered 410 Gone, or had no success in 5 days", endpoint_id)
            self._statistics.disabled_endpoints += 1

    def _keep(self, locked: Sequence[Acknowledgement]) -> None:
        """Keep those of the batch that are locked; the others have lost their lease."""
        if lost := len(self._batch) - len(locked):
            _log.warning("%s whose lease had ended will be sent again", counted(lost, "delivery"))
            self._statistics.lost_leases += lost
        self._batch.clear()
        if locked and not self._is_told:
            _log.warning("another transaction has locked %s; results are kept", counted(len(locked), "delivery"))
        if locked and not self._locked:
            self._again_at = time.monotonic() + _AGAIN
        self._locked += locked
        self._is_told = bool(self._locked)

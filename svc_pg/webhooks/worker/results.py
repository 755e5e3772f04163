"""The results of attempts, kept until the database has acknowledged them."""

import asyncio
import logging
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from svc_pg.webhooks.worker import leases
from svc_pg.webhooks.worker.connections import Connection
from svc_pg.webhooks.worker.leases import Acknowledgement
from svc_pg.webhooks.worker.statistics import Statistics

_log = logging.getLogger(__name__)

_BATCH: Final = 200
_AGAIN: Final = 1.0  # seconds after which locked deliveries are tried again


class ResultQueue:
    """Acknowledges results in batches. A batch outlives a lost connection; results of locked deliveries are kept.

    ``acknowledged`` is set after each batch: a full endpoint may have room again.
    """

    def __init__(self, statistics: Statistics) -> None:
        self.acknowledged = asyncio.Event()
        self._statistics = statistics
        self._waiting: asyncio.Queue[Acknowledgement | None] = asyncio.Queue()
        self._batch: list[Acknowledgement] = []
        self._locked: list[Acknowledgement] = []
        self._again_at = 0.0
        self._is_told = False
        self._size = 0
        self._is_closed = False

    def put(self, item: Acknowledgement) -> None:
        """Add a result to the next batch."""
        self._size += 1
        self._waiting.put_nowait(item)

    def close(self) -> None:
        """Refuse further results; ``acknowledge_all`` ends when the queue is empty."""
        self._waiting.put_nowait(None)

    def __len__(self) -> int:
        return self._size

    async def acknowledge_all(self, conn: Connection) -> None:
        """Acknowledge until it is closed and empty."""
        while self._size or not self._is_closed:
            if not self._batch:
                await self._wait()
            while len(self._batch) < _BATCH and not self._waiting.empty():
                self._take(self._waiting.get_nowait())
            if time.monotonic() >= self._again_at:
                room = _BATCH - len(self._batch)
                self._batch += self._locked[:room]
                del self._locked[:room]
            if self._batch:
                # if the connection breaks here it may have been done: the lease fences the second time
                self._note(await leases.acknowledge(conn, self._batch))
                self._keep(await leases.held(conn, self._batch) if self._batch else [])
                self.acknowledged.set()

    async def _wait(self) -> None:
        """Wait for a result, or until the locked ones are to be tried again."""
        limit = max(self._again_at - time.monotonic(), 0.0) if self._locked else None
        with suppress(TimeoutError):
            async with asyncio.timeout(limit):
                self._take(await self._waiting.get())

    def _take(self, item: Acknowledgement | None) -> None:
        if item is None:
            self._is_closed = True
        else:
            self._batch.append(item)

    def _note(self, done: leases.Acknowledged) -> None:
        """Count what was accepted; the others stay in the batch."""
        accepted = set(done.accepted)
        for item in self._batch:
            if item.lease.delivery_id in accepted:
                self._statistics.deliveries[item.disposition] += 1
        self._size -= len(accepted)
        self._batch = [item for item in self._batch if item.lease.delivery_id not in accepted]
        for endpoint_id in done.disabled:
            _log.error("endpoint %s is disabled: it answered 410 Gone, or had no success in 5 days", endpoint_id)
            self._statistics.disabled_endpoints += 1

    def _keep(self, locked: Sequence[Acknowledgement]) -> None:
        """Keep those of the batch that are locked; the others have lost their lease."""
        if lost := len(self._batch) - len(locked):
            _log.warning("%s deliveries had lost their lease; they will be sent again", lost)
            self._statistics.lost_leases += lost
            self._size -= lost
        self._batch.clear()
        if locked and not self._is_told:
            _log.warning("another transaction has locked %s deliveries; their results are kept", len(locked))
        if locked and not self._locked:
            self._again_at = time.monotonic() + _AGAIN
        self._locked += locked
        self._is_told = bool(self._locked)

"""The results of attempts, kept until the database has acknowledged them."""

import asyncio
import logging
from typing import Final

from svc_pg.webhooks.worker import leases
from svc_pg.webhooks.worker.connections import Connection
from svc_pg.webhooks.worker.leases import Acknowledgement
from svc_pg.webhooks.worker.statistics import Statistics

_log = logging.getLogger(__name__)

_BATCH: Final = 200


class ResultQueue:
    """Acknowledges results in batches. A batch outlives a lost connection.

    ``acknowledged`` is set after each batch: a full endpoint may have room again.
    """

    def __init__(self, statistics: Statistics) -> None:
        self.acknowledged = asyncio.Event()
        self._statistics = statistics
        self._waiting: asyncio.Queue[Acknowledgement | None] = asyncio.Queue()
        self._batch: list[Acknowledgement] = []
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
        while self._batch or not self._is_closed:
            if not self._batch:
                self._take(await self._waiting.get())
            while len(self._batch) < _BATCH and not self._waiting.empty():
                self._take(self._waiting.get_nowait())
            if self._batch:
                # if the connection breaks here it may have been done: the lease fences the second time
                self._note(await leases.acknowledge(conn, self._batch))
                self._size -= len(self._batch)
                self._batch.clear()
                self.acknowledged.set()

    def _take(self, item: Acknowledgement | None) -> None:
        if item is None:
            self._is_closed = True
        else:
            self._batch.append(item)

    def _note(self, done: leases.Acknowledged) -> None:
        accepted = set(done.accepted)
        for item in self._batch:
            if item.lease.delivery_id in accepted:
                self._statistics.deliveries[item.disposition] += 1
        if lost := len(self._batch) - len(accepted):
            _log.warning("%s deliveries had lost their lease; they will be sent again", lost)
            self._statistics.lost_leases += lost
        for endpoint_id in done.disabled:
            _log.error("endpoint %s is disabled: it answered 410 Gone, or had no success in 5 days", endpoint_id)
            self._statistics.disabled_endpoints += 1

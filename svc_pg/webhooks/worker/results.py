"""What became of attempts, kept until the database knows it."""

import asyncio
import logging
from typing import Final

from svc_pg.webhooks.worker import leases
from svc_pg.webhooks.worker.connections import Connection
from svc_pg.webhooks.worker.leases import Acknowledgement
from svc_pg.webhooks.worker.statistics import Tally

_log = logging.getLogger(__name__)

_BATCH: Final = 200


class ResultQueue:
    """Acknowledgements in batches of what has come in meanwhile. A batch outlives a lost connection.

    ``acknowledged`` is set after each batch: there may be room again at an endpoint that was full.
    """

    def __init__(self, tally: Tally) -> None:
        self.acknowledged = asyncio.Event()
        self._tally = tally
        self._waiting: asyncio.Queue[Acknowledgement | None] = asyncio.Queue()
        self._batch: list[Acknowledgement] = []
        self._size = 0
        self._is_closed = False

    def put(self, item: Acknowledgement) -> None:
        """Have it acknowledged soon."""
        self._size += 1
        self._waiting.put_nowait(item)

    def close(self) -> None:
        """Nothing more will be put."""
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
            if item.claim.delivery_id in accepted:
                self._tally.deliveries[item.verdict] += 1
        if lost := len(self._batch) - len(accepted):
            _log.warning("%s deliveries had lost their lease; they will be sent again", lost)
            self._tally.lost_leases += lost
        for endpoint_id in done.disabled:
            _log.error("endpoint %s is disabled: it answered 410 Gone, or had no success in 5 days", endpoint_id)
            self._tally.disabled_endpoints += 1

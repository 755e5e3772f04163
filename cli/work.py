"""The work of one process of the command ``worker``: deliveries, or maintenance with seals, or both."""

import asyncio
from datetime import timedelta
from pathlib import Path

from svc_pg import Config
from svc_pg.audit import SealKey
from svc_pg.database.conninfo import Conninfo
from svc_pg.maintenance import Maintenance
from svc_pg.maintenance.seal_timestamps import SealTimestamps
from svc_pg.maintenance.sealer import Sealer
from svc_pg.webhooks.secrets import KeyRing
from svc_pg.webhooks.worker.statistics import Statistics
from svc_pg.webhooks.worker.worker import Worker


class Work:
    """Delivers if there are ``keys``; maintains if asked to, and then seals if there is a ``seal_key``.

    If one of these jobs ends, all end.
    """

    def __init__(
        self,
        conninfo: Conninfo,
        config: Config,
        *,
        keys: KeyRing | None,
        concurrency: int,
        interval: timedelta,
        listen_conninfo: Conninfo | None,
        is_maintaining: bool,
        seal_key: SealKey | None = None,
        seal_copies: Path | None = None,
        seal_timestamps: SealTimestamps | None = None,
    ) -> None:
        self._worker: Worker | None = None
        if keys is not None:
            self._worker = Worker(
                conninfo,
                keys=keys,
                config=config,
                concurrency=concurrency,
                interval=interval,
                listen_conninfo=listen_conninfo,
            )
        self._maintenance = Maintenance(conninfo, config=config) if is_maintaining else None
        self._sealer: Sealer | None = None
        if is_maintaining and seal_key is not None:
            self._sealer = Sealer(conninfo, key=seal_key, copies=seal_copies, timestamps=seal_timestamps)

    @property
    def statistics(self) -> Statistics:
        """The work done so far."""
        return sum((job.statistics for job in self._jobs()), Statistics())

    @property
    def is_delivering(self) -> bool:
        """True if it delivers."""
        return self._worker is not None

    @property
    def is_alive(self) -> bool:
        """True if it works, or waits for its database."""
        return self._worker is None or self._worker.is_alive

    @property
    def problem(self) -> str | None:
        """The reason that the worker cannot deliver now. Maintenance connects only when there is something to do."""
        return None if self._worker is None else self._worker.problem

    def leave_out_deliveries(self) -> None:
        """Deliver nothing, because the database has no webhooks. Call it before ``run``."""
        self._worker = None
        if self._maintenance is not None:
            self._maintenance.has_webhooks = False

    def leave_out_audit(self) -> None:
        """Say nothing of the audit trail, because the database has none. Call it before ``run``."""
        if self._maintenance is not None:
            self._maintenance.has_audit = False

    def stop(self) -> None:
        """Finish the current work."""
        for job in self._jobs():
            job.stop()

    async def run(self) -> None:
        """Run until all jobs have ended, after ``stop``. Raises NotInstalledError."""
        ends = await asyncio.gather(*map(self._run, self._jobs()), return_exceptions=True)
        for end in ends:
            if end is not None:
                raise end

    async def _run(self, job: Worker | Maintenance | Sealer) -> None:
        try:
            await job.run()
        finally:
            self.stop()

    def _jobs(self) -> list[Worker | Maintenance | Sealer]:
        return [job for job in (self._worker, self._maintenance, self._sealer) if job is not None]

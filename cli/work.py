"""The work of one process of the command ``worker``: deliveries, maintenance, or both."""

import asyncio
from datetime import timedelta

from svc_pg import Config
from svc_pg.conninfo import Conninfo
from svc_pg.maintenance import Maintenance
from svc_pg.webhooks.secrets import KeyRing
from svc_pg.webhooks.worker.statistics import Statistics
from svc_pg.webhooks.worker.worker import Worker


class Work:
    """Delivers if there are ``keys``, and maintains if asked to; if one ends, both end."""

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

    @property
    def statistics(self) -> Statistics:
        """The work done so far."""
        return sum((job.statistics for job in self._jobs()), Statistics())

    @property
    def is_alive(self) -> bool:
        """True if it works, or would if it had its database."""
        return self._worker is None or self._worker.is_alive

    @property
    def problem(self) -> str | None:
        """The reason why the worker cannot deliver now. Maintenance connects only when there is something to do."""
        return None if self._worker is None else self._worker.problem

    def stop(self) -> None:
        """Finish the current work."""
        for job in self._jobs():
            job.stop()

    async def run(self) -> None:
        """Return when all has ended, after ``stop``. Raises NotInstalledError."""
        ends = await asyncio.gather(*map(self._run, self._jobs()), return_exceptions=True)
        for end in ends:
            if end is not None:
                raise end

    async def _run(self, job: Worker | Maintenance) -> None:
        try:
            await job.run()
        finally:
            self.stop()

    def _jobs(self) -> list[Worker | Maintenance]:
        return [job for job in (self._worker, self._maintenance) if job is not None]

"""Seal the audit log of a database every minute."""

import logging
from collections.abc import Callable
from datetime import timedelta
from typing import Any, Final

from psycopg import Connection

from svc_pg import audit
from svc_pg.audit import Seal, SealKey
from svc_pg.conninfo import Conninfo
from svc_pg.repeating import Repeating
from svc_pg.webhooks.worker.statistics import Statistics

_log = logging.getLogger(__name__)

_EVERY: Final = timedelta(minutes=1)


class Sealer:
    """Seals a database's audit log about every minute until ``stop`` is called.

    Run as many as you like: they make one chain. An error is logged, and the next run tries again. ``statistics``
    counts the runs.
    """

    def __init__(self, conninfo: str | Conninfo, *, key: SealKey, every: timedelta = _EVERY) -> None:
        self.statistics = Statistics()
        self._key = key
        self._repeating = Repeating(Conninfo.parse(conninfo), self._seal, name="sealing the audit log", every=every)

    def stop(self) -> None:
        """Cancel the seal under way, which leaves nothing to repair; ``run`` then returns."""
        self._repeating.stop()

    async def run(self) -> None:
        """Seal until ``stop`` is called."""
        _log.info('seals the audit log with the key "%s"', self._key.key_id)
        await self._repeating.run(self.statistics.sealing)

    def _seal(self, conn: Connection[Any], is_stopping: Callable[[], bool]) -> bool:
        def check(_: Seal) -> None:
            if is_stopping():
                raise InterruptedError

        try:
            made = audit.seal(conn, key=self._key, progress=check)
        except InterruptedError:
            return True
        if made:
            _log.debug("sealed %d entries, up to seal %d", sum(seal.entries for seal in made), made[-1].number)
        return True

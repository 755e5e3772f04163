"""Seal the audit log of a database every minute."""

import logging
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

from psycopg import Connection

from svc_pg import audit
from svc_pg.audit import Seal, SealKey
from svc_pg.database.conninfo import Conninfo
from svc_pg.database.query import fetch_one
from svc_pg.errors import ProofError
from svc_pg.formats.plurals import counted
from svc_pg.maintenance.repeating import Repeating
from svc_pg.maintenance.seal_copies import SealCopies
from svc_pg.maintenance.seal_timestamps import SealTimestamps
from svc_pg.status.installed_products import audit_installed
from svc_pg.status.last_runs import note_failure, note_success
from svc_pg.webhooks.worker.statistics import Statistics

_log = logging.getLogger(__name__)

_EVERY: Final = timedelta(minutes=1)


class Sealer:
    """Seals a database's audit log about every minute until ``stop`` is called.

    Run as many as you like: they make one chain. An error is logged and recorded, and the next run tries again.
    ``statistics`` counts the runs.

    It remembers the last seal that it made or saw, and compares with the last of the file or folder ``copies``, to
    which it adds the new ones. If the log no longer has these seals, it refuses to seal until it is started anew, and
    as long as the copies have them. Copies that cannot be read or written hold up nothing. With ``timestamps`` the
    newest seal gets one each hour, after the copies; an authority that fails is waited for 20 seconds in ten minutes.
    """

    def __init__(
        self,
        conninfo: str | Conninfo,
        *,
        key: SealKey,
        copies: Path | None = None,
        timestamps: SealTimestamps | None = None,
        every: timedelta = _EVERY,
    ) -> None:
        self.statistics = Statistics()
        self._key = key
        self._copies = None if copies is None else SealCopies(copies)
        self._timestamps = timestamps
        self._known: Seal | None = None
        self._told: str | None = None
        self._repeating = Repeating(Conninfo.parse(conninfo), self._seal, name="sealing the audit log", every=every)

    def stop(self) -> None:
        """Cancel the seal under way, which leaves nothing to repair; ``run`` then returns."""
        self._repeating.stop()

    async def run(self) -> None:
        """Seal until ``stop`` is called."""
        await self._repeating.run(self.statistics.sealing)

    def _seal(self, conn: Connection[Any], is_stopping: Callable[[], bool]) -> bool:
        def check(_: Seal) -> None:
            if is_stopping():
                raise InterruptedError

        if not fetch_one(conn, audit_installed()):  # it may be added later
            self._tell(
                logging.WARNING,
                "seals nothing: only webhooks are installed here; svc-pg install --all adds the audit trail",
            )
            return True
        self._tell(logging.INFO, f'seals the audit log with the key "{self._key.key_id}"')
        try:
            self._seal_known(conn, check, is_stopping)
        except InterruptedError:
            return True
        except Exception as error:
            if isinstance(error, ProofError):
                self.statistics.sealing_refusals += 1
            if not is_stopping() and not conn.closed:
                note_failure(conn, "sealing", str(error))
            raise
        note_success(conn, "sealing")
        return True

    def _tell(self, level: int, words: str) -> None:
        """Log it, unless it is what was told last."""
        if self._told != words:
            _log.log(level, "%s", words)
        self._told = words

    def _seal_known(
        self, conn: Connection[Any], check: Callable[[Seal], None], is_stopping: Callable[[], bool]
    ) -> None:
        """Seal if the log still has its known seals, and remember the last one; then tell all destinations of it."""
        if self._copies is not None:
            self._copies.look(conn, is_stopping)
            self._known = self._known or self._copies.known
        newest = audit.seals(conn, limit=1)  # read first: what replaces the known seal later is not believed
        made = audit.seal(conn, key=self._key, known=self._known, progress=check)
        refusal: ProofError | None = None
        try:
            if self._copies is not None:
                self._copies.write(conn)
            self._known = made[-1] if made else newest[0] if newest else None
        except ProofError as error:  # it keeps no seal from its timestamp
            refusal = error
        if self._timestamps is not None:
            self._timestamps.take(conn, is_stopping)
        if refusal is not None:
            raise refusal
        if made:
            entries = counted(sum(seal.entries for seal in made), "entry")
            _log.debug("sealed %s, up to seal %d", entries, made[-1].number)

"""Reads the state of the database for the metrics of a worker, on connections of its own."""

import asyncio
import logging
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import psycopg
from psycopg import AsyncConnection

from svc_pg.database.by_indexes import BY_INDEXES
from svc_pg.database.conninfo import Conninfo
from svc_pg.database.query import Query, afetch, afetch_one
from svc_pg.errors import SvcError
from svc_pg.status.attribution import Attribution, attribution
from svc_pg.status.installed_products import installed_products
from svc_pg.status.last_runs import LastRun, last_runs
from svc_pg.status.last_verification import LAST_VERIFICATION, LastVerification
from svc_pg.status.open_findings import OpenFinding, open_findings
from svc_pg.status.seal_destinations import SealDestination, seal_destinations
from svc_pg.webhooks.traffic.backlog import UNSETTLED, Backlog, backlog
from svc_pg.webhooks.worker.worker_connections import connected

_log = logging.getLogger(__name__)

_SEAL_LAG: Final = "select extract(epoch from lag)::float8 as seconds from svc.audit_seal_lag()"
_UNSETTLED: Final = f"select {UNSETTLED} as unsettled"
_LONGEST_READ: Final = 4.0  # seconds; a scrape may take 10
_FRESH: Final = 5.0  # seconds
_FRESH_SLOW: Final = 60.0  # seconds

Row = TypeVar("Row")


@dataclass(frozen=True, slots=True)
class DatabaseState:
    """The backlog and the audit log as of one time.

    ``backlog`` is None in a database without webhooks. ``seal_lag`` is the age in seconds of the oldest entry without a
    seal, None if the log has no seals. ``verification`` is the last recorded one, None if there is none. ``last_runs``
    are the tasks of maintenance that have run. ``unsettled`` counts the transactions since the oldest one that runs.
    ``destinations`` are the places of copies of the seals, None if they cannot be read.
    """

    backlog: Backlog | None
    seal_lag: float | None = None
    verification: LastVerification | None = None
    last_runs: tuple[LastRun, ...] = ()
    unsettled: int = 0
    destinations: tuple[SealDestination, ...] | None = ()


@dataclass(frozen=True, slots=True)
class _SealLag:
    seconds: float


class StateReader:
    """Reads on demand, on connections of its own; an answer is kept for a short time."""

    def __init__(self, conninfo: Conninfo) -> None:
        self._conninfo = conninfo
        self._reading = asyncio.Lock()
        self._state: DatabaseState | None = None
        self._state_at = float("-inf")
        self.has_audit = True
        """False if the database was last seen without the audit trail."""
        self._slow: dict[str, tuple[float, list[Any] | None]] = {}

    async def state(self) -> DatabaseState | None:
        """The state within the last 5 s, or None if the database does not answer in time."""
        clock = asyncio.get_running_loop().time
        async with self._reading:
            if clock() - self._state_at > _FRESH:
                self._state = await self._ask_state()
                self._state_at = clock()
            return self._state

    async def attributed(self) -> list[Attribution]:
        """The entries of the last day with and without an actor, as of the last minute; none without audit trail."""
        return (await self._recent(attribution()) or []) if self.has_audit else []

    async def open_findings(self) -> list[OpenFinding] | None:
        """The tables whose last comparison with the log left differences, as of the last minute; None if unreadable."""
        return await self._recent(open_findings()) if self.has_audit else []

    async def _recent(self, query: Query[Row]) -> list[Row] | None:
        clock = asyncio.get_running_loop().time
        async with self._reading:
            at, rows = self._slow.get(query.text, (float("-inf"), None))
            if clock() - at > _FRESH_SLOW:
                rows = await self._ask_slowly(query)
                self._slow[query.text] = (clock(), rows)
            return rows

    async def _ask_state(self) -> DatabaseState | None:
        try:
            async with connected(self._conninfo, longest=_LONGEST_READ) as conn, conn.transaction():
                products = await afetch_one(conn, installed_products())
                self.has_audit = products.has_audit
                await conn.execute(BY_INDEXES)
                queues = await afetch(conn, backlog()) if products.has_webhooks else []
                lag = await afetch(conn, Query(_SEAL_LAG, (), _SealLag)) if products.has_audit else []
                verification = await afetch(conn, LAST_VERIFICATION)
                return DatabaseState(
                    queues[0] if queues else None,
                    lag[0].seconds if lag else None,
                    verification[0] if verification else None,
                    tuple(await afetch(conn, last_runs())),
                    await afetch_one(conn, Query(_UNSETTLED, (), lambda unsettled: int(unsettled))),
                    await _destinations(conn, has_webhooks=products.has_webhooks) if products.has_audit else (),
                )
        except (psycopg.Error, SvcError) as error:
            _log.debug("cannot read the backlog: %s", error)
            return None

    async def _ask_slowly(self, query: Query[Row]) -> list[Row] | None:
        try:
            async with connected(self._conninfo, longest=_LONGEST_READ) as conn, conn.transaction():
                await conn.execute(BY_INDEXES)
                return await afetch(conn, query)
        except (psycopg.Error, SvcError) as error:
            _log.debug("cannot read the audit log for metrics: %s", error)
            return None


async def _destinations(conn: AsyncConnection[Any], *, has_webhooks: bool) -> tuple[SealDestination, ...] | None:
    """None if they cannot be read: the rest can."""
    try:
        async with conn.transaction():
            return tuple(await afetch(conn, seal_destinations(has_webhooks=has_webhooks)))
    except (psycopg.Error, SvcError) as error:
        _log.debug("cannot read the destinations of copies: %s", error)
        return None

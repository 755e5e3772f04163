"""The differences between the database and its configuration, as ``svc-pg status`` finds them."""

import asyncio
import logging
import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

import psycopg

from svc_pg.config import Config
from svc_pg.console.database import STATEMENT_TIMEOUT_SECONDS, Database
from svc_pg.database.application_names import CONSOLE
from svc_pg.database.conninfo import NEVER_PREPARE
from svc_pg.errors import SvcError
from svc_pg.schema.postgres import differences
from svc_pg.schema.status import Kind, State, Status

MOST_SHOWN: Final = 200
REMEMBERED_SECONDS: Final = 60
LONGEST_SECONDS: Final = 8

logger = logging.getLogger("svc_pg.console")


@dataclass(frozen=True, slots=True)
class SchemaDifference:
    """An object that differs. ``audited_table`` is the table whose changes it records or sends."""

    kind: Kind
    identity: str
    state: State
    audited_table: str | None


@dataclass(frozen=True, slots=True)
class Drift:
    """The first 200 of ``count`` differences among ``objects``, at ``checked_at``.

    If ``problem`` is set, they could not be found: it says why.
    """

    checked_at: datetime
    objects: int
    count: int
    differences: list[SchemaDifference]
    problem: str | None = None


class DriftReader:
    """Compares at most once a minute, on a connection of its own, because a comparison reads the whole catalog."""

    def __init__(self, database: Database, config: Config) -> None:
        self._database = database
        self._config = config
        self._comparing: asyncio.Task[Drift] | None = None
        self._compared_at = float("-inf")

    async def read(self) -> Drift:
        """The last comparison, or a new one if it is older than a minute; its ``problem`` if it takes too long."""
        if self._comparing is None or (
            self._comparing.done() and time.monotonic() > self._compared_at + REMEMBERED_SECONDS
        ):
            self._compared_at = time.monotonic()
            self._comparing = asyncio.create_task(asyncio.to_thread(self._compare))
        try:
            async with asyncio.timeout(LONGEST_SECONDS):
                return await asyncio.shield(self._comparing)
        except TimeoutError:
            return _unknown("The comparison takes too long. Run: svc-pg status")

    def _compare(self) -> Drift:
        conninfo = self._database.conninfo
        if conninfo is None:
            return _unknown("The pool of the application does not tell its address. Run: svc-pg status")
        try:
            with psycopg.connect(conninfo, application_name=CONSOLE, prepare_threshold=NEVER_PREPARE) as conn:
                found = differences.status(conn, self._config, longest=timedelta(seconds=STATEMENT_TIMEOUT_SECONDS))
        except (psycopg.Error, SvcError) as error:
            logger.warning("the database was not compared with its configuration: %s", error)
            return _unknown("The database could not be compared with its configuration; the log says why.")
        return _drift(found)


def _drift(found: list[Status]) -> Drift:
    differing = [each for each in found if each.state != "ok"]
    shown = [
        SchemaDifference(each.kind, each.identity, each.state, each.audited_table) for each in differing[:MOST_SHOWN]
    ]
    return Drift(datetime.now(UTC), len(found), len(differing), shown)


def _unknown(problem: str) -> Drift:
    return Drift(datetime.now(UTC), 0, 0, [], problem)

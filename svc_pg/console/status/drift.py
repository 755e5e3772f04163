"""The differences between the database and its configuration, as ``svc-pg status`` finds them."""

import asyncio
import logging
import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Annotated, Final

import psycopg

from svc_pg.config import Config
from svc_pg.console.database.pool import STATEMENT_TIMEOUT_SECONDS, Database
from svc_pg.database.application_names import CONSOLE
from svc_pg.database.conninfo import NEVER_PREPARE
from svc_pg.errors import SvcError
from svc_pg.formats.doc import Doc
from svc_pg.schema.postgres import differences
from svc_pg.schema.status import Kind, State, Status

MOST_SHOWN: Final = 200
REMEMBERED_SECONDS: Final = 60
LONGEST_SECONDS: Final = 8
_GUARD: Final = "audit_guard"

logger = logging.getLogger("svc_pg.console")


@dataclass(frozen=True, slots=True)
class SchemaDifference:
    """An object that differs from the configuration."""

    kind: Annotated[Kind, Doc("The kind of the object.")]
    identity: Annotated[str, Doc("The name of the object.", "svc.console_prune")]
    state: Annotated[State, Doc("Its state.")]
    audited_table: Annotated[
        str | None, Doc("The table whose changes it records or sends; null if it belongs to none.", "public.customer")
    ]


@dataclass(frozen=True, slots=True)
class Drift:
    """The differences between the database and its configuration."""

    checked_at: Annotated[datetime, Doc("The time of the comparison.")]
    objects: Annotated[int, Doc("The number of objects that were compared.", 412)]
    count: Annotated[int, Doc("The number of differences.", 0)]
    differences: Annotated[list[SchemaDifference], Doc("The first 200 of them.")]
    guards: Annotated[
        int, Doc("The number of differing guards: triggers and functions that refuse changes of entries and seals.", 0)
    ] = 0
    problem: Annotated[
        str | None,
        Doc("The reason if they could not be found; else null.", "The comparison takes too long. Run: svc-pg status"),
    ] = None


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
    return Drift(datetime.now(UTC), len(found), len(differing), shown, sum(map(_is_guard, differing)))


def _is_guard(each: Status) -> bool:
    """True for a function that guards the log, and for a trigger that calls it, on the log or on a partition."""
    beginning = f"svc.{_GUARD}" if each.kind == "function" else _GUARD
    return each.kind in ("function", "trigger", "partition") and each.identity.startswith(beginning)


def _unknown(problem: str) -> Drift:
    return Drift(datetime.now(UTC), 0, 0, [], problem=problem)

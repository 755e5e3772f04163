"""Readiness: requests should be sent here unless the database cannot serve them."""

import asyncio
import time
from dataclasses import dataclass
from typing import Annotated, Final, Literal

from svc_pg.console.database import pool as database
from svc_pg.console.database.pool import Database
from svc_pg.console.http.documentation import Documentation
from svc_pg.console.http.requests import ConsoleRequest, ConsoleResponse, Problem
from svc_pg.formats.doc import Doc

REMEMBERED_SECONDS: Final = 1

_READ: Final = "select from svc.console_sessions limit 1"


@dataclass(frozen=True, slots=True)
class ReadinessReport:
    """The console answers, and reads its tables."""

    status: Annotated[Literal["ready"], Doc("The state of the console.")]


READY: Final = Documentation(
    operation_id="ready.get",
    summary="Whether the console reads its tables",
    response=ReadinessReport,
    response_example={"status": "ready"},
    errors=database.PROBLEMS,
)


class Readiness:
    """Asks the database, at most once a second, because anybody may ask this."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._asking = asyncio.Lock()
        self._problem: Problem | None = None
        self._asked_at = float("-inf")

    async def ready(self, _request: ConsoleRequest) -> ConsoleResponse:
        """Answer 200 or the problem that keeps requests from being served."""
        async with self._asking:
            if time.monotonic() > self._asked_at + REMEMBERED_SECONDS:
                self._problem = await self._ask()
                self._asked_at = time.monotonic()
        if self._problem is not None:
            raise self._problem.with_traceback(None)  # each raise would add to the one before
        return ConsoleResponse(200, ReadinessReport("ready"))

    async def _ask(self) -> Problem | None:
        try:
            async with self._database.connection() as conn:
                await conn.execute(_READ)
        except Problem as problem:
            return problem
        return None

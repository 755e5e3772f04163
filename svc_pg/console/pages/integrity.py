"""The integrity of the system: the result of the last verification of the log, and the drift from the configuration."""

import asyncio
from dataclasses import dataclass
from typing import Final

from svc_pg.console.pages.page_request import PageRequest
from svc_pg.console.requests import Problem
from svc_pg.console.system_status import SystemStatus

_LONGEST_SECONDS: Final = 0.5


@dataclass(frozen=True, slots=True)
class Integrity:
    """The number of differences between the log and its seals, and of objects that are not as configured."""

    findings: int
    differing: int

    @property
    def count(self) -> int:
        """Both together."""
        return self.findings + self.differing


UNKNOWN: Final = Integrity(0, 0)


async def integrity(request: PageRequest) -> Integrity:
    """The integrity; UNKNOWN if it is not found within half a second, or the person may not see it.

    The comparison with the configuration goes on meanwhile, so that a later page knows its result.
    """
    if not request.has("system"):
        return UNKNOWN
    try:
        async with asyncio.timeout(_LONGEST_SECONDS):
            status = await request.api.get(SystemStatus, "account", "system")
    except (Problem, TimeoutError):
        return UNKNOWN
    verified = status.verification
    return Integrity(verified.findings if verified else 0, status.drift.count)

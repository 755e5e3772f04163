"""Count problems that need somebody, for the navigation: beside a word, for as long as they last."""

import asyncio
import time
from collections.abc import Mapping
from typing import Final

from svc_pg.console.http.requests import Problem
from svc_pg.console.pages.integrity import integrity
from svc_pg.console.pages.page_request import PageRequest
from svc_pg.database.pagination import Page
from svc_pg.webhooks.endpoints.endpoint_health import EndpointHealth

SECONDS: Final = 10.0
"""The time for which a count is shown: however many look at pages, the database is asked once."""
MOST: Final = 9
"""The greatest count that is shown; a greater one is shown as 9+."""

_LONGEST_SECONDS: Final = 0.5
_MOST_TENANTS: Final = 1000


class Alarms:
    """The counts of each tenant's sessions, and of those that see all."""

    def __init__(self) -> None:
        self._counts: dict[str | None, tuple[float, Mapping[str, int]]] = {}

    async def of(self, request: PageRequest) -> Mapping[str, int]:
        """The counts for a request, by the first segment of the page's path, without those that cannot be counted."""
        tenant = request.person.tenant
        counted_at, counts = self._counts.get(tenant, (-SECONDS, {}))
        if time.monotonic() - counted_at < SECONDS:
            return counts
        if len(self._counts) >= _MOST_TENANTS:
            self._counts.clear()
        self._counts[tenant] = time.monotonic(), counts  # others are not kept waiting meanwhile
        try:
            async with asyncio.timeout(_LONGEST_SECONDS):
                counts = {"endpoints": await _endpoints(request)} if request.has("endpoints") else {}
        except (Problem, TimeoutError):
            counts = {}
        differing = (await integrity(request)).count
        counts |= {"overview": differing, "system": differing}
        self._counts[tenant] = time.monotonic(), counts
        return counts


async def _endpoints(request: PageRequest) -> int:
    query = {"needsAttention": "true", "limit": str(MOST + 1)}
    return len((await request.api.get(Page[EndpointHealth], "webhooks", "endpoints", "health", query=query)).data)

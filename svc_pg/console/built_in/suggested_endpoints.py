"""Endpoints and types of events with some letters, among so many that a suggestion has the time to look at."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from psycopg import AsyncConnection

from svc_pg.database.query import Query, afetch
from svc_pg.database.statements import statement

LOOKED_AT: Final = 10_000
"""The newest endpoints, of a tenant or of all, that are looked at; and the first types of events by name."""
_ENDPOINTS: Final = statement("queries/console/suggested_endpoints.sql")
_EVENTS: Final = """
with first as (select t.name, t.description from svc.webhook_event_types t order by t.name limit %(most)s)
select f.name, f.description from first f
 where strpos(lower(f.name), lower(%(text)s)) > 0 order by f.name limit %(shown)s
"""


@dataclass(frozen=True, slots=True)
class SuggestedEndpoint:
    """An endpoint; its URL is without the query."""

    id: str
    description: str
    url: str
    status: str

    @property
    def name(self) -> str:
        """The description, or, if there is none, the URL."""
        return self.description or self.url


@dataclass(frozen=True, slots=True)
class _Found:
    looked_at: int
    id: str | None
    description: str
    url: str
    status: str


@dataclass(frozen=True, slots=True)
class SuggestedEvent:
    """A type of events."""

    name: str
    description: str


async def suggested_endpoints(
    conn: AsyncConnection[Any], text: str, *, tenant: str | None, shown: int
) -> tuple[Sequence[SuggestedEndpoint], int]:
    """The newest endpoints with these letters in their description or URL, of one tenant if there is one.

    Beside them the number of endpoints that were looked at.
    """
    params = {"text": text, "tenant": tenant, "most": LOOKED_AT, "shown": shown}
    rows = await afetch(conn, Query(_ENDPOINTS, params, _Found))
    found = [SuggestedEndpoint(row.id, row.description, row.url, row.status) for row in rows if row.id is not None]
    return found, rows[0].looked_at


async def events_of(conn: AsyncConnection[Any], text: str, *, shown: int) -> Sequence[SuggestedEvent]:
    """The types of events with these letters in their names."""
    return await afetch(conn, Query(_EVENTS, {"text": text, "most": LOOKED_AT, "shown": shown}, SuggestedEvent))

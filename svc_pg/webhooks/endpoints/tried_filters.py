"""Try a filter on the newest messages, before an endpoint has it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, Any, Final, Self

from psycopg import AsyncConnection, Connection

from svc_pg.database.query import Query, afetch, afetch_one, fetch, fetch_one
from svc_pg.database.statements import statement
from svc_pg.database.storable_texts import check_texts
from svc_pg.errors import QueryError
from svc_pg.formats.doc import Doc
from svc_pg.webhooks.field_docs import EVENT_NAME, MESSAGE_ID, MESSAGE_TENANT

MOST_MESSAGES: Final = 20
"""The most messages on which a filter is tried."""
MOST_EVENTS: Final = 100
"""The most events and patterns that choose them."""
LONGEST: Final = timedelta(milliseconds=500)
"""The time after which no further message is tried."""

_CHECKED: Final = "select svc.webhook_checked_filter(%s) as filter"
_TRIED: Final = statement("queries/webhooks/tried_filter.sql")


@dataclass(frozen=True, slots=True)
class _Checked:
    filter: str


@dataclass(frozen=True, slots=True)
class TriedMessage:
    """A message on which a filter was tried."""

    id: Annotated[str, MESSAGE_ID]
    event_name: Annotated[str, EVENT_NAME]
    tenant: Annotated[str | None, MESSAGE_TENANT]
    created_at: Annotated[datetime, Doc("The time at which the transaction began that sent it.")]
    is_met: Annotated[
        bool | None,
        Doc("True if it would be sent, false if it would not; null if that is not known."),
    ]
    problem: Annotated[
        str | None,
        Doc("The reason for which that is not known; else null.", "the filter $.amount > 100 cannot be decided"),
    ]

    @classmethod
    def of(cls, *, answer: str | None, **facts: Any) -> Self:
        """The message with the answer of ``svc.webhook_filter_problem``."""
        return cls(is_met=None if answer else answer is None, problem=answer or None, **facts)


def try_filter(
    conn: Connection[Any], path: str, *, events: Sequence[str] = ("*",), tenant: str | None = None
) -> list[TriedMessage]:
    """Tell which of the newest messages a filter would let through to an endpoint; it is neither made nor changed.

    ``path`` is the SQL/JSON path of the filter, ``events`` are those of the endpoint, as ``order.paid`` and
    ``order.*``, and ``tenant`` is the endpoint's; without one, messages of all tenants count. Of the newest 1,000
    messages the first 20 that it would get come back, newest first. After half a second the rest is not tried, and its
    ``problem`` says so. Never commits.

    Raises EndpointError for what is no filter, and QueryError for too many events.
    """
    fetch_one(conn, _checked(path, events, tenant))
    return fetch(conn, _tried(path, events, tenant))


async def atry_filter(
    conn: AsyncConnection[Any], path: str, *, events: Sequence[str] = ("*",), tenant: str | None = None
) -> list[TriedMessage]:
    """As ``try_filter``."""
    await afetch_one(conn, _checked(path, events, tenant))
    return await afetch(conn, _tried(path, events, tenant))


async def acheck_filter(conn: AsyncConnection[Any], path: str) -> None:
    """Raise EndpointError for what is no filter."""
    await afetch_one(conn, _checked(path, (), None))


def _checked(path: str, events: Sequence[str], tenant: str | None) -> Query[_Checked]:
    if len(events) > MOST_EVENTS:
        raise QueryError(f"nobody can try {len(events)} events", hint=f"Ask for at most {MOST_EVENTS}.")
    check_texts(path, tenant, *events)
    return Query(_CHECKED, (path,), _Checked)


def _tried(path: str, events: Sequence[str], tenant: str | None) -> Query[TriedMessage]:
    values = {"filter": path, "events": list(events), "tenant": tenant, "most": MOST_MESSAGES, "longest": LONGEST}
    return Query(_TRIED, values, TriedMessage.of)

"""The console's own events as a list: sign-ins, exports, refused calls, tokens, links, views of the team."""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Annotated, Final, Literal, Self, TypedDict, get_args

from svc_pg.database.effects import Effects
from svc_pg.database.filters import Selects
from svc_pg.database.pagination import Keyset, Listing, Page, PointInTime, aware_time, decode
from svc_pg.database.stretches import ANY, Ids, OfIndex, Span, Stretched, stretched_page, time_of
from svc_pg.errors import QueryError
from svc_pg.formats.doc import Doc

EventName = Literal[
    "link_requested",
    "mail_failed",
    "code_rejected",
    "link_locked",
    "code_accepted",
    "signed_in",
    "session_revoked",
    "log_exported",
    "call_refused",
    "link_made",
    "token_added",
    "token_revoked",
    "portal_link_made",
    "portal_link_revoked",
    "portal_opened",
    "view_added",
    "view_changed",
    "view_deleted",
]
EVENT_NAMES: Final[tuple[EventName, ...]] = get_args(EventName)

_COLUMNS: Final = """
e.id::text, e.occurred_at, e.event, e.session_id::text, e.email, host(e.ip) as ip, e.user_agent, e.detail
"""


@dataclass(frozen=True, slots=True)
class ConsoleEvent:
    """One event of the console."""

    id: Annotated[str, Doc("The id of the event.", "77")]
    occurred_at: Annotated[datetime, Doc("The time of the event.")]
    event: Annotated[EventName, Doc("The kind of the event.")]
    session_id: Annotated[
        str | None,
        Doc("The session that it is about; null if it is about none.", "0198d3f1-6a5e-7c40-9f5b-2c1d7e8a9b10"),
    ]
    email: Annotated[str, Doc("The person or the actor.", "ann@corp.example")]
    ip: Annotated[str | None, Doc("The address of the client; null if it is not known.", "203.0.113.7")]
    user_agent: Annotated[str | None, Doc("The browser; null if it is not known.", "Mozilla/5.0")]
    detail: Annotated[str | None, Doc("The other facts; null if there are none.", "DELETE /audit/entries")]


class EventFilter(TypedDict, total=False):
    """Conditions on events; an event must meet all."""

    event: Annotated[EventName | None, Selects(words="events of this kind")]
    email: Annotated[
        str | None, Selects(words="events of this person or actor", example="ann@corp.example", word="Who")
    ]
    since: Annotated[PointInTime | None, Selects(words="events since this time")]
    until: Annotated[PointInTime | None, Selects(words="events before this time")]


@dataclass(frozen=True, slots=True)
class EventQuery(Listing[ConsoleEvent]):
    """A query of events. Every method returns a new one; ``list`` or ``alist`` runs it.

    With a kind or a person, a page is of the next 10,000 events: it may be short, or empty, and have a next one.
    """

    times: Ids = ANY

    def event(self, name: str) -> Self:
        """Events of one kind."""
        if name not in EVENT_NAMES:
            raise QueryError(f"{name!r} is not an event", hint=f"Write one of {', '.join(EVENT_NAMES)}.")
        return self._where("e.event = %s", name)

    def email(self, email: str) -> Self:
        """Events of one person or actor."""
        return self._where("e.email = %s", email)

    def since(self, point_in_time: PointInTime) -> Self:
        """Events from then on: an aware datetime, or a duration before now, for example ``1h``."""
        return replace(self, times=self.times.since(time_of(point_in_time)))

    def until(self, point_in_time: PointInTime) -> Self:
        """Events before then, written as for ``since``."""
        return replace(self, times=self.times.until(time_of(point_in_time)))

    def page(self, *, max_bytes: int | None = None) -> Effects[Page[ConsoleEvent]]:
        """The effects of ``list`` and ``alist``."""
        by_time = OfIndex("svc.console_events", "e", Span("e.occurred_at", self.times), then=("e.id",))
        return stretched_page(self, Stretched(_COLUMNS, "e", by_time, self.filter), max_bytes=max_bytes)


_NEWEST: Final = Keyset(
    select="select " + _COLUMNS + " from svc.console_events e",  # noqa: S608 - constants
    row=ConsoleEvent,
    order=" order by e.occurred_at desc, e.id desc",
    beyond="(e.occurred_at, e.id) < (%s, %s)",
    reverse_order=" order by e.occurred_at, e.id",
    before="(e.occurred_at, e.id) > (%s, %s)",
    key=lambda event: (event.occurred_at.isoformat(), event.id),
    read=lambda cursor: decode(cursor, aware_time, int),
)


def query() -> EventQuery:
    """A query of events, with no conditions yet."""
    return EventQuery(_NEWEST)

"""Queries that read messages: one statement each."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Annotated, Any, Final, LiteralString, Self, TypedDict, Unpack
from uuid import UUID

from svc_pg.database.effects import Effects
from svc_pg.database.filters import Selects, applied
from svc_pg.database.pagination import ALL, Filter, Keyset, Listing, Page, PointInTime, decode
from svc_pg.database.query import Query, RawJson
from svc_pg.database.stretches import ANY, Ids, OfIndex, Span, Stretched, stretched_page
from svc_pg.formats.doc import Doc
from svc_pg.webhooks.field_docs import (
    COPY_OF,
    EVENT_NAME,
    IDEMPOTENCY_KEY,
    KEY,
    MESSAGE_ID,
    MESSAGE_TENANT,
    SEQUENCE,
    XACT_ID,
)
from svc_pg.webhooks.ids import filter_key, least_id, message_key, no_message
from svc_pg.webhooks.messages.payload_summary import summary_of
from svc_pg.webhooks.payload_search import SearchedValue

_COLUMNS: Final[LiteralString] = """
m.id::text, m.event_name, m.tenant, m.idempotency_key, m.key, m.sequence, m.trace_context, m.copy_of::text,
m.xact_id::text, m.created_at,
case when pg_catalog.pg_column_size(m.payload) <= 32768 then left(m.payload::text, 2000) else '' end as beginning,
(select t.search from svc.webhook_event_types t where t.name = m.event_name) as searched
"""
_FOUND: Final = _COLUMNS.replace("m.id::text", "m.found::text as id")
_OF_EVENT: Final = "m.event_name = %s"
_OF_TENANT: Final = "m.tenant = %s"
_SELECT: Final = "select " + _COLUMNS + " from svc.webhook_messages m"  # noqa: S608 - constants
_DETAIL: Final = "select " + _COLUMNS + ", m.payload from svc.webhook_messages m where m.id = %s"  # noqa: S608 - constants


@dataclass(frozen=True, slots=True)
class Message:
    """One sent event, for any number of endpoints."""

    id: Annotated[str, MESSAGE_ID]
    event_name: Annotated[str, EVENT_NAME]
    tenant: Annotated[str | None, MESSAGE_TENANT]
    idempotency_key: Annotated[str | None, IDEMPOTENCY_KEY]
    key: Annotated[str | None, KEY]
    sequence: Annotated[int | None, SEQUENCE]
    trace_context: Annotated[
        str | None,
        Doc(
            "The trace of the sender (W3C traceparent); null if there was none.",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        ),
    ]
    copy_of: Annotated[str | None, COPY_OF]
    xact_id: Annotated[str, XACT_ID]
    created_at: Annotated[datetime, Doc("The time at which the transaction began that sent it.")]
    summary: Annotated[
        str,
        Doc(
            "The values of the payload at the keys by which its event is searched, or else its first members that are a"
            " text, a number or a boolean: for people, in 80 characters at most; empty if the first 2,000 characters"
            " have none, or if it is large.",
            "id 7, total 49.90",
        ),
    ]

    @classmethod
    def read(cls, *, beginning: str, searched: Sequence[str] | None, **columns: Any) -> Self:
        """The message of a row, which has the beginning of the payload and the keys by which its event is searched."""
        return cls(**columns, summary=summary_of(beginning, searched or ()))


@dataclass(frozen=True, slots=True)
class MessageDetail(Message):
    """A message with its payload, as it was sent."""

    payload: Annotated[RawJson, Doc("The payload as it was sent.", {"id": 7})]


class MessageFilter(TypedDict, total=False):
    """Conditions on messages; a message must meet all that are not None.

    ``payload`` is ``KEY=VALUE``, with a key that ``search`` of an event, or of this event, names; another one
    raises QueryError.
    ``transaction`` is the ``xact_id`` of entries in the audit log. ``since`` and ``until`` apply to the time of
    sending, which ids have to the millisecond, not to the beginning of the transaction: an aware datetime, or a
    duration before now, for example ``6h``.
    """

    event: Annotated[str | None, Selects(words="messages of this event", example="order.created")]
    tenant: Annotated[str | None, Selects(words="messages of this tenant", example="acme")]
    payload: Annotated[
        str | None,
        Selects(words="messages whose payload has this value at a key that is searched", example="number=1045"),
    ]
    transaction: Annotated[
        int | None, Selects(words="messages that this transaction sent, by the xactId of entries in the audit log")
    ]
    since: Annotated[PointInTime | None, Selects(words="messages sent since this time")]
    until: Annotated[PointInTime | None, Selects(words="messages sent before this time")]
    ids: Annotated[Sequence[str] | None, Selects(words="these messages", is_id=True)]


@dataclass(frozen=True, slots=True)
class MessageQuery(Listing[Message]):
    """A query of messages. Every method returns a new one; ``list`` or ``alist`` runs it.

    ``times`` are the ids between its times, ``few`` conditions that name a few messages, ``rest`` the others.
    """

    searched: SearchedValue | None = None
    of_tenant: str | None = None
    of_event: str | None = None
    times: Ids = ANY
    few: Filter = ALL
    rest: Filter = ALL

    def event(self, name: str) -> Self:
        """Messages of one event."""
        return replace(self, rest=self.rest.where(_OF_EVENT, name), of_event=name)

    def tenant(self, tenant: str) -> Self:
        """Messages of one tenant."""
        of_tenant = tenant if self.of_tenant is None else self.of_tenant
        return replace(self, rest=self.rest.where(_OF_TENANT, tenant), of_tenant=of_tenant)

    def payload(self, wanted: str) -> Self:
        """Messages whose payload has a value at a key that is searched, for example ``number=1045``.

        Running it raises QueryError if no event is searched by the key, or not the event of which they are.
        """
        return replace(self, searched=SearchedValue.parse(wanted))

    def ids(self, ids: Sequence[str]) -> Self:
        """These messages."""
        return replace(self, few=self.few.where("m.id = any(%s)", [filter_key(each) for each in ids]))

    def transaction(self, xact_id: int) -> Self:
        """Messages that one transaction sent, by the ``xact_id`` of its entries in the audit log."""
        return replace(self, few=self.few.where("m.xact_id = %s", xact_id))

    def since(self, point_in_time: PointInTime) -> Self:
        """Messages sent from then on: an aware datetime, or a duration before now, for example ``1h``."""
        return replace(self, times=self.times.since(least_id(point_in_time)))

    def until(self, point_in_time: PointInTime) -> Self:
        """Messages sent before then, written as for ``since``."""
        return replace(self, times=self.times.until(least_id(point_in_time)))

    def page(self, *, max_bytes: int | None = None) -> Effects[Page[Message]]:
        """The effects of ``list`` and ``alist``: of the next 10,000 messages of the list by one of its conditions.

        A page may then be short, or empty, and have a next one all the same.
        """
        return (yield from stretched_page(self, self._stretched, max_bytes=max_bytes))

    @property
    def _stretched(self) -> Stretched:
        searched = self.searched
        if searched is not None:
            searched = replace(searched, tenant=self.of_tenant, event=self.of_event)
        span, others = Span("m.id", self.times), ALL
        if self.few.conditions:
            wanted = self.rest
            if searched is not None:
                wanted = wanted.where(*searched.condition).where(*searched.of("m.id"))
            stretch = OfIndex("svc.webhook_messages", "m", span, wanted, few=self.few)
            return Stretched(_COLUMNS, "m", stretch, is_in_order=False)
        if searched is not None:
            found = searched.stretch(self.times, table="svc.webhook_messages", key="id", name="m")
            return Stretched(_FOUND, "m", found, self.rest.where("m.id is not null"))
        if self.of_tenant is not None:
            span = Span("m.id", self.times, (("m.tenant", "%s", (self.of_tenant,)),))
            others = ALL.where("m.tenant is not null")  # which the index has
        elif self.of_event is not None:
            span = Span("m.id", self.times, (("m.event_name", "%s", (self.of_event,)),))
        return Stretched(_COLUMNS, "m", OfIndex("svc.webhook_messages", "m", span, others), self.rest)


_NEWEST: Final = Keyset(
    select=_SELECT,
    row=Message.read,
    order=" order by m.id desc",
    beyond="m.id < %s",
    reverse_order=" order by m.id",
    before="m.id > %s",
    key=lambda message: (message.id,),
    read=lambda cursor: decode(cursor, UUID),
)


def query() -> MessageQuery:
    """A query of messages, newest first, with no conditions yet."""
    return MessageQuery(_NEWEST)


def matching(**wanted: Unpack[MessageFilter]) -> MessageQuery:
    """A query of messages with a condition for each filter that is not None. Raises QueryError."""
    return applied(query(), MessageFilter, wanted)


def get(message_id: str) -> Query[MessageDetail]:
    """One message, with its payload. Running it raises NotFoundError."""
    key = message_key(message_id)
    return Query(_DETAIL, (key,), MessageDetail.read, absent=no_message(key))

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
from svc_pg.database.stretches import Lead, Stretched, stretched_page
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
from svc_pg.webhooks.ids import filter_key, message_key, no_message
from svc_pg.webhooks.messages.payload_summary import summary_of
from svc_pg.webhooks.payload_search import SearchedValue

_COLUMNS: Final[LiteralString] = """
m.id::text, m.event_name, m.tenant, m.idempotency_key, m.key, m.sequence, m.trace_context, m.copy_of::text,
m.xact_id::text, m.created_at,
case when pg_catalog.pg_column_size(m.payload) <= 32768 then left(m.payload::text, 2000) else '' end as beginning,
(select t.search from svc.webhook_event_types t where t.name = m.event_name) as searched
"""
_OF_EVENT: Final = "m.event_name = %s"
_OF_TENANT: Final = "m.tenant = %s"
_BY_TENANT: Final = (" order by m.tenant desc, m.id desc", " order by m.tenant, m.id")
_AND_A_DAY: Final = " + interval '1 day')"
_SELECT: Final = "select " + _COLUMNS + " from svc.webhook_messages m"  # noqa: S608 - constants
_EACH: Final = " cross join lateral (select * from svc.webhook_messages each where each.id = s.found offset 0) m"
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
    sending: an aware datetime, or a duration before now, for example ``6h``.
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
    """A query of messages. Every method returns a new one; ``list`` or ``alist`` runs it."""

    searched: SearchedValue | None = None
    of_tenant: str | None = None
    of_event: str | None = None
    reach: Filter = ALL
    is_narrow: bool = False
    """True if ids or a transaction name the messages."""

    def event(self, name: str) -> Self:
        """Messages of one event."""
        return replace(self._where(_OF_EVENT, name), of_event=name)

    def tenant(self, tenant: str) -> Self:
        """Messages of one tenant."""
        wanted = self._where(_OF_TENANT, tenant)
        if self.of_tenant is None:
            return replace(wanted, of_tenant=tenant)
        return replace(wanted, reach=self.reach.where(_OF_TENANT, tenant))

    def payload(self, wanted: str) -> Self:
        """Messages whose payload has a value at a key that is searched, for example ``number=1045``.

        Running it raises QueryError if no event is searched by the key, or not the event of which they are.
        """
        return replace(self, searched=SearchedValue.parse(wanted))

    def ids(self, ids: Sequence[str]) -> Self:
        """These messages."""
        wanted = ALL.where("m.id = any(%s)", [filter_key(each) for each in ids])
        return replace(self._reached(wanted), is_narrow=True)

    def transaction(self, xact_id: int) -> Self:
        """Messages that one transaction sent, by the ``xact_id`` of its entries in the audit log."""
        return replace(self._reached(ALL.where("m.xact_id = %s", xact_id)), is_narrow=True)

    def since(self, point_in_time: PointInTime) -> Self:
        """Messages sent from then on: an aware datetime, or a duration before now, for example ``1h``."""
        # ids grow with time, and are indexed
        wanted = ALL.compare("m.id >= svc.uuid7_at(", point_in_time, end=")")
        return self._reached(wanted.compare("m.created_at >=", point_in_time))

    def until(self, point_in_time: PointInTime) -> Self:
        """Messages sent before then, written as for ``since``, by transactions of at most a day."""
        # the time is that of the transaction's beginning; its ids are of later times
        wanted = ALL.compare("m.id < svc.uuid7_at(", point_in_time, end=_AND_A_DAY)
        return self._reached(wanted.compare("m.created_at <", point_in_time))

    def page(self, *, max_bytes: int | None = None) -> Effects[Page[Message]]:
        """The effects of ``list`` and ``alist``: by an event beside a tenant, ids or a transaction of the next 10,000.

        A page may then be short, or empty, and have a next one all the same.
        """
        is_by_other_index = self.of_tenant is not None or self.is_narrow
        if self.searched is not None or self.of_event is None or not is_by_other_index:
            return (yield from Listing.page(self, max_bytes=max_bytes))
        return (yield from stretched_page(self, self._stretch, max_bytes=max_bytes))

    @property
    def _stretch(self) -> Stretched:
        rest = ALL.where(_OF_EVENT, self.of_event)
        stretch = Stretched(_COLUMNS, "svc.webhook_messages", "m", self.reach, rest, not self.is_narrow)
        if self.of_tenant is None:
            return stretch
        if self.is_narrow:
            return replace(stretch, reach=self.reach.where(_OF_TENANT, self.of_tenant))
        return replace(stretch, by=Lead("m.tenant", self.of_tenant, *_BY_TENANT))

    def _reached(self, wanted: Filter) -> Self:
        """The list with conditions that an index serves."""
        return replace(self, filter=self.filter.joined(wanted), reach=self.reach.joined(wanted))

    def _query(self) -> Query[Message]:
        if self.searched is None:
            return Listing._query(self)
        searched = replace(self.searched, tenant=self.of_tenant, event=self.of_event)
        wanted = self.filter.where(*searched.condition)
        found = Listing._query(replace(self, keyset=_found(searched), filter=wanted))
        return replace(found, params=(*searched.params, *found.params))


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


def _found(searched: SearchedValue) -> Keyset[Message]:
    """The list of the messages that have a value, in whose order they are looked up one by one."""
    return replace(
        _NEWEST,
        select="select " + _COLUMNS + searched.messages + _EACH,
        order=" order by s.found desc",
        beyond="s.found < %s",
        reverse_order=" order by s.found",
        before="s.found > %s",
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

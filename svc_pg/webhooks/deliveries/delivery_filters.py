"""The filters of deliveries, whose conditions are the methods of the same names in DeliveryQuery, and of replays."""

from collections.abc import Sequence
from typing import Annotated, TypedDict

from svc_pg.database.filters import Selects
from svc_pg.database.pagination import PointInTime
from svc_pg.webhooks.deliveries.delivery_rows import Status
from svc_pg.webhooks.deliveries.replay_queries import ReplayStatus


class CreatedWithin(TypedDict, total=False):
    """The time of creation: an aware datetime, or a duration before now, for example ``6h``."""

    since: Annotated[PointInTime | None, Selects(words="deliveries created since this time")]
    until: Annotated[PointInTime | None, Selects(words="deliveries created before this time")]


class ReplayFilter(TypedDict, total=False):
    """The messages of a replay, by time and by result: see ``ReplayOptions``."""

    since: Annotated[PointInTime | None, Selects(words="messages sent since this time")]
    until: Annotated[PointInTime | None, Selects(words="messages sent before this time")]
    event: Annotated[str | None, Selects(words="messages of this event", example="order.created")]
    status: Annotated[
        ReplayStatus | None,
        Selects(words="messages whose delivery is in this state; missing: that the endpoint wants and never got"),
    ]


class DeliveryFilter(CreatedWithin, total=False):
    """Conditions on deliveries; a delivery must meet all that are not None.

    ``endpoint`` and ``message`` are ids, ``event`` is a name, ``ids`` are those of deliveries, 10,000 at most.
    ``tenant`` is the message's. ``payload`` is ``KEY=VALUE``, with a key that ``search`` of an event names; another one
    raises QueryError. ``transaction`` is the sending transaction: the ``xact_id`` of entries in the audit log.
    ``since`` and ``until`` apply to the time of creation, which ids have to the millisecond: an aware datetime, or a
    duration before now, for example ``6h``; ``finished_since`` and ``finished_until`` to that of the end, which no
    index has: without an endpoint, a message, ids, a transaction or ``since`` beside them, running the query raises
    QueryError.
    """

    status: Annotated[Status | None, Selects(words="deliveries in this state", word="State")]
    endpoint: Annotated[str | None, Selects(words="deliveries to this endpoint", api="endpointId", is_id=True)]
    message: Annotated[str | None, Selects(words="deliveries of this message", api="messageId", is_id=True)]
    event: Annotated[str | None, Selects(words="deliveries of this event", example="order.created")]
    tenant: Annotated[str | None, Selects(words="deliveries of the messages of this tenant", example="acme")]
    payload: Annotated[
        str | None,
        Selects(
            words="deliveries of the messages whose payload has this value at a key that is searched",
            example="number=1045",
        ),
    ]
    transaction: Annotated[
        int | None,
        Selects(words="deliveries of what this transaction sent, by the xactId of entries in the audit log"),
    ]
    ids: Annotated[Sequence[str] | None, Selects(words="these deliveries", is_id=True)]
    finished_since: Annotated[
        PointInTime | None, Selects(words="deliveries that were delivered, failed or canceled since this time")
    ]
    finished_until: Annotated[
        PointInTime | None, Selects(words="deliveries that were delivered, failed or canceled before this time")
    ]

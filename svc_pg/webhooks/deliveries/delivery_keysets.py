"""The orders of lists of deliveries: by their own ids, or by the ids of their messages."""

from collections.abc import Sequence
from typing import Final, LiteralString
from uuid import UUID

from svc_pg.database.pagination import Keyset, decode
from svc_pg.webhooks.deliveries.delivery_rows import Delivery

COLUMNS: Final = """
id::text, message_id::text, endpoint_id::text, event_name, status, attempts, lost_attempts, throttled_attempts,
max_attempts, created_at,
updated_at, next_attempt_at, finished_at, last_status_code, last_error
"""

COLUMNS_OF_FOUND: Final = COLUMNS.replace(
    "\nid::text, message_id::text", "\ncoalesce(d.id, d.edge)::text as id, d.found::text as message_id"
)
"""Those of ``ByMessages``, also of a message without deliveries."""
_SELECT: Final = "select " + COLUMNS + " from svc.webhook_deliveries d"  # noqa: S608 - constants
_LAST: Final = UUID(int=2**128 - 1)
_BEYOND: Final = "m.id <= %s) and (message_id, id) < (%s, %s)"
_BEFORE: Final = "m.id >= %s) and (message_id, id) > (%s, %s)"
_OF_EVENT: Final = "message_id in (select m.id from svc.webhook_messages m where m.event_name = %s and "
_OF_TENANT: Final = "message_id in (select m.id from svc.webhook_messages m where m.tenant = %s and "

NEWEST: Final = Keyset(
    select=_SELECT,
    row=Delivery,
    order=" order by d.id desc",
    beyond="id < %s",
    reverse_order=" order by d.id",
    before="id > %s",
    key=lambda delivery: (delivery.id,),
    read=lambda cursor: decode(cursor, UUID),
)


def newest_of_event(name: str) -> Keyset[Delivery]:
    """The order by message id, for a list with no condition but an event."""
    return _through_messages(_OF_EVENT, name)


def newest_of_tenant(tenant: str) -> Keyset[Delivery]:
    """The order by message id, for a list with no condition but a tenant."""
    return _through_messages(_OF_TENANT, tenant)


def _through_messages(matching: LiteralString, value: str) -> Keyset[Delivery]:
    """Find deliveries by an index of messages: an index of deliveries would cost all workers."""

    def position(message: object, delivery: object) -> Sequence[object]:
        return value, message, message, delivery

    return Keyset(
        select=_SELECT,
        row=Delivery,
        order=" order by d.message_id desc, d.id desc",
        beyond=matching + _BEYOND,
        reverse_order=" order by d.message_id, d.id",
        before=matching + _BEFORE,
        key=lambda delivery: (delivery.message_id, delivery.id),
        read=_message_and_delivery,
        start=position(_LAST, _LAST),
    )


def newest_found(source: LiteralString) -> Keyset[Delivery]:
    """The order of the messages that have a searched value, for a list with whatever conditions beside it."""
    return Keyset(
        select="select " + COLUMNS + source,
        row=Delivery,
        order=" order by s.found desc, d.id desc",
        beyond="(s.found, d.id) < (%s, %s)",
        reverse_order=" order by s.found, d.id",
        before="(s.found, d.id) > (%s, %s)",
        key=lambda delivery: (delivery.message_id, delivery.id),
        read=_message_and_delivery,
    )


def _message_and_delivery(cursor: str) -> Sequence[object]:
    return decode(cursor, UUID, UUID)

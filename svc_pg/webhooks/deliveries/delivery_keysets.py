"""The orders of lists of deliveries: by their own ids, or by the ids of their messages."""

from typing import Final
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
NEWEST_FOUND: Final = Keyset(
    select=_SELECT,
    row=Delivery,
    order=" order by d.message_id desc, d.id desc",
    beyond="(d.message_id, d.id) < (%s, %s)",
    reverse_order=" order by d.message_id, d.id",
    before="(d.message_id, d.id) > (%s, %s)",
    key=lambda delivery: (delivery.message_id, delivery.id),
    read=lambda cursor: decode(cursor, UUID, UUID),
)
"""The order of the messages that lead to the deliveries."""

"""The conditions on deliveries, each served by an index."""

from typing import Final, LiteralString

# the status has no index, because it changes with every delivery
OF_STATUS: Final[dict[str, LiteralString]] = {
    "pending": """status = %s and (endpoint_id, id) in (
        select q.endpoint_id, q.delivery_id from svc.webhook_queue q
        union all select l.endpoint_id, l.delivery_id from svc.webhook_leases l
    )""",
    "delivered": "status = %s",
    "failed": "failure = %s",
    "canceled": "failure = %s",
}
# a scalar, so that it is looked up for each delivery of the list and not joined
MESSAGE_IS_OF: Final = "(select m.tenant from svc.webhook_messages m where m.id = message_id) = %s"
TO_ENDPOINTS_OF: Final = "endpoint_id = any (array(select e.id from svc.webhook_endpoints e where e.tenant = %s))"
OF_MESSAGE_OF_TENANT: Final = "exists (select from svc.webhook_messages m where m.id = message_id and m.tenant = %s)"
# an array, so that each of its messages is looked up, and deliveries are not joined, which could read all
OF_TRANSACTION: Final = "message_id = any (array(select m.id from svc.webhook_messages m where m.xact_id = %s))"

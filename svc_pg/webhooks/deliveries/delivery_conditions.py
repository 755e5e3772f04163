"""The conditions on deliveries, each served by an index, and the bulk changes of matching deliveries."""

from typing import Final, LiteralString

_IS_OPEN: Final = "exists (select from svc.webhook_endpoints e where e.id = endpoint_id and e.status <> 'disabled')"
_WAITS: Final = """(endpoint_id, id) in (
    select q.endpoint_id, q.delivery_id from svc.webhook_queue q where q.lane = 'later'
)"""
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
COUNT: Final = "changed as (select id from matching limit 10000)"
RETRY_MANY: Final = (
    (
        "failure is not null and " + _IS_OPEN,
        "attempts > 0 and " + _WAITS + " and " + _IS_OPEN,
    ),
    "changed as (select id from svc.webhook_retry(array(select id from matching limit 10000)))",
)
CANCEL_MANY: Final = (
    ("(endpoint_id, id) in (select q.endpoint_id, q.delivery_id from svc.webhook_queue q)",),
    """changed as (
    select id from svc.webhook_cancel_many(array(select id from matching limit 10000), 'canceled by hand')
)\n""",
)
COUNT_CHANGED: Final = """
select (select count(*) from changed)::integer as count, (select count(*) from matching) <= 10000 as is_complete
"""

"""Find out whether an endpoint, a delivery or a message belongs to a tenant: one statement each.

Running one raises NotFoundError if it does not, with the message for one that does not exist.
"""

from dataclasses import dataclass
from typing import Final

from svc_pg.database.query import Query
from svc_pg.webhooks.ids import delivery_key, endpoint_key, message_key, no_delivery, no_endpoint, no_message

_ENDPOINT: Final = "select e.id::text from svc.webhook_endpoints e where e.id = %s and e.tenant = %s"
# What went to an endpoint without a tenant is the operator's, even if the message was the tenant's; and what went to an
# endpoint of the tenant is not the tenant's if the endpoint was another's then
_DELIVERY: Final = """
select d.id::text
  from svc.webhook_deliveries d
  join svc.webhook_endpoints e on e.id = d.endpoint_id
  join svc.webhook_messages m on m.id = d.message_id and m.tenant = e.tenant
 where d.id = %s and e.tenant = %s
"""
_MESSAGE: Final = "select m.id::text from svc.webhook_messages m where m.id = %s and m.tenant = %s"


@dataclass(frozen=True, slots=True)
class Own:
    """The id of something that belongs to the tenant."""

    id: str


def own_endpoint(endpoint_id: str, tenant: str) -> Query[Own]:
    """An endpoint of the tenant."""
    key = endpoint_key(endpoint_id)
    return Query(_ENDPOINT, (key, tenant), Own, absent=no_endpoint(key))


def own_delivery(delivery_id: str, tenant: str) -> Query[Own]:
    """A delivery of a message of the tenant to an endpoint of the tenant.

    Those to an endpoint that was deleted belong to nobody.
    """
    key = delivery_key(delivery_id)
    return Query(_DELIVERY, (key, tenant), Own, absent=no_delivery(key))


def own_message(message_id: str, tenant: str) -> Query[Own]:
    """A message of the tenant."""
    key = message_key(message_id)
    return Query(_MESSAGE, (key, tenant), Own, absent=no_message(key))

"""Check that an endpoint, a delivery or a message belongs to a tenant, in one statement each.

Running one raises NotFoundError if it does not, with the same message as for one that does not exist.
"""

from dataclasses import dataclass
from typing import Final

from svc_pg.database.query import Query
from svc_pg.database.statements import statement
from svc_pg.webhooks.ids import delivery_key, endpoint_key, message_key, no_delivery, no_endpoint, no_message

_ENDPOINT: Final = "select e.id::text from svc.webhook_endpoints e where e.id = %s and e.tenant = %s"
_DELIVERY: Final = statement("queries/webhooks/delivery_of_tenant.sql")
_MESSAGE: Final = "select m.id::text from svc.webhook_messages m where m.id = %s and m.tenant = %s"


@dataclass(frozen=True, slots=True)
class Own:
    """The id of an object of the tenant."""

    id: str


def own_endpoint(endpoint_id: str, tenant: str) -> Query[Own]:
    """An endpoint of the tenant."""
    key = endpoint_key(endpoint_id)
    return Query(_ENDPOINT, (key, tenant), Own, absent=no_endpoint(key))


def own_delivery(delivery_id: str, tenant: str) -> Query[Own]:
    """A delivery of a message of the tenant to an endpoint of the tenant.

    A delivery to a deleted endpoint belongs to no tenant.
    """
    key = delivery_key(delivery_id)
    return Query(_DELIVERY, (key, tenant), Own, absent=no_delivery(key))


def own_message(message_id: str, tenant: str) -> Query[Own]:
    """A message of the tenant."""
    key = message_key(message_id)
    return Query(_MESSAGE, (key, tenant), Own, absent=no_message(key))

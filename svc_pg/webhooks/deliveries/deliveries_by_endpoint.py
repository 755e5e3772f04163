"""The list of deliveries by the index of each endpoint, of one or of all those of a tenant."""

from typing import Final

from svc_pg.database.pagination import ALL
from svc_pg.database.stretches import Each
from svc_pg.webhooks.deliveries.delivery_keysets import NEWEST

MOST_OF_OWN: Final = 1_000
"""The deliveries of each endpoint of a tenant that a page of its session looks at."""
BY_ENDPOINT: Final = (" order by d.endpoint_id, d.id desc", " order by d.endpoint_id desc, d.id")
"""The order of the index, and the reverse one."""

_OWN: Final = "(select e.id from svc.webhook_endpoints e where e.tenant = %s) own"
_IS_OWN: Final = ALL.where("d.endpoint_id = own.id")
# by no equality, or the order could be that of another index
_LED_BY_OWN: Final = ALL.where("d.endpoint_id >= own.id").where("d.endpoint_id <= own.id")


def each_of_tenant(tenant: str, *, in_order: bool) -> Each:
    """The endpoints of a tenant; if not ``in_order``, the planner chooses the index for each."""
    if in_order:
        return Each(_OWN, (tenant,), _LED_BY_OWN, *BY_ENDPOINT, most=MOST_OF_OWN)
    return Each(_OWN, (tenant,), _IS_OWN, NEWEST.order, NEWEST.reverse_order, most=MOST_OF_OWN)

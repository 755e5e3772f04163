"""Read, retry and cancel deliveries: one statement each."""

from typing import Final, Unpack

from svc_pg.database.effects import Effects, Statement
from svc_pg.database.filters import applied
from svc_pg.database.pagination import PointInTime
from svc_pg.database.query import Query
from svc_pg.database.statements import statement
from svc_pg.webhooks.deliveries.delivery_filters import DeliveryFilter
from svc_pg.webhooks.deliveries.delivery_keysets import COLUMNS, NEWEST
from svc_pg.webhooks.deliveries.delivery_query import DeliveryQuery
from svc_pg.webhooks.deliveries.delivery_rows import BulkResult, Delivery, DeliveryAttempt, DeliveryDetail
from svc_pg.webhooks.ids import delivery_key, endpoint_key, no_delivery

_DETAIL: Final = statement("queries/webhooks/delivery_detail.sql")
_ATTEMPTS: Final = statement("queries/webhooks/delivery_attempts.sql")
_RETRY: Final = "select " + COLUMNS + " from svc.webhook_retry_one(%s)"  # noqa: S608 - constants
_CANCEL: Final = "select " + COLUMNS + " from svc.webhook_cancel(%s)"  # noqa: S608 - constants
_PING: Final = "select " + COLUMNS + " from svc.webhook_ping(%s)"  # noqa: S608 - constants
_OPEN_ENDPOINT: Final = "select svc.webhook_open_endpoint(%s)"


def query() -> DeliveryQuery:
    """A query of deliveries, with no conditions yet."""
    return DeliveryQuery(NEWEST)


def matching(**wanted: Unpack[DeliveryFilter]) -> DeliveryQuery:
    """A query of deliveries with a condition for each filter that is not None. Raises QueryError."""
    return applied(query(), DeliveryFilter, wanted)


def get(delivery_id: str) -> Query[DeliveryDetail]:
    """One delivery. Running it raises NotFoundError."""
    key = delivery_key(delivery_id)
    return Query(_DETAIL, (key,), DeliveryDetail, absent=no_delivery(key))


def attempts(delivery_id: str) -> Query[DeliveryAttempt]:
    """The attempts of one delivery, oldest first. Running it raises NotFoundError."""
    return Query(_ATTEMPTS, (delivery_key(delivery_id),), DeliveryAttempt)


def retry(delivery_id: str) -> Query[Delivery]:
    """Make a failed or canceled delivery due now, with its remaining attempts or at least one more.

    A pending one becomes due too, without waiting for its next attempt or the end of its delay.

    Running it raises NotFoundError, and ConflictError if its state or that of its endpoint forbids it.
    """
    return Query(_RETRY, (delivery_key(delivery_id),), Delivery)


def cancel(delivery_id: str) -> Query[Delivery]:
    """Cancel a pending delivery, or a failed one that blocks its key.

    Running it raises NotFoundError, and ConflictError in other states and while an attempt is under way.
    """
    return Query(_CANCEL, (delivery_key(delivery_id),), Delivery)


def ping(endpoint_id: str) -> Query[Delivery]:
    """Send the event ``webhook.ping`` to an endpoint, with one attempt.

    Running it raises NotFoundError, and ConflictError if the endpoint is not active.
    """
    return Query(_PING, (endpoint_key(endpoint_id),), Delivery)


def recover(
    endpoint_id: str,
    *,
    since: PointInTime | None = None,
    until: PointInTime | None = None,
    dry_run: bool = False,
    tenant: str | None = None,
) -> Effects[BulkResult]:
    """Try all failed and canceled deliveries of an endpoint again, 10,000 at a time, for example after an outage.

    Deliveries that wait for another attempt after a failed one become due too. With a ``tenant``, only that tenant's.

    Raises NotFoundError, and ConflictError if the endpoint is disabled.
    """
    yield Statement(_OPEN_ENDPOINT, (endpoint_key(endpoint_id),))
    wanted = matching(endpoint=endpoint_id, since=since, until=until)
    wanted = wanted if tenant is None else wanted.to_endpoints_of(tenant)
    return (yield from wanted.retry(dry_run=dry_run))

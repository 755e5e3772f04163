"""Print deliveries, and the reason that those of an endpoint wait."""

from svc_pg.database.query import fetch_one
from svc_pg.webhooks.deliveries.delivery_rows import Delivery
from svc_pg.webhooks.endpoints.endpoint_rows import Endpoint
from svc_pg.webhooks.endpoints.endpoint_stats import stats

from . import output, records
from .database import connect
from .format_difference import time_text
from .json_text import printable


def show_delivery(delivery: Delivery, endpoint: Endpoint | None = None) -> None:
    """Print its state and attempts; in a second line its endpoint, the time of its end or next try, and its error."""
    counting = delivery.attempts - delivery.lost_attempts - delivery.throttled_attempts
    attempts = f"{counting}/{delivery.max_attempts} attempts"
    attempts += f", {delivery.lost_attempts} lost" if delivery.lost_attempts else ""
    attempts += f", {delivery.throttled_attempts} throttled" if delivery.throttled_attempts else ""
    words = [delivery.id, time_text(delivery.created_at), printable(delivery.event_name), delivery.status, attempts]
    output.data("  ".join(words))
    name = "" if endpoint is None else f" {printable(endpoint.description or endpoint.url)}"
    words = [f"to {delivery.endpoint_id}{name}", _when(delivery), printable(delivery.last_error or "")]
    output.data("    " + "  ".join(filter(None, words)))


def _when(delivery: Delivery) -> str:
    """The time at which it ended, or is due."""
    if delivery.finished_at is not None:
        return f"{delivery.status} {time_text(delivery.finished_at)}"
    return "" if delivery.next_attempt_at is None else f"due {time_text(delivery.next_attempt_at)}"


def tell_of_breaker(endpoint_id: str, database_url: str | None) -> None:
    """Print the end of the pause by an endpoint's circuit breaker, or of the wait that its receiver asked for."""
    with connect(database_url) as conn:
        health = fetch_one(conn, stats(endpoint_id))
    if health.breaker_until is not None:
        advice = f"To close it now: svc-pg webhooks resume {endpoint_id}"
        output.words(f"The circuit breaker is open until {records.text(health.breaker_until)}. {advice}")
    elif health.throttled_until is not None:
        advice = f"To send now: svc-pg webhooks resume {endpoint_id}"
        output.words(f"The receiver asked to wait until {records.text(health.throttled_until)}. {advice}")

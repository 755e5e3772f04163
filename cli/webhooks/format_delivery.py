"""Print deliveries, the commands that end a wait, and the reason that those of an endpoint wait."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from svc_pg.database.performing import run
from svc_pg.formats import human_times
from svc_pg.webhooks.deliveries.delivery_reasons import DeliveryReason, Reason
from svc_pg.webhooks.deliveries.delivery_rows import Delivery
from svc_pg.webhooks.endpoints.endpoint_rows import Endpoint
from svc_pg.webhooks.endpoints.endpoint_stats import stats

from .. import output, records
from ..database import connect
from ..json_text import printable

_RESUME: Final = "To send to the endpoint again: svc-pg webhooks resume {endpoint}"
_CLOSED: Final[frozenset[Reason]] = frozenset({"paused", "disabled", "broken", "throttled"})
_DELETED: Final = (
    "Its endpoint was deleted. For a new one: svc-pg webhooks replay --endpoint NEW --since 7d --status missing"
)
_AGAIN: Final = "{to} try it again: svc-pg webhooks retry {delivery}"
_RETRIES: Final[Mapping[Reason, str]] = {
    "failed": _AGAIN,
    "canceled": _AGAIN,
    "later": "{to} send it now: svc-pg webhooks retry {delivery}",
}
_ADVICES: Final[Mapping[Reason, str]] = {
    "blocking": "To let the others pass: svc-pg webhooks cancel {delivery}",
    "key": "To see what that one waits for: svc-pg webhooks why {other}",
    "no_worker": "To run a worker: svc-pg worker",
}


def show_delivery(delivery: Delivery, endpoint: Endpoint | None = None) -> None:
    """Print its state and attempts; in a second line its endpoint, the time of its end or next try, and its error."""
    created, event = human_times.second(delivery.created_at), printable(delivery.event_name)
    output.data(output.spaced(delivery.id, created, event, delivery.status, _attempts(delivery)))
    name = "" if endpoint is None else f" {printable(endpoint.description or endpoint.url)}"
    error = printable(delivery.last_error or "")
    output.data("    " + output.spaced(f"to {delivery.endpoint_id}{name}", _when(delivery), error))


def result_of(delivery: Delivery, endpoint: Endpoint | None) -> str:
    """One line: its event and endpoint, its state with the time, and its error if it has not arrived."""
    name = "an endpoint that was deleted" if endpoint is None else printable(endpoint.description or endpoint.url)
    error = "" if delivery.status == "delivered" or not delivery.last_error else f": {printable(delivery.last_error)}"
    state = _when(delivery) if delivery.status != "pending" else f"pending, {_when(delivery)}"
    told = f"{printable(delivery.event_name)} to {name}, {state}, {_attempts(delivery)}{error}"
    return f"{told}  [delivery {delivery.id}]"


def _attempts(delivery: Delivery) -> str:
    counting = delivery.attempts - delivery.lost_attempts - delivery.throttled_attempts
    attempts = f"{counting}/{delivery.max_attempts} attempts"
    attempts += f", {delivery.lost_attempts} lost" if delivery.lost_attempts else ""
    return attempts + (f", {delivery.throttled_attempts} throttled" if delivery.throttled_attempts else "")


def _when(delivery: Delivery) -> str:
    """The time at which it ended, or is due."""
    if delivery.finished_at is not None:
        return f"{delivery.status} {human_times.second(delivery.finished_at)}"
    return "" if delivery.next_attempt_at is None else f"due {human_times.second(delivery.next_attempt_at)}"


def advices(delivery: Delivery, endpoint: Endpoint | None, reasons: Iterable[DeliveryReason]) -> Iterator[str]:
    """The commands that end a wait, in the order in which to run them: what is closed is opened first."""
    reasons = tuple(reasons)
    is_disabled = endpoint is not None and endpoint.status == "disabled" and delivery.status != "delivered"
    is_closed = is_disabled or any(each.reason in _CLOSED for each in reasons)
    if is_closed:
        yield _RESUME.format(endpoint=delivery.endpoint_id)
    for each in reasons:
        if retry := _RETRIES.get(each.reason):
            to = "Then, to" if is_closed else "To"
            yield _DELETED if endpoint is None else retry.format(to=to, delivery=delivery.id)
        elif advice := _ADVICES.get(each.reason):
            yield advice.format(delivery=delivery.id, other=each.other_delivery_id)


def tell_of_breaker(endpoint_id: str, database_url: str | None) -> None:
    """Print the end of the pause by an endpoint's circuit breaker, or of the wait that its receiver asked for."""
    with connect(database_url) as conn:
        health = run(conn, stats(endpoint_id))
    if health.breaker_until is not None:
        advice = f"To close it now: svc-pg webhooks resume {endpoint_id}"
        output.words(f"The circuit breaker is open until {records.text(health.breaker_until)}. {advice}")
    elif health.throttled_until is not None:
        advice = f"To send now: svc-pg webhooks resume {endpoint_id}"
        output.words(f"The receiver asked to wait until {records.text(health.throttled_until)}. {advice}")

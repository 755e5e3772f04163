"""The page Endpoint: its figures, its settings, and its actions."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any, Final

from svc_pg.audit.log.entry import Entry
from svc_pg.console.http import preconditions
from svc_pg.console.pages import charts
from svc_pg.console.pages.answers import Answer, Html, SeeOther
from svc_pg.console.pages.formatting import duration
from svc_pg.console.pages.page_request import PageRequest
from svc_pg.console.pages.problems import needs_write
from svc_pg.console.pages.refused_forms import invalid_form, sent
from svc_pg.console.pages.webhooks import event_types
from svc_pg.console.pages.webhooks.deliveries import rows
from svc_pg.console.pages.webhooks.endpoint_form import EndpointForm
from svc_pg.console.pages.webhooks.endpoints import form_page, leave_to_try
from svc_pg.database.pagination import Page
from svc_pg.webhooks.deliveries.delivery_rows import BulkResult, Delivery
from svc_pg.webhooks.endpoints.endpoint_rows import Endpoint, EndpointWithSecret
from svc_pg.webhooks.endpoints.endpoint_stats import EndpointStats
from svc_pg.webhooks.events.event_types import EventType
from svc_pg.webhooks.traffic.traffic_queries import Traffic

OVERLAPS: Final = (("86400", "24 hours"), ("604800", "7 days"), ("3600", "1 hour"), ("0", "Not at all"))

_TABLE: Final = "svc.webhook_endpoints"
_OF_CHANGES: Final = "operation,actorId,dbUser,changedFields"
_HOUR: Final = timedelta(hours=1)


async def endpoint_page(request: PageRequest) -> Answer:
    """One endpoint."""
    endpoint = await _endpoint(request)
    stats = await request.api.get(EndpointStats, "webhooks", "endpoints", endpoint.id, "stats")
    traffic = await request.api.get(Traffic, "webhooks", "stats", query={"endpointId": endpoint.id, "by": "hour"})
    latest = await request.api.get(
        Page[Delivery], "webhooks", "deliveries", query={"endpointId": endpoint.id, "limit": "8"}
    )
    delivered = [each.delivered for each in traffic.buckets]
    failed = [each.failed_attempts for each in traffic.buckets]
    values = {
        "endpoint": endpoint,
        "stats": stats,
        "health": _health(endpoint, stats),
        "traffic": traffic,
        "bars": charts.bars(delivered, failed),
        "labels": charts.labels([each.at for each in traffic.buckets], _HOUR),
        "table": [
            (
                charts.label(each.at, _HOUR),
                each.sent,
                each.delivered,
                each.failed_attempts,
                None if each.p95 is None else duration(each.p95),
            )
            for each in traffic.buckets
        ],
        "rows": await rows(request, latest.data),
        "changes": await _changes(request, endpoint),
        "is_told": _is_told(request),
    }
    return Html("endpoint", values)


async def edit(request: PageRequest) -> Answer:
    """The form with the fields as they are."""
    needs_write(request)
    endpoint = await _endpoint(request)
    types = await request.api.get(Page[EventType], "webhooks", "event-types")
    shown = event_types.divided(request, types)
    given = EndpointForm.of(endpoint, names=[each.name for group in shown.values() for each in group])
    return await form_page(request, given, endpoint)


async def update(request: PageRequest) -> Answer:
    """Change the fields, unless somebody else has changed them since the form was made."""
    needs_write(request)
    given = EndpointForm.read(request.form)
    leave_to_try(request)
    headers = {"if-match": preconditions.tag(given.seen_version)}

    async def change(body: dict[str, Any]) -> None:
        await request.api.call("PATCH", "webhooks", "endpoints", request.params["id"], body=body, headers=headers)

    await sent(change, given.body(is_change=True), given.errors)
    return SeeOther(request.to.endpoint(request.params["id"]))


async def pause(request: PageRequest) -> Answer:
    """Send nothing for now."""
    return await _done(request, "pause")


async def resume(request: PageRequest) -> Answer:
    """Make the endpoint active again, and forget its failures."""
    return await _done(request, "resume")


async def ping(request: PageRequest) -> Answer:
    """Send a test, and look at its delivery."""
    delivery = await request.api.post(Delivery, "webhooks", "endpoints", request.params["id"], "ping")
    return SeeOther(request.to.delivery(delivery.id))


async def rotation(request: PageRequest) -> Answer:
    """The consequences of a new secret, and the choice of how long the old one signs too."""
    needs_write(request)
    return Html("endpoint_rotate", {"endpoint": await _endpoint(request), "overlaps": OVERLAPS})


async def rotate(request: PageRequest) -> Answer:
    """Give the endpoint a new secret, and lead to it: no later page can show it.

    If it has changed since the form was made, nothing is rotated: a second rotation would end the secret that the
    receiver has.
    """
    needs_write(request)
    overlap = request.form.get("overlap", "")
    if overlap not in {seconds for seconds, _ in OVERLAPS}:
        raise invalid_form({"overlap": "Choose for how long the old secret signs too."})
    made = await request.api.post(
        EndpointWithSecret,
        "webhooks",
        "endpoints",
        request.params["id"],
        "rotate-secret",
        body={"overlap": int(overlap)},
        headers={"if-match": preconditions.tag(_version(request.form.get("version", "")))},
    )
    return request.made(made.secret, "endpoints", made.id, "secret")


async def secret(request: PageRequest) -> Answer:
    """The secret that a form has made; without it, the way to the endpoint."""
    needs_write(request)
    found = request.secret()
    if found is None:
        return SeeOther(request.to.endpoint(request.params["id"]))
    return Html("endpoint_secret", {"endpoint": await _endpoint(request), "secret": found})


def _version(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 19 else None


async def ending(request: PageRequest) -> Answer:
    """The consequences of disabling or deleting the endpoint, with the buttons for both."""
    endpoint = await _endpoint(request)
    waiting = await request.api.post(
        BulkResult, "webhooks", "deliveries", "cancel", body={"endpointId": endpoint.id, "dryRun": True}
    )
    return Html("endpoint_end", {"endpoint": endpoint, "waiting": waiting})


async def disable(request: PageRequest) -> Answer:
    """Send nothing more, and cancel the pending deliveries."""
    reason = request.form.get("reason", "").strip()
    body = {"reason": reason} if reason else {}
    await request.api.call("POST", "webhooks", "endpoints", request.params["id"], "disable", body=body)
    return SeeOther(request.to.endpoint(request.params["id"]))


async def delete(request: PageRequest) -> Answer:
    """Delete the endpoint, and cancel its pending deliveries."""
    await request.api.call("DELETE", "webhooks", "endpoints", request.params["id"])
    return SeeOther(request.to.endpoints())


async def _done(request: PageRequest, verb: str) -> SeeOther:
    await request.api.call("POST", "webhooks", "endpoints", request.params["id"], verb)
    return SeeOther(request.to.endpoint(request.params["id"]))


async def _endpoint(request: PageRequest) -> Endpoint:
    return await request.api.get(Endpoint, "webhooks", "endpoints", request.params["id"])


def _health(endpoint: Endpoint, stats: EndpointStats) -> str:
    """A state of ``states.ENDPOINTS``."""
    if endpoint.status != "active":
        return endpoint.status
    if stats.breaker_until:
        return "broken"
    return "throttled" if stats.throttled_until else "failing" if stats.failure_streak else "healthy"


def _is_told(request: PageRequest) -> bool:
    """True if changes are told without the audit trail, to people of all tenants."""
    return not request.has_audit and request.brand is None and request.person.tenant is None


async def _changes(request: PageRequest, endpoint: Endpoint) -> Sequence[Entry]:
    """The latest changes of its settings, which the log of this database has."""
    if not request.is_log_here:
        return []
    query = {"limit": "3", "fields": _OF_CHANGES}
    if request.has_audit:
        return (await request.api.get(Page[Entry], "audit", "records", _TABLE, endpoint.id, query=query)).data
    if not _is_told(request):
        return []
    query |= {"resource": _TABLE, "record": endpoint.id}
    return (await request.api.get(Page[Entry], "account", "data-changes", query=query)).data

"""The page Endpoints, with the traffic of each, and the form for a new one."""

from collections.abc import Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final

from svc_pg.console.built_in.tenant_limits import limits_for
from svc_pg.console.built_in.webhook_endpoints import RegisteredEndpoint
from svc_pg.console.http.requests import Problem
from svc_pg.console.pages import asking, charts, views
from svc_pg.console.pages.answers import Answer, Html
from svc_pg.console.pages.charts import Spark
from svc_pg.console.pages.list_filters import chips, in_lists, used, words_of
from svc_pg.console.pages.page_request import PageRequest
from svc_pg.console.pages.problems import headers_of, needs_write
from svc_pg.console.pages.refused_forms import RefusedForm, invalid_form, sent, wrong_fields
from svc_pg.console.pages.webhooks import event_types
from svc_pg.console.pages.webhooks.activity import HOURS, activities, delivered_share
from svc_pg.console.pages.webhooks.endpoint_form import EndpointForm
from svc_pg.console.views.list_questions import keys_of
from svc_pg.database.pagination import Page
from svc_pg.webhooks.endpoints.endpoint_filters import EndpointFilter
from svc_pg.webhooks.endpoints.endpoint_health import EndpointHealth
from svc_pg.webhooks.endpoints.endpoint_rows import Endpoint
from svc_pg.webhooks.endpoints.tried_filters import TriedMessage
from svc_pg.webhooks.events.event_types import EventType
from svc_pg.webhooks.traffic.traffic_queries import EndpointActivity

_SIZE: Final = "25"
WORDS: Final = words_of(EndpointFilter)
KEYS: Final = keys_of("endpoints")
_TABS: Final = ("status", "needsAttention")
_TRIED: Final = "filter_tried"


@dataclass(frozen=True, slots=True)
class Row:
    """An endpoint with its health and, if something was sent in the last hours, how that went."""

    endpoint: Endpoint
    health: EndpointHealth | None
    spark: Spark | None
    sent: int
    delivered: float | None
    is_estimate: bool


async def endpoints_page(request: PageRequest) -> Answer:
    """Endpoints, newest first: those that the filters select; an invalid one stays in the form, with its problem."""
    wanted = used(request, WORDS)
    problem: Problem | None = None
    page: Page[Endpoint] = Page([], None)
    query = {**request.list_query(**wanted), "limit": _SIZE}
    try:
        if (leads_to := asking.answered(request, KEYS, in_lists(wanted))) is not None:
            return leads_to
        page = await request.api.get(Page[Endpoint], "webhooks", "endpoints", query=query)
    except Problem as refused:
        if refused.code not in asking.SAID:
            raise
        problem = refused
    filters = {name: value for name, value in wanted.items() if name not in _TABS}
    values = {
        "page": page,
        "rows": await endpoint_rows(request, page),
        "wanted": wanted,
        "filters": filters,
        "chips": chips(filters, WORDS, without=_TABS),
        "bar": asking.bar(request, KEYS, in_lists(wanted)),
        "views": await views.views_of(request, "endpoints", KEYS, in_lists(wanted)),
        "problem": problem,
        "hours": HOURS,
    }
    if problem is None:
        return Html("endpoints", values)
    return Html("endpoints", values, problem.status, headers_of(problem))


async def new(request: PageRequest) -> Answer:
    """The form for a new endpoint."""
    needs_write(request)
    given = EndpointForm.new(tenant=request.query.get("tenant", ""), event=request.query.get("event", ""))
    return await form_page(request, given)


async def add(request: PageRequest) -> Answer:
    """Register an endpoint, and lead to its secret: no later page can show it."""
    needs_write(request)
    given = EndpointForm.read(request.form)
    leave_to_try(request)

    async def create(body: dict[str, Any]) -> RegisteredEndpoint:
        return await request.api.post(RegisteredEndpoint, "webhooks", "endpoints", body=body)

    made = await sent(create, given.body(), given.errors)
    return request.made(made.secret, "endpoints", made.id, "secret")


def leave_to_try(request: PageRequest) -> None:
    """Lead back to the form, which then tries the filter, if that button was pressed. Nothing is saved."""
    if "try" in request.form:
        raise Problem(HTTPStatus.OK, _TRIED, "Nothing is saved yet.")


async def form_page(request: PageRequest, given: EndpointForm, endpoint: Endpoint | None = None) -> Html:
    """The form, with the typed values if it was refused: the reasons stand beside their fields."""
    types = await request.api.get(Page[EventType], "webhooks", "event-types")
    form = EndpointForm.read(request.form) if request.form else given
    errors = wrong_fields(request.refusal)
    tried: Sequence[TriedMessage] | None = None
    if request.refusal is not None and request.refusal.code == _TRIED and request.form:
        try:
            tried = await _tried(request, form, endpoint)
        except Problem as problem:
            errors = wrong_fields(problem) or {"filter": problem.detail or "It cannot be tried."}
    values = {
        "form": form,
        "endpoint": endpoint,
        "limits": limits_for(request.person, endpoint),
        "sent": RefusedForm(wrong=errors),
        "tried": tried,
        **event_types.divided(request, types),
    }
    return Html("endpoint_form", values)


async def _tried(request: PageRequest, form: EndpointForm, endpoint: Endpoint | None) -> Sequence[TriedMessage]:
    """The newest messages with the answer of the form's filter. Raises Problem."""
    if not form.filter:
        raise invalid_form({"filter": "Write the filter that is to be tried."})
    tenant = form.tenant if endpoint is None else endpoint.tenant
    query = {"filter": form.filter, "event": form.all_events, **({"tenant": tenant} if tenant else {})}
    return (await request.api.get(Page[TriedMessage], "webhooks", "filter-trial", query=query)).data


async def endpoint_rows(request: PageRequest, page: Page[Endpoint]) -> list[Row]:
    """The endpoints with their health and their traffic, by one call for each."""
    if not page.data:
        return []
    ids = {"ids": ",".join(each.id for each in page)}
    health = await request.api.get(
        Page[EndpointHealth], "webhooks", "endpoints", "health", query=ids | {"limit": str(len(page.data))}
    )
    activity = await activities(request, [each.id for each in page])
    healths = {each.endpoint_id: each for each in health}
    return [_row(each, healths.get(each.id), activity.get(each.id)) for each in page]


def _row(endpoint: Endpoint, health: EndpointHealth | None, activity: EndpointActivity | None) -> Row:
    hours = activity.hours if activity else []
    sent = sum(each.sent for each in hours)
    return Row(
        endpoint,
        health,
        charts.spark([each.sent for each in hours]) if sent else None,
        sent,
        delivered_share(hours),
        activity.is_estimate if activity else False,
    )

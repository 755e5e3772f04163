"""Completion in the bars of deliveries, messages and endpoints: the values that the API knows of a filter."""

from typing import Final

from svc_pg.console.built_in.webhook_values import MOST_STEPS, FilterValues, Named
from svc_pg.console.http.parameters import MOST_CHARACTERS
from svc_pg.console.pages.answers import Answer
from svc_pg.console.pages.offers import Found, offers
from svc_pg.console.pages.page_request import PageRequest
from svc_pg.console.pages.webhooks import deliveries, endpoints, event_types, messages
from svc_pg.questions.completion import Known

_NAMED: Final[dict[str, Named]] = {"endpointId": "endpoint", "event": "event", "tenant": "tenant", "payload": "payload"}
_REMARKS: Final[dict[Named, str]] = {
    "endpoint": "Looked for among the newest 10,000 endpoints alone.",
    "event": "",
    "payload": "",
    "tenant": f"Looked for among {MOST_STEPS:,} tenants, and those of the newest 10,000 endpoints.",
}


async def of_deliveries(request: PageRequest) -> Answer:
    """The texts that could finish a question to the deliveries."""
    return await offers(request, deliveries.KEYS, _known)


async def of_messages(request: PageRequest) -> Answer:
    """The texts that could finish a question to the messages."""
    return await offers(request, messages.KEYS, _known)


async def of_endpoints(request: PageRequest) -> Answer:
    """The texts that could finish a question to the endpoints."""
    return await offers(request, endpoints.KEYS, _known)


async def _known(request: PageRequest, filter_: str, typed: str) -> Found | None:
    name = _NAMED.get(filter_)
    if name is None or len(typed) > MOST_CHARACTERS or (name == "payload" and "=" in typed):
        return None
    found = await request.api.get(FilterValues, "webhooks", "values", query={"of": name, "text": typed})
    values = [
        Known(each.value, each.name, each.about if each.about != each.name else "", is_begun=name == "payload")
        for each in found.data
        if name != "event" or event_types.is_shown(request, each.value)
    ]
    return Found(values, "" if found.is_complete else _REMARKS[name])

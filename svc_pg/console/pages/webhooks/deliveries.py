"""The page Deliveries: the list in one state, and changing many, which first tells how many they are."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from starlette.datastructures import QueryParams

from svc_pg.console.built_in.webhook_bulk import StatusCount
from svc_pg.console.http.requests import Problem
from svc_pg.console.pages import asking, views
from svc_pg.console.pages.answers import Answer, Html, SeeOther
from svc_pg.console.pages.list_filters import chips, fields_of, in_lists, time_in_words, used, words_of
from svc_pg.console.pages.names import endpoint_name
from svc_pg.console.pages.page_request import DONE, PAGES, SHOWN_SECONDS, PageRequest
from svc_pg.console.pages.problems import headers_of, needs_write
from svc_pg.console.pages.states import DELIVERIES
from svc_pg.console.pages.webhooks.searched import note_of
from svc_pg.console.views.list_questions import keys_of
from svc_pg.database.pagination import Page
from svc_pg.webhooks.deliveries.delivery_filters import DeliveryFilter
from svc_pg.webhooks.deliveries.delivery_rows import BulkResult, Delivery
from svc_pg.webhooks.endpoints.endpoint_rows import Endpoint
from svc_pg.webhooks.messages.message_queries import Message

PERIODS: Final = (("", "Any time"), ("1h", "Last hour"), ("1d", "Last 24 hours"), ("7d", "Last 7 days"))

WORDS: Final = words_of(DeliveryFilter)
KEYS: Final = keys_of("deliveries")
_IN_FORM: Final = ("status", "event", "tenant", "since")
_SHOWN: Final = 5
_SELECTED: Final = "id"
"""The field of a selected delivery."""
_LIST: Final = "list."
OF_LIST: Final = [f"{_LIST}{name}" for name in (*WORDS, *PAGES)]
"""The question of the list in which deliveries were selected, and its page: names in the address of a change."""
_OF_RESULT: Final = ("finishedSince", "finishedUntil")
"""The filters, beside the state, that a delivery which is sent again no longer meets."""
_EMPTY: Final[Page[Delivery]] = Page([], None)

Change = Literal["retry", "cancel"]


@dataclass(frozen=True, slots=True)
class Row:
    """A delivery with its endpoint and its message for the list; None, and no ``summary``, if these are gone."""

    delivery: Delivery
    endpoint: Endpoint | None
    tenant: str | None
    summary: str


async def deliveries_page(request: PageRequest) -> Answer:
    """Deliveries, newest first, with the number of those in each state."""
    wanted = used(request, WORDS)
    filters = {name: value for name, value in wanted.items() if name != "status"}
    problem: Problem | None = None
    page, counts = _EMPTY, list[StatusCount]()
    try:
        if (leads_to := asking.answered(request, KEYS, in_lists(wanted))) is not None:
            return leads_to
        page = await request.api.get(Page[Delivery], "webhooks", "deliveries", query=request.list_query(**wanted))
        counts = await request.api.get(list[StatusCount], "webhooks", "deliveries", "counts", query=filters)
    except Problem as refused:
        if refused.code not in asking.SAID:
            raise
        problem = refused
    shown = await rows(request, page.data)
    values = {
        "page": page,
        "rows": shown,
        "counts": {each.status: each for each in counts},
        "status": wanted.get("status", ""),
        "asked": [(_LIST + name, value) for name, value in (wanted | used(request, PAGES)).items()],
        "filters": filters,
        "chips": chips(filters, WORDS, shown={} if problem else await _words(request, filters)),
        "done": _done(request),
        "sent": request.to.deliveries(**{name: filters[name] for name in filters if name not in _OF_RESULT}),
        "kept": chips(filters, WORDS, without=fields_of(request, _IN_FORM)),
        "bar": asking.bar(request, KEYS, in_lists(wanted)),
        "views": await views.views_of(request, "deliveries", KEYS, in_lists(wanted)),
        "periods": PERIODS,
        "problem": problem,
        "unsearched": await note_of(request, wanted),
    }
    if problem is None:
        return Html("deliveries", values)
    return Html("deliveries", values, problem.status, headers_of(problem))


async def confirm(request: PageRequest) -> Answer:
    """The number of deliveries that a change would reach, and the button that makes it."""
    needs_write(request)
    verb, chosen = _change(request.query.get("do")), _chosen(request.query)
    body = _body(chosen)
    counted = await _post(request, verb, body | {"dryRun": True}) if body else BulkResult(0, is_complete=True)
    values = {
        "change": verb,
        "counted": counted,
        "fields": [(name, value) for name, values in chosen.items() for value in values],
        "asked": [(_LIST + name, value) for name, value in _asked(request.query).items()],
        "filters": [(WORDS[name], word) for name, word in (await _words(request, _filters(chosen))).items()],
        "rows": await _first(request, _filters(chosen)),
        "back": _back(request, request.query),
    }
    return Html("deliveries_change", values)


async def change(request: PageRequest) -> Answer:
    """Change the deliveries, 10,000 at most; if there are more, ask again for the rest."""
    needs_write(request)
    verb, chosen = _change(request.form.get("do")), _chosen(request.form)
    changed = await _post(request, verb, _body(chosen))
    if changed.is_complete:
        told = request.sealer.sealed(
            [verb, changed.count], purpose=DONE, whose=request.person.session_id, seconds=SHOWN_SECONDS
        )
        return SeeOther(_back(request, request.form, **{DONE: told}))
    return SeeOther(request.url("deliveries", "change", query={"do": [verb], **chosen}))


async def rows(request: PageRequest, deliveries: Sequence[Delivery]) -> Sequence[Row]:
    """The deliveries with their endpoints and messages, by one call for each."""
    if not deliveries:
        return []
    found = await request.api.get(
        Page[Endpoint], "webhooks", "endpoints", query=_ids(each.endpoint_id for each in deliveries)
    )
    sent = await request.api.get(
        Page[Message], "webhooks", "messages", query=_ids(each.message_id for each in deliveries)
    )
    endpoints = {each.id: each for each in found}
    messages = {each.id: each for each in sent}
    return [_row(each, endpoints.get(each.endpoint_id), messages.get(each.message_id)) for each in deliveries]


def _row(delivery: Delivery, endpoint: Endpoint | None, message: Message | None) -> Row:
    if message is None:
        return Row(delivery, endpoint, None, "")
    return Row(delivery, endpoint, message.tenant, message.summary or message.key or "")


async def _first(request: PageRequest, filters: Mapping[str, str]) -> Sequence[Row]:
    """The latest of the deliveries that a change would reach, if their state says which these are."""
    if filters.get("status") not in ("failed", "canceled"):
        return []
    query = {**filters, "limit": str(_SHOWN)}
    return await rows(request, (await request.api.get(Page[Delivery], "webhooks", "deliveries", query=query)).data)


async def _words(request: PageRequest, filters: Mapping[str, str]) -> dict[str, str]:
    return {name: await _word(request, name, value) for name, value in filters.items()}


async def _word(request: PageRequest, name: str, value: str) -> str:
    """The value of a filter as people read it."""
    if name == "status" and value in DELIVERIES:
        return DELIVERIES[value][2].lower()
    if name in ("since", "until", "finishedSince", "finishedUntil"):
        return time_in_words(value)
    if name == "endpointId":
        found = await request.api.get(Page[Endpoint], "webhooks", "endpoints", query={"ids": value, "limit": "1"})
        return next((_name(endpoint) for endpoint in found), value)
    return value


def _name(endpoint: Endpoint) -> str:
    return endpoint_name(endpoint.description, endpoint.url)


def _ids(ids: Iterable[str]) -> Mapping[str, str]:
    unique = sorted(set(ids))
    return {"ids": ",".join(unique), "limit": str(len(unique))}


def _change(text: str | None) -> Change:
    match text:
        case "retry" | "cancel":
            return text
        case _:
            raise Problem(422, "invalid_parameter", "Choose to send deliveries again, or to cancel them.")


def _chosen(given: QueryParams) -> Mapping[str, Sequence[str]]:
    """The deliveries that were selected, as ``id``, or else the filters of all that are meant, as an address has them.

    The form that asks has the same fields, so a change reaches those that were counted.
    """
    if ids := given.getlist(_SELECTED):
        return {_SELECTED: ids}
    return {name: [given[name]] for name in WORDS if given.get(name)}


def _filters(chosen: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """The filters of all that are meant; selected deliveries have none."""
    return {name: values[0] for name, values in chosen.items() if name != _SELECTED}


def _asked(given: QueryParams) -> dict[str, str]:
    """The question of the list in which deliveries were selected, and its page, without those that are empty."""
    return {name.removeprefix(_LIST): given[name] for name in OF_LIST if given.get(name)}


def _back(request: PageRequest, given: QueryParams, **beside: str) -> str:
    """The address of the list from which somebody came."""
    return request.url("deliveries", query=(_asked(given) or _filters(_chosen(given))) | beside)


def _done(request: PageRequest) -> tuple[Change, int] | None:
    """The change that led here, and the number of deliveries that it reached; nobody can make that up."""
    told = request.sealer.opened(request.query.get(DONE, ""), purpose=DONE, whose=request.person.session_id)
    match told:
        case ["retry" | "cancel" as verb, int(count)]:
            return verb, count
    return None


def _body(chosen: Mapping[str, Sequence[str]]) -> dict[str, object]:
    if _SELECTED in chosen:
        return {"ids": chosen[_SELECTED]}
    filters = _filters(chosen)
    return filters | ({"ids": filters["ids"].split(",")} if "ids" in filters else {})


async def _post(request: PageRequest, change: Change, body: Mapping[str, object]) -> BulkResult:
    return await request.api.post(BulkResult, "webhooks", "deliveries", change, body=body)

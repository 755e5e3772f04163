"""The portal's own pages: the way in and out, the look, and the first page."""

from collections.abc import AsyncIterator
from typing import Final
from uuid import UUID

from svc_pg.console.http.requests import Problem
from svc_pg.console.pages import cookies
from svc_pg.console.pages.answers import Answer, File, Html, SeeOther
from svc_pg.console.pages.brand import Brand
from svc_pg.console.pages.page_request import PageRequest
from svc_pg.console.pages.refusals import SentBackError
from svc_pg.console.pages.webhooks import event_types
from svc_pg.console.pages.webhooks.activity import HOURS
from svc_pg.console.pages.webhooks.deliveries import rows
from svc_pg.console.pages.webhooks.endpoints import endpoint_rows
from svc_pg.console.sign_in.portal_opening import OpenedPortalSession
from svc_pg.database.pagination import Page
from svc_pg.webhooks.deliveries.delivery_rows import Delivery
from svc_pg.webhooks.endpoints.endpoint_rows import Endpoint
from svc_pg.webhooks.events.event_types import EventType

OUTAGE: Final = "outage"
"""The parameter of a link with the id of the endpoint whose outage it leads to, in place of the first page."""

_SHOWN: Final = "10"
_OVER: Final = ("link_over", "invalid_body")


async def form(request: PageRequest) -> Answer:
    """The button that opens the portal: opening the address is not enough, because programs open addresses."""
    values = {
        "token": ""
        if request.refusal is not None and request.refusal.code in _OVER
        else request.query.get("token", ""),
        "outage": request.query.get(OUTAGE, ""),
        # within a page of the application there is nobody who could have been sent the link by mail
        "is_framed": request.http.headers.get("sec-fetch-dest") == "iframe",
    }
    return Html("portal_enter", values)


async def enter(request: PageRequest) -> Answer:
    """Open the link, and lead on to the first page, or to the outage that it names."""
    try:
        opened = await request.api.post(
            OpenedPortalSession, "console", "portal", "open", body={"token": request.form.get("token", "")}
        )
    except Problem as problem:
        if problem.code not in _OVER:
            raise
        raise SentBackError(problem, request.url("enter")) from problem
    kept = request.cookies.write(cookies.PORTAL, opened.portal_token, seconds=opened.expires_in)
    endpoint_id = _endpoint_id(request.form.get(OUTAGE))
    return SeeOther(request.to.outage(endpoint_id) if endpoint_id else request.url("home"), (kept,))


def leading_to_outage(address: str, endpoint_id: str | None) -> str:
    """The address of a link to the portal that leads to the outage of this endpoint, if it is the id of one."""
    known = _endpoint_id(endpoint_id)
    return f"{address}&{OUTAGE}={known}" if known else address


def _endpoint_id(text: str | None) -> str:
    """An id as pages write it; empty if the text is none."""
    try:
        return str(UUID(text or ""))
    except ValueError:
        return ""


async def leave(request: PageRequest) -> Answer:
    """End the session, or let this browser forget it, if the console only reads."""
    if not request.is_read_only:
        await request.api.call("DELETE", "account", "session")
    return SeeOther(request.url("enter"), (request.cookies.remove(cookies.PORTAL),))


async def look(request: PageRequest) -> Answer:
    """The style sheet with the one colour that is the application's own."""
    accent = _brand(request).accent
    return _file(b"" if accent is None else f":root {{ --accent: {accent} }}\n".encode(), "text/css; charset=utf-8")


async def logo(request: PageRequest) -> Answer:
    """The logo of the application."""
    image = _brand(request).logo
    if image is None:
        raise Problem(404, "not_found", "There is no logo.")
    return _file(image.content, image.media_type)


async def home_page(request: PageRequest) -> Answer:
    """The endpoints, the latest deliveries, and the events that one can choose."""
    endpoints = await request.api.get(Page[Endpoint], "webhooks", "endpoints", query={"limit": _SHOWN})
    latest = await request.api.get(Page[Delivery], "webhooks", "deliveries", query={"limit": _SHOWN})
    types = await request.api.get(Page[EventType], "webhooks", "event-types")
    values = {
        "rows": await endpoint_rows(request, endpoints),
        "hours": HOURS,
        "has_more": endpoints.next_cursor is not None,
        "deliveries": await rows(request, latest.data),
        "types": event_types.divided(request, types)["types"],
    }
    return Html("portal_home", values)


def _brand(request: PageRequest) -> Brand:
    if request.brand is None:
        raise TypeError("this is a page of the portal")
    return request.brand


def _file(content: bytes, media_type: str) -> File:
    async def once() -> AsyncIterator[bytes]:
        yield content

    return File(once(), {"Content-Type": media_type, "Cache-Control": "private, max-age=300"})

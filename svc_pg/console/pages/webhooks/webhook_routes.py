"""The pages of webhooks with their paths below ``/ui``."""

from collections.abc import Sequence
from typing import Final

from svc_pg.console.pages import navigation
from svc_pg.console.pages.asking import ASKED, QUESTION
from svc_pg.console.pages.navigation import NavItem
from svc_pg.console.pages.page_request import PAGES
from svc_pg.console.pages.page_route import PageRoute
from svc_pg.console.pages.webhooks import (
    deliveries,
    delivery,
    endpoint,
    endpoints,
    event_types,
    messages,
    offers,
    outage,
)

WEBHOOKS: Final[Sequence[PageRoute]] = [
    PageRoute(
        "GET",
        "/deliveries",
        deliveries.deliveries_page,
        is_compressed=True,
        nav_item=NavItem(word="Deliveries", icon="send", group=navigation.WEBHOOKS, key="d", product="webhooks"),
        filters=[*deliveries.WORDS, *PAGES, *ASKED],
    ),
    PageRoute("GET", "/deliveries/offers", offers.of_deliveries, filters=[QUESTION]),
    PageRoute(
        "GET",
        "/deliveries/change",
        deliveries.confirm,
        filters=[*deliveries.WORDS, *deliveries.OF_LIST, "do"],
        lists=["id"],
        leads_to_change=True,
    ),
    PageRoute("POST", "/deliveries/change", deliveries.change, page="/deliveries"),
    PageRoute("GET", "/deliveries/:id", delivery.delivery_page),
    PageRoute("POST", "/deliveries/:id/retry", delivery.retry, page="/deliveries/:id"),
    PageRoute("POST", "/deliveries/:id/cancel", delivery.cancel, page="/deliveries/:id"),
    PageRoute(
        "GET",
        "/messages",
        messages.messages_page,
        is_compressed=True,
        nav_item=NavItem(word="Messages", icon="mail", group=navigation.WEBHOOKS, key="m", product="webhooks"),
        filters=[*messages.WORDS, *PAGES, *ASKED],
    ),
    PageRoute("GET", "/messages/offers", offers.of_messages, filters=[QUESTION]),
    PageRoute(
        "GET",
        "/endpoints",
        endpoints.endpoints_page,
        nav_item=NavItem(word="Endpoints", icon="plug", group=navigation.WEBHOOKS, key="e", product="webhooks"),
        filters=[*endpoints.WORDS, *PAGES, QUESTION],
    ),
    PageRoute("GET", "/endpoints/offers", offers.of_endpoints, filters=[QUESTION]),
    PageRoute("GET", "/endpoints/new", endpoints.new, filters=["tenant", "event"], leads_to_change=True),
    PageRoute("POST", "/endpoints", endpoints.add, page="/endpoints/new"),
    PageRoute("GET", "/endpoints/:id", endpoint.endpoint_page),
    PageRoute("GET", "/endpoints/:id/outage", outage.outage_page, filters=[outage.SINCE]),
    PageRoute("GET", "/endpoints/:id/edit", endpoint.edit, leads_to_change=True),
    PageRoute("POST", "/endpoints/:id/edit", endpoint.update, page="/endpoints/:id/edit"),
    PageRoute("POST", "/endpoints/:id/pause", endpoint.pause, page="/endpoints/:id"),
    PageRoute("POST", "/endpoints/:id/resume", endpoint.resume, page="/endpoints/:id"),
    PageRoute("POST", "/endpoints/:id/ping", endpoint.ping, page="/endpoints/:id"),
    PageRoute("GET", "/endpoints/:id/rotate", endpoint.rotation, leads_to_change=True),
    PageRoute("POST", "/endpoints/:id/rotate", endpoint.rotate, page="/endpoints/:id/rotate"),
    PageRoute("GET", "/endpoints/:id/secret", endpoint.secret),
    PageRoute("GET", "/endpoints/:id/end", endpoint.ending, leads_to_change=True),
    PageRoute("POST", "/endpoints/:id/disable", endpoint.disable, page="/endpoints/:id/end"),
    PageRoute("POST", "/endpoints/:id/delete", endpoint.delete, page="/endpoints/:id/end"),
    PageRoute(
        "GET",
        "/events",
        event_types.event_types_page,
        is_compressed=True,
        nav_item=NavItem(word="Event types", icon="tag", group=navigation.WEBHOOKS, key="v", product="webhooks"),
        filters=[],
    ),
    PageRoute("GET", "/events/:name", event_types.event_type_page, is_compressed=True),
]

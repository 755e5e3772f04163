"""States of pages that no link alone leads to, each with the way to it. Add one to ``STATES``, and it has a picture."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from svc_pg.settings import Permission
from tests.support import page_ways
from tests.support.gallery import KINDS
from tests.support.page_ways import Way

Visitor = Permission | Literal["customer", "nobody"]


@dataclass(frozen=True)
class PageState:
    """A state, its visitor, and the way to it from an empty tab."""

    name: str
    way: Way
    visitor: Visitor = "admin"
    is_printed: bool = False
    needs_script: bool = False


STATES: Final[Sequence[PageState]] = [
    PageState("audit-unfolded", page_ways.unfolded("audit")),
    PageState("audit-rows", page_ways.at("audit?view=rows")),
    PageState("audit-nothing", page_ways.at("audit?q=actor:nobody-at-all")),
    PageState("audit-refused", page_ways.at("audit?q=colour:red severity:worst")),
    PageState("audit-completion", page_ways.completion, needs_script=True),
    PageState("audit-views-phone", page_ways.views_on_a_phone),
    PageState("audit-keep", page_ways.unfolded("audit?q=severity:critical")),
    PageState("audit-menu-phone", page_ways.menu),
    PageState("audit-keys", page_ways.keys, needs_script=True),
    PageState("audit-search", page_ways.at("audit?q=tent")),
    PageState("audit-print", page_ways.unfolded("audit"), is_printed=True),
    PageState("palette-empty", page_ways.palette(""), needs_script=True),
    PageState("palette-words", page_ways.palette("north"), needs_script=True),
    PageState("palette-action", page_ways.palette("pause north"), needs_script=True),
    PageState("palette-number", page_ways.palette("900"), needs_script=True),
    PageState("search-nothing", page_ways.at("search?q=zzzz")),
    *(PageState(f"difference-{kind}", page_ways.of_change(kind)) for kind in KINDS),
    PageState("difference-json-print", page_ways.of_change("json"), is_printed=True),
    PageState("transaction", page_ways.transaction),
    PageState("transaction-print", page_ways.transaction, is_printed=True),
    PageState("record", page_ways.at("audit/records/public.orders/900")),
    PageState("record-print", page_ways.unfolded("audit/records/public.orders/900"), is_printed=True),
    PageState("record-related", page_ways.at("audit/records/public.customer/116/related")),
    PageState("record-tracks", page_ways.at("audit/records/public.product/6/tracks")),
    PageState("record-tracks-compared", page_ways.compared_tracks),
    PageState("record-as-of", page_ways.at("audit/records/public.product/6/as-of")),
    PageState("record-unknown", page_ways.at("audit/records/public.product/123456")),
    PageState("certificate", page_ways.certificate, needs_script=True),
    PageState("certificate-print", page_ways.certificate, is_printed=True, needs_script=True),
    PageState("erasure", page_ways.erasure, needs_script=True),
    PageState("erasure-print", page_ways.erasure, is_printed=True, needs_script=True),
    PageState("proof", page_ways.proof, needs_script=True),
    PageState("certificate-unchecked", page_ways.unchecked_certificate),
    PageState("coverage-unfolded", page_ways.unfolded("coverage")),
    PageState("views", page_ways.at("views")),
    PageState("view", page_ways.view),
    PageState("view-refused", page_ways.refused_view),
    PageState("deliveries-unfolded", page_ways.unfolded("deliveries")),
    PageState("deliveries-nothing", page_ways.at("deliveries?q=event:order.lost")),
    PageState("deliveries-refused", page_ways.at("deliveries?q=colour:red")),
    PageState("deliveries-selected", page_ways.selected),
    PageState("delivery-delivered", page_ways.delivery("delivered")),
    PageState("delivery-failed", page_ways.delivery("failed")),
    PageState("delivery-pending", page_ways.delivery("pending")),
    PageState("messages-unfolded", page_ways.unfolded("messages")),
    PageState("messages-nothing", page_ways.at("messages?q=event:order.lost")),
    PageState("messages-refused", page_ways.at("messages?q=colour:red")),
    PageState("endpoints-unfolded", page_ways.unfolded("endpoints")),
    PageState("endpoints-nothing", page_ways.at("endpoints?q=nobody")),
    PageState("endpoints-refused", page_ways.at("endpoints?q=colour:red")),
    PageState("endpoint-healthy", page_ways.of_endpoint("good")),
    PageState("endpoint-failing", page_ways.of_endpoint("failing")),
    PageState("endpoint-paused", page_ways.of_endpoint("paused")),
    PageState("outage", page_ways.of_endpoint("failing", "/outage")),
    PageState(
        "outage-unfolded",
        lambda page, shop: page_ways.unfolded(f"endpoints/{shop.endpoint('failing')}/outage")(page, shop),
    ),
    PageState("outage-refused", page_ways.of_endpoint("failing", "/outage?finishedSince=soon")),
    PageState("outage-healthy", page_ways.of_endpoint("good", "/outage")),
    PageState("outage-paused", page_ways.of_endpoint("paused", "/outage")),
    PageState(
        "endpoint-new-refused",
        page_ways.refused("endpoints/new", "Add endpoint", [*page_ways.ENDPOINT_FIELDS, "tenant"]),
    ),
    PageState("endpoint-new-unfolded", page_ways.unfolded("endpoints/new")),
    PageState("endpoint-new-tried", page_ways.tried_filter),
    PageState("endpoint-secret", page_ways.new_secret),
    PageState("token-new-refused", page_ways.refused("tokens/new", "Add token", ["name", "tenant"])),
    PageState("token-made", page_ways.new_token),
    PageState("tenant-new-refused", page_ways.refused("new-tenant", "Add tenant", ["name", "id"])),
    PageState("tenant-rename-refused", page_ways.rename),
    PageState("tenant-gone", page_ways.gone_tenant),
    PageState("tenants-nothing", page_ways.at("tenants?text=zzzz")),
    PageState("portal-link-made", page_ways.new_link),
    PageState("not-found", page_ways.at("nothing/here")),
    PageState("not-found-entry", page_ways.at("audit/entries/123456789")),
    PageState("forbidden", page_ways.at("tokens"), visitor="read"),
    PageState("reader-overview", page_ways.at("overview"), visitor="read"),
    PageState("sign-in", page_ways.at("sign-in"), visitor="nobody"),
    PageState("sign-in-over", page_ways.at("sign-in?over=page"), visitor="nobody"),
    PageState("sign-in-code", page_ways.code, visitor="nobody"),
    PageState("sign-in-code-wrong", page_ways.wrong_code, visitor="nobody"),
    PageState("sign-in-too-many", page_ways.too_many, visitor="nobody"),
    PageState("system-unfolded", page_ways.unfolded("system")),
    PageState("portal-enter", page_ways.portal_link, visitor="nobody"),
    PageState("portal-over", page_ways.portal(), visitor="nobody"),
    PageState("portal-home", page_ways.portal(), visitor="customer"),
    PageState("portal-endpoints", page_ways.portal("endpoints"), visitor="customer"),
    PageState("portal-endpoint", page_ways.portal_endpoint(), visitor="customer"),
    PageState("portal-outage", page_ways.portal_endpoint("/outage"), visitor="customer"),
    PageState("portal-new", page_ways.portal("endpoints/new"), visitor="customer"),
    PageState("portal-new-refused", page_ways.portal_refused, visitor="customer"),
    PageState("portal-edit", page_ways.portal_endpoint("/edit"), visitor="customer"),
    PageState("portal-end", page_ways.portal_endpoint("/end"), visitor="customer"),
    PageState("portal-deliveries", page_ways.portal("deliveries"), visitor="customer"),
    PageState("portal-messages", page_ways.portal("messages"), visitor="customer"),
    PageState("portal-events", page_ways.portal("events"), visitor="customer"),
    PageState("portal-event", page_ways.portal("events/order.placed"), visitor="customer"),
    PageState("portal-not-found", page_ways.portal("nothing"), visitor="customer"),
    PageState("outage-over", page_ways.mended),
    PageState("portal-outage-over", page_ways.portal_endpoint("/outage"), visitor="customer"),
    PageState("portal-home-well", page_ways.portal(), visitor="customer"),
    PageState("proof-fails", page_ways.failing_proof, needs_script=True),
    PageState("system-differs", page_ways.differing_system),
]

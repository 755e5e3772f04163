"""States of pages that no link alone leads to, each with the way to it. Add one to ``STATES``, and it has a picture."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from playwright.sync_api import Page, expect

from svc_pg.settings import Permission
from tests.support.gallery import KINDS, Gallery, forge
from tests.support.waiting import wait_until

Visitor = Permission | Literal["customer", "nobody"]
Way = Callable[[Page, Gallery], None]
GARBAGE: Final = 'no:key "\x01$['


@dataclass(frozen=True)
class PageState:
    """A state, its visitor, and the way to it from an empty tab."""

    name: str
    way: Way
    visitor: Visitor = "admin"
    is_printed: bool = False
    needs_script: bool = False


def at(path: str) -> Way:
    """Open a page by its path below the console's pages."""
    return lambda page, shop: _go(page, f"{shop.pages}/{path}")


def unfolded(path: str) -> Way:
    """Open a page and all that it folds."""

    def way(page: Page, shop: Gallery) -> None:
        _go(page, f"{shop.pages}/{path}")
        page.evaluate("document.querySelectorAll('main details').forEach((each) => { each.open = true })")

    return way


def of_change(kind: str) -> Way:
    """Open the entry with a difference of this kind."""
    return lambda page, shop: _go(page, f"{shop.pages}/audit/entries/{shop.changes[kind]}")


def of_endpoint(kind: str, then: str = "") -> Way:
    """Open a page of the endpoint whose receiver is of this kind."""
    return lambda page, shop: _go(page, f"{shop.pages}/endpoints/{shop.endpoint(kind)}{then}")


def refused(path: str, button: str, fields: Sequence[str] = (), form: str = "main form") -> Way:
    """Send the form of a page with garbage in its fields."""

    def way(page: Page, shop: Gallery) -> None:
        _go(page, path if path.startswith("http") else f"{shop.pages}/{path}")
        page.evaluate(_UNGUARDED)
        for field in fields:
            page.locator(f"{form} [name={field}]").first.fill(GARBAGE)
        page.get_by_role("button", name=button, exact=True).click()
        page.wait_for_url("**refused=**")

    return way


_UNGUARDED: Final = """() => document.querySelectorAll("form").forEach((form) => {
    form.noValidate = true
    for (const each of form.querySelectorAll("input, textarea")) each.removeAttribute("maxlength")
})"""


def _go(page: Page, address: str) -> None:
    page.goto(address)


def _palette(typed: str) -> Way:
    def way(page: Page, shop: Gallery) -> None:
        _go(page, f"{shop.pages}/audit")
        page.locator(".says a").first.click()
        page.locator(".find input").first.focus()
        page.keyboard.type(typed)
        page.keyboard.press("ArrowDown")
        expect(page.locator(".find .offer [role=option]").first).to_be_visible()

    return way


def _completion(page: Page, shop: Gallery) -> None:
    _go(page, f"{shop.pages}/audit")
    page.locator(".ask input[name=q]").fill("actor:m")
    page.keyboard.type("a")
    expect(page.locator(".ask .offer [role=option]").first).to_be_visible()


def _selected(page: Page, shop: Gallery) -> None:
    _go(page, f"{shop.pages}/deliveries?status=failed")
    for each in page.locator("tbody [type=checkbox]").all()[:3]:
        each.check()


def _menu(page: Page, shop: Gallery) -> None:
    page.set_viewport_size({"width": 360, "height": 900})
    _go(page, f"{shop.pages}/audit")
    page.get_by_role("button", name="Menu").click()


def _views_on_a_phone(page: Page, shop: Gallery) -> None:
    page.set_viewport_size({"width": 360, "height": 900})
    _go(page, f"{shop.pages}/audit")
    page.get_by_role("button", name="Views").click()


def _keys(page: Page, shop: Gallery) -> None:
    _go(page, f"{shop.pages}/audit")
    page.keyboard.press("?")
    expect(page.locator("#keys")).to_be_visible()


def _view(page: Page, shop: Gallery) -> None:
    [view, *_] = shop.call("GET", "/account/views?of=audit")["data"]
    _go(page, f"{shop.pages}/views/{view['id']}/edit")


def _refused_view(page: Page, shop: Gallery) -> None:
    [view, *_] = shop.call("GET", "/account/views?of=audit")["data"]
    refused(f"views/{view['id']}/edit", "Change", ["name", "question"])(page, shop)


def _transaction(page: Page, shop: Gallery) -> None:
    [entry] = shop.call("GET", "/audit/entries?resource=public.order_line&limit=1")["data"]
    _go(page, f"{shop.pages}/audit/transactions/{entry['xactId']}")


def _proof(page: Page, shop: Gallery) -> None:
    [entry] = shop.call("GET", "/audit/entries?resource=public.payment&record=4900&operation=INSERT&limit=1")["data"]
    _go(page, f"{shop.pages}/audit/entries/{entry['id']}/proof")
    expect(page.locator("[data-summary]")).to_contain_text("By this browser at")


def _failing_proof(page: Page, shop: Gallery) -> None:
    [entry] = shop.call("GET", "/audit/entries?resource=public.product&operation=UPDATE&severity=critical")["data"]
    forge(shop, entry["id"])
    _go(page, f"{shop.pages}/audit/entries/{entry['id']}/proof")
    expect(page.locator("[data-summary]")).to_contain_text("By this browser at")


def _erasure(page: Page, shop: Gallery) -> None:
    [entry] = shop.call("GET", "/audit/entries?label=audit log erased")["data"]
    _go(page, f"{shop.pages}/audit/entries/{entry['id']}/erasure")
    expect(page.locator("[data-summary]")).to_contain_text("By this browser at")


def _certificate(page: Page, shop: Gallery) -> None:
    _go(page, f"{shop.pages}/audit/records/public.orders/900/certificate")
    expect(page.locator("[data-summary]")).to_contain_text("By this browser at")


def _compared_tracks(page: Page, shop: Gallery) -> None:
    _go(page, f"{shop.pages}/audit/records/public.product/6/tracks")
    page.locator(".two-of select").first.select_option(index=1)
    page.get_by_role("button", name="Compare").click()


def _delivery(status: str) -> Way:
    def way(page: Page, shop: Gallery) -> None:
        [found] = shop.call("GET", f"/webhooks/deliveries?status={status}&limit=1")["data"]
        _go(page, f"{shop.pages}/deliveries/{found['id']}")

    return way


def _rename(page: Page, shop: Gallery) -> None:
    refused("tenants/acme", "Rename", ["name"], form="form[action$=rename]")(page, shop)


def _tried_filter(page: Page, shop: Gallery) -> None:
    _go(page, f"{shop.pages}/endpoints/new")
    page.get_by_label("URL").fill("https://erp.acme.example/in")
    page.get_by_label("order.paid").check()
    page.get_by_label("Filter", exact=True).fill("$.total > 100")
    page.get_by_role("button", name="Try the filter").click()
    expect(page.get_by_text("Nothing is saved yet.")).to_be_visible()


def _new_secret(page: Page, shop: Gallery) -> None:
    _go(page, f"{shop.pages}/endpoints/{shop.endpoint('good')}/rotate")
    page.get_by_role("button", name="Rotate secret").click()
    expect(page.get_by_label("Secret", exact=True)).to_be_visible()


def _new_token(page: Page, shop: Gallery) -> None:
    _go(page, f"{shop.pages}/tokens/new")
    page.get_by_label("Name").fill("nightly-export")
    page.get_by_role("button", name="Make token").click()


def _new_link(page: Page, shop: Gallery) -> None:
    _go(page, f"{shop.pages}/tenants/acme")
    page.get_by_role("button", name="Make link").click()


def _gone_tenant(page: Page, shop: Gallery) -> None:
    shop.call("POST", "/tenant/tenants", {"name": "Initech", "id": "initech"})
    _go(page, f"{shop.pages}/tenants/initech")
    page.get_by_label("Type the name to delete it").fill("Initech")
    page.get_by_role("button", name="Delete Initech").click()


def _code(page: Page, shop: Gallery) -> None:
    _go(page, f"{shop.mailing_url}{shop.pages.removeprefix(shop.base_url)}/sign-in")
    page.get_by_label("Work address").fill("mara@tidewater.example")
    page.get_by_role("button", name="Mail me a code").click()
    expect(page.get_by_label("Code")).to_be_visible()


def _wrong_code(page: Page, shop: Gallery) -> None:
    _code(page, shop)
    page.get_by_label("Code").fill("AAA-AAA")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_be_visible()


def _too_many(page: Page, shop: Gallery) -> None:
    for _ in range(20):
        _wrong_code(page, shop)
        if "too many" in page.content().lower():
            return


def portal(path: str = "home") -> Way:
    """Open a page of the portal."""
    return lambda page, shop: _go(page, f"{shop.pages}/portal/{path}")


def _portal_link(page: Page, shop: Gallery) -> None:
    _go(page, shop.link())


def portal_endpoint(then: str = "") -> Way:
    """Open a page of the customer's own endpoint, whose receiver fails."""
    return lambda page, shop: _go(page, f"{shop.pages}/portal/endpoints/{shop.endpoint('failing')}{then}")


def _portal_refused(page: Page, shop: Gallery) -> None:
    refused(f"{shop.pages}/portal/endpoints/new", "Add endpoint", _ENDPOINT_FIELDS)(page, shop)


def _mended(page: Page, shop: Gallery) -> None:
    shop.receiver.is_mended = True
    endpoint = shop.endpoint("failing")
    shop.call("POST", f"/webhooks/endpoints/{endpoint}/resume")
    wait_until(lambda: _is_well(shop, endpoint), "the receiver has taken what waited")
    of_endpoint("failing", "/outage")(page, shop)


def _is_well(shop: Gallery, endpoint: str) -> bool:
    found = shop.call("GET", f"/webhooks/endpoints/{endpoint}/outage")
    return found["until"] is not None and found["waiting"] == 0


_ENDPOINT_FIELDS: Final = ("url", "description", "filter", "max_in_flight", "rate_per_second", "timeout", "headers")

STATES: Final[Sequence[PageState]] = [
    PageState("audit-unfolded", unfolded("audit")),
    PageState("audit-rows", at("audit?view=rows")),
    PageState("audit-nothing", at("audit?q=actor:nobody-at-all")),
    PageState("audit-refused", at("audit?q=colour:red severity:worst")),
    PageState("audit-completion", _completion, needs_script=True),
    PageState("audit-views-phone", _views_on_a_phone),
    PageState("audit-keep", unfolded("audit?q=severity:critical")),
    PageState("audit-menu-phone", _menu),
    PageState("audit-keys", _keys, needs_script=True),
    PageState("audit-search", at("audit?q=tent")),
    PageState("audit-print", unfolded("audit"), is_printed=True),
    PageState("palette-empty", _palette(""), needs_script=True),
    PageState("palette-words", _palette("north"), needs_script=True),
    PageState("palette-action", _palette("pause north"), needs_script=True),
    PageState("palette-number", _palette("900"), needs_script=True),
    PageState("search-nothing", at("search?q=zzzz")),
    *(PageState(f"difference-{kind}", of_change(kind)) for kind in KINDS),
    PageState("difference-json-print", of_change("json"), is_printed=True),
    PageState("transaction", _transaction),
    PageState("transaction-print", _transaction, is_printed=True),
    PageState("record", at("audit/records/public.orders/900")),
    PageState("record-print", unfolded("audit/records/public.orders/900"), is_printed=True),
    PageState("record-related", at("audit/records/public.customer/116/related")),
    PageState("record-tracks", at("audit/records/public.product/6/tracks")),
    PageState("record-tracks-compared", _compared_tracks),
    PageState("record-as-of", at("audit/records/public.product/6/as-of")),
    PageState("record-unknown", at("audit/records/public.product/123456")),
    PageState("certificate", _certificate, needs_script=True),
    PageState("certificate-print", _certificate, is_printed=True, needs_script=True),
    PageState("erasure", _erasure, needs_script=True),
    PageState("erasure-print", _erasure, is_printed=True, needs_script=True),
    PageState("proof", _proof, needs_script=True),
    PageState("certificate-unchecked", at("audit/records/public.orders/900/certificate")),
    PageState("coverage-unfolded", unfolded("coverage")),
    PageState("views", at("views")),
    PageState("view", _view),
    PageState("view-refused", _refused_view),
    PageState("deliveries-unfolded", unfolded("deliveries")),
    PageState("deliveries-nothing", at("deliveries?q=event:order.lost")),
    PageState("deliveries-refused", at("deliveries?q=colour:red")),
    PageState("deliveries-selected", _selected),
    PageState("delivery-delivered", _delivery("delivered")),
    PageState("delivery-failed", _delivery("failed")),
    PageState("delivery-pending", _delivery("pending")),
    PageState("messages-unfolded", unfolded("messages")),
    PageState("messages-nothing", at("messages?q=event:order.lost")),
    PageState("messages-refused", at("messages?q=colour:red")),
    PageState("endpoints-unfolded", unfolded("endpoints")),
    PageState("endpoints-nothing", at("endpoints?q=nobody")),
    PageState("endpoints-refused", at("endpoints?q=colour:red")),
    PageState("endpoint-healthy", of_endpoint("good")),
    PageState("endpoint-failing", of_endpoint("failing")),
    PageState("endpoint-paused", of_endpoint("paused")),
    PageState("outage", of_endpoint("failing", "/outage")),
    PageState(
        "outage-unfolded", lambda page, shop: unfolded(f"endpoints/{shop.endpoint('failing')}/outage")(page, shop)
    ),
    PageState("outage-refused", of_endpoint("failing", "/outage?finishedSince=soon")),
    PageState("outage-healthy", of_endpoint("good", "/outage")),
    PageState("outage-paused", of_endpoint("paused", "/outage")),
    PageState("endpoint-new-refused", refused("endpoints/new", "Add endpoint", [*_ENDPOINT_FIELDS, "tenant"])),
    PageState("endpoint-new-unfolded", unfolded("endpoints/new")),
    PageState("endpoint-new-tried", _tried_filter),
    PageState("endpoint-secret", _new_secret),
    PageState("token-new-refused", refused("tokens/new", "Make token", ["name", "tenant"])),
    PageState("token-made", _new_token),
    PageState("tenant-new-refused", refused("new-tenant", "Add tenant", ["name", "id"])),
    PageState("tenant-rename-refused", _rename),
    PageState("tenant-gone", _gone_tenant),
    PageState("tenants-nothing", at("tenants?text=zzzz")),
    PageState("portal-link-made", _new_link),
    PageState("not-found", at("nothing/here")),
    PageState("not-found-entry", at("audit/entries/123456789")),
    PageState("forbidden", at("tokens"), visitor="read"),
    PageState("reader-overview", at("overview"), visitor="read"),
    PageState("sign-in", at("sign-in"), visitor="nobody"),
    PageState("sign-in-over", at("sign-in?over=page"), visitor="nobody"),
    PageState("sign-in-code", _code, visitor="nobody"),
    PageState("sign-in-code-wrong", _wrong_code, visitor="nobody"),
    PageState("sign-in-too-many", _too_many, visitor="nobody"),
    PageState("system-unfolded", unfolded("system")),
    PageState("portal-enter", _portal_link, visitor="nobody"),
    PageState("portal-over", portal(), visitor="nobody"),
    PageState("portal-home", portal(), visitor="customer"),
    PageState("portal-endpoints", portal("endpoints"), visitor="customer"),
    PageState("portal-endpoint", portal_endpoint(), visitor="customer"),
    PageState("portal-outage", portal_endpoint("/outage"), visitor="customer"),
    PageState("portal-new", portal("endpoints/new"), visitor="customer"),
    PageState("portal-new-refused", _portal_refused, visitor="customer"),
    PageState("portal-edit", portal_endpoint("/edit"), visitor="customer"),
    PageState("portal-end", portal_endpoint("/end"), visitor="customer"),
    PageState("portal-deliveries", portal("deliveries"), visitor="customer"),
    PageState("portal-messages", portal("messages"), visitor="customer"),
    PageState("portal-events", portal("events"), visitor="customer"),
    PageState("portal-event", portal("events/order.placed"), visitor="customer"),
    PageState("portal-not-found", portal("nothing"), visitor="customer"),
    PageState("outage-over", _mended),
    PageState("portal-outage-over", portal_endpoint("/outage"), visitor="customer"),
    PageState("portal-home-well", portal(), visitor="customer"),
    PageState("proof-fails", _failing_proof, needs_script=True),
    PageState("system-differs", at("system")),
]

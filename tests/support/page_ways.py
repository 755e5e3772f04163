"""The ways to states of pages in a browser."""

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Final

from playwright.sync_api import Page, expect

from tests.support.gallery import Gallery, forge
from tests.support.waiting import wait_until

Way = Callable[[Page, Gallery], None]
GARBAGE: Final = 'no:key "\x01$['


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


def palette(typed: str) -> Way:
    """Type into the palette; nothing, and it has what was seen before the present page."""

    def way(page: Page, shop: Gallery) -> None:
        for seen in ("endpoints/" + shop.endpoint("failing"), "audit/records/public.orders/900", "audit"):
            _go(page, f"{shop.pages}/{seen}")
        page.locator(".find input").first.focus()
        page.keyboard.type(typed)
        page.keyboard.press("ArrowDown")
        expect(page.locator(".find .offer [role=option]").first).to_be_visible()

    return way


def completion(page: Page, shop: Gallery) -> None:
    _go(page, f"{shop.pages}/audit")
    page.locator(".ask input[name=q]").fill("actor:m")
    page.keyboard.type("a")
    expect(page.locator(".ask .offer [role=option]").first).to_be_visible()


def selected(page: Page, shop: Gallery) -> None:
    _go(page, f"{shop.pages}/deliveries?status=failed")
    for each in page.locator("tbody [type=checkbox]").all()[:3]:
        each.check()


def menu(page: Page, shop: Gallery) -> None:
    page.set_viewport_size({"width": 360, "height": 900})
    _go(page, f"{shop.pages}/audit")
    page.get_by_role("button", name="Menu").click()


def views_on_a_phone(page: Page, shop: Gallery) -> None:
    page.set_viewport_size({"width": 360, "height": 900})
    _go(page, f"{shop.pages}/audit")
    page.get_by_role("button", name="Views").click()


def keys(page: Page, shop: Gallery) -> None:
    _go(page, f"{shop.pages}/audit")
    page.keyboard.press("?")
    expect(page.locator("#keys")).to_be_visible()


def view(page: Page, shop: Gallery) -> None:
    [view, *_] = shop.call("GET", "/account/views?of=audit")["data"]
    _go(page, f"{shop.pages}/views/{view['id']}/edit")


def refused_view(page: Page, shop: Gallery) -> None:
    [view, *_] = shop.call("GET", "/account/views?of=audit")["data"]
    refused(f"views/{view['id']}/edit", "Change", ["name", "question"])(page, shop)


def transaction(page: Page, shop: Gallery) -> None:
    [entry] = shop.call("GET", "/audit/entries?resource=public.order_line&limit=1")["data"]
    _go(page, f"{shop.pages}/audit/transactions/{entry['xactId']}")


def proof(page: Page, shop: Gallery) -> None:
    [entry] = shop.call("GET", "/audit/entries?resource=public.payment&record=4900&operation=INSERT&limit=1")["data"]
    _go(page, f"{shop.pages}/audit/entries/{entry['id']}/proof")
    expect(page.locator("[data-summary]")).to_contain_text("By this browser at")


def failing_proof(page: Page, shop: Gallery) -> None:
    [entry] = shop.call("GET", "/audit/entries?resource=public.product&operation=UPDATE&severity=critical")["data"]
    forge(shop, entry["id"])
    _go(page, f"{shop.pages}/audit/entries/{entry['id']}/proof")
    expect(page.locator("[data-summary]")).to_contain_text("By this browser at")


def differing_system(page: Page, shop: Gallery) -> None:
    """Open the page once the comparison, which is made once a minute, has seen what the forger switched off."""
    forge(shop, "0")
    wait_until(
        lambda: shop.call("GET", "/account/system")["drift"]["count"], "the drift is seen", limit=timedelta(minutes=2)
    )
    at("system")(page, shop)


def erasure(page: Page, shop: Gallery) -> None:
    [entry] = shop.call("GET", "/audit/entries?label=audit log erased")["data"]
    _go(page, f"{shop.pages}/audit/entries/{entry['id']}/erasure")
    expect(page.locator("[data-summary]")).to_contain_text("By this browser at")


def certificate(page: Page, shop: Gallery) -> None:
    _go(page, f"{shop.pages}/audit/records/public.orders/900/certificate")
    expect(page.locator("[data-summary]")).to_contain_text("By this browser at")


def unchecked_certificate(page: Page, shop: Gallery) -> None:
    page.route("**/proof.js*", lambda route: route.abort())
    at("audit/records/public.orders/900/certificate")(page, shop)


def compared_tracks(page: Page, shop: Gallery) -> None:
    _go(page, f"{shop.pages}/audit/records/public.product/6/tracks")
    page.locator(".two-of select").first.select_option(index=1)
    page.get_by_role("button", name="Compare").click()


def delivery(status: str) -> Way:
    def way(page: Page, shop: Gallery) -> None:
        [found] = shop.call("GET", f"/webhooks/deliveries?status={status}&limit=1")["data"]
        _go(page, f"{shop.pages}/deliveries/{found['id']}")

    return way


def rename(page: Page, shop: Gallery) -> None:
    refused("tenants/acme", "Rename", ["name"], form="form[action$=rename]")(page, shop)


def tried_filter(page: Page, shop: Gallery) -> None:
    _go(page, f"{shop.pages}/endpoints/new")
    page.get_by_label("URL").fill("https://erp.acme.example/in")
    page.get_by_label("order.paid").check()
    page.get_by_label("Filter", exact=True).fill("$.total > 100")
    page.get_by_role("button", name="Try the filter").click()
    expect(page.get_by_text("Nothing is saved yet.")).to_be_visible()


def new_secret(page: Page, shop: Gallery) -> None:
    _go(page, f"{shop.pages}/endpoints/{shop.endpoint('good')}/rotate")
    page.get_by_role("button", name="Rotate secret").click()
    expect(page.get_by_label("Secret", exact=True)).to_be_visible()


def new_token(page: Page, shop: Gallery) -> None:
    _go(page, f"{shop.pages}/tokens/new")
    page.get_by_label("Name").fill("nightly-export")
    page.get_by_role("button", name="Add token").click()


def new_link(page: Page, shop: Gallery) -> None:
    _go(page, f"{shop.pages}/tenants/acme")
    page.get_by_role("button", name="Make link").click()


def gone_tenant(page: Page, shop: Gallery) -> None:
    shop.call("POST", "/tenant/tenants", {"name": "Initech", "id": "initech"})
    _go(page, f"{shop.pages}/tenants/initech")
    page.get_by_label("Type the name to delete it").fill("Initech")
    page.get_by_role("button", name="Delete Initech").click()


def code(page: Page, shop: Gallery) -> None:
    _go(page, f"{shop.mailing_url}{shop.pages.removeprefix(shop.base_url)}/sign-in")
    page.get_by_label("Work address").fill("mara@tidewater.example")
    page.get_by_role("button", name="Mail me a code").click()
    expect(page.get_by_label("Code")).to_be_visible()


def wrong_code(page: Page, shop: Gallery) -> None:
    code(page, shop)
    page.get_by_label("Code").fill("AAA-AAA")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_be_visible()


def too_many(page: Page, shop: Gallery) -> None:
    for _ in range(20):
        wrong_code(page, shop)
        if "too many" in page.content().lower():
            return


def portal(path: str = "home") -> Way:
    """Open a page of the portal."""
    return lambda page, shop: _go(page, f"{shop.pages}/portal/{path}")


def portal_link(page: Page, shop: Gallery) -> None:
    _go(page, shop.link())


def portal_endpoint(then: str = "") -> Way:
    """Open a page of the customer's own endpoint, whose receiver fails."""
    return lambda page, shop: _go(page, f"{shop.pages}/portal/endpoints/{shop.endpoint('failing')}{then}")


def portal_refused(page: Page, shop: Gallery) -> None:
    refused(f"{shop.pages}/portal/endpoints/new", "Add endpoint", ENDPOINT_FIELDS)(page, shop)


def mended(page: Page, shop: Gallery) -> None:
    shop.receiver.is_mended = True
    endpoint = shop.endpoint("failing")
    shop.call("POST", f"/webhooks/endpoints/{endpoint}/resume")
    wait_until(lambda: _is_well(shop, endpoint), "the receiver has taken what waited")
    of_endpoint("failing", "/outage")(page, shop)


def _is_well(shop: Gallery, endpoint: str) -> bool:
    found = shop.call("GET", f"/webhooks/endpoints/{endpoint}/outage")
    return found["until"] is not None and found["waiting"] == 0


ENDPOINT_FIELDS: Final = ("url", "description", "filter", "max_in_flight", "rate_per_second", "timeout", "headers")

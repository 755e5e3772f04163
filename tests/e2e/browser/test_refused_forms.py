"""Every form, with garbage in all of its fields: each reason stands beside its field, and what was typed is kept."""

from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from urllib.parse import urljoin

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from svc_pg.console.pages.portal_routes import PORTAL
from tests.e2e.browser.hostile_shop import Shop
from tests.e2e.browser.person import Person, person
from tests.e2e.browser.test_every_page import new_walk, signed_in
from tests.e2e.browser.test_portal import BASE, enter
from tests.support.walking import Walk

pytestmark = pytest.mark.timeout(600)
GARBAGE = 'no:key "\x01$['
TYPED = {"text", "search", "email", "url", "number"}
TAKE_ANYTHING = {"/endpoints/:id/disable"}
"""The forms whose fields may have any text, and are not refused."""
SECRETS = {"headers", "ca_bundle", "client_certificate", "client_key"}
_CONTROLS = "input:not([type=hidden], [type=checkbox]), textarea, select"
_UNGUARD = """(form) => {
    form.noValidate = true
    for (const each of form.querySelectorAll("input, textarea")) each.removeAttribute("maxlength")
    for (const each of form.querySelectorAll("details")) each.open = true
    for (let each = form; each; each = each.parentElement) if (each.tagName === "DETAILS") each.open = true
}"""
_CHOOSE = "(select, value) => select.add(new Option(value, value, true, true))"


class _Forms(HTMLParser):
    """The addresses of the forms of a page that change something and have fields to type or choose."""

    def __init__(self, html: str, address: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self._address, self._action = address, ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "form":
            self._action = urljoin(self._address, given.get("action", "")) if given.get("method") == "post" else ""
        elif self._action and (
            tag in ("textarea", "select") or (tag == "input" and given.get("type", "text") in TYPED)
        ):
            self.found.append(self._action)
            self._action = ""

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self._action = ""


def forms_of(walk: Walk, look: Callable[[str], str]) -> Iterator[tuple[str, str, str]]:
    """One form of each path: the path, its page and its address."""
    html: dict[str, str] = {}

    def seen(address: str) -> str:
        html[address] = look(address)
        return html[address]

    known: set[str] = set()
    for address, _ in walk.pages(seen):
        for action in _Forms(html.pop(address), address).found:
            path = walk.pattern("POST", action)
            if path is not None and path not in known:
                known.add(path)
                yield path, address, action


def test_each_field_with_garbage_has_its_reason_beside_it_and_keeps_it(browser: Browser, shop: Shop) -> None:
    with signed_in(shop, "admin") as client, person(browser, shop, "admin") as somebody:
        somebody.open()
        walk = new_walk(somebody.page.url, shop, each=1)
        also = [f"{shop.pages}/endpoints/{shop.endpoints['acme']}/{each}" for each in ("edit", "rotate", "end")]
        walk.also = [*walk.also, *also, f"{shop.pages}/audit?q=actor:somebody"]
        forms = list(forms_of(walk, lambda address: client.get(address, follow_redirects=True).text))
        tried = {path: is_refused(somebody, page, action) for path, page, action in forms}
    assert {
        "/endpoints",
        "/endpoints/:id/edit",
        "/tenants",
        "/tenants/:id/rename",
        "/tenants/:id/delete",
    } <= tried.keys()
    assert {"/tokens", "/portal-links", "/views", "/views/:id/edit", "/endpoints/:id/rotate"} <= tried.keys()
    assert {path for path, refused in tried.items() if not refused} == TAKE_ANYTHING


def test_the_same_holds_for_a_customer(browser: Browser, shop: Shop) -> None:
    with person(browser, shop) as customer:
        enter(shop, customer, "globex")
        walk = Walk(start=customer.page.url, routes=PORTAL, base_path=BASE, each=1)
        forms = list(forms_of(walk, lambda address: customer.context.request.get(address).text()))
        tried = {path: is_refused(customer, page, action) for path, page, action in forms}
    assert {"/endpoints", "/endpoints/:id/edit", "/endpoints/:id/rotate"} <= tried.keys()
    assert {path for path, refused in tried.items() if not refused} <= TAKE_ANYTHING


def is_refused(somebody: Person, page: str, action: str) -> bool:
    """True if garbage in all fields of a form is refused; then all that a refused form must show was looked at."""
    somebody.watch.expected_statuses |= {404, 409, 422}
    somebody.look(page)
    sent = form(somebody.page, action)
    sent.evaluate(_UNGUARD)
    for control in sent.locator(_CONTROLS).all():
        if control.evaluate("each => each.tagName") == "SELECT":
            control.evaluate(_CHOOSE, GARBAGE)
        else:
            control.fill(GARBAGE)
    sent.get_by_role("button").first.click()
    somebody.page.wait_for_load_state()
    if "refused=" not in somebody.page.url:
        return False
    told = somebody.page.locator("main [role=alert]").first
    expect(told).to_be_visible()
    back = form(somebody.page, action)
    wrong = back.locator("[aria-invalid=true]")
    names = {control.get_attribute("name") or "" for control in wrong.all()}
    assert names, f"{action}: {told.inner_text()}"
    for control in wrong.all():
        assert_explained(somebody.page, control)
    expect(wrong.first).to_be_focused()
    for control in back.locator(_CONTROLS).all():
        name = control.get_attribute("name") or ""
        if name in SECRETS:
            assert control.input_value() == ""
        elif control.evaluate("each => each.tagName") != "SELECT":
            assert control.input_value() == GARBAGE, f"{action}: {name}"
        else:
            assert name in names, f"{action}: {name} has none of its choices"
    return True


def form(page: Page, action: str) -> Locator:
    """The form of the page with this address."""
    path = "/" + action.split("/", 3)[3]
    return page.locator(f'main form[method=post][action="{path}"]').filter(has=page.locator(_CONTROLS)).last


def assert_explained(page: Page, control: Locator) -> None:
    """Assert that what describes a field that is wrong is below it, near enough to be read with it."""
    ids = (control.get_attribute("aria-describedby") or "").split()
    reason = page.locator(f"#{ids[-1]}")
    expect(reason).to_be_visible()
    assert len(reason.inner_text()) > 5
    field, text = control.bounding_box(), reason.bounding_box()
    assert field is not None
    assert text is not None
    assert 0 <= text["y"] - field["y"] < 160, f"{ids[-1]} is not beside its field"

"""A row of a list is near for the keyboard, and what a finger touches is large enough."""

import pytest
from playwright.sync_api import Browser, Page

from svc_pg.console.pages.routes import ROUTES
from tests.e2e.browser.hostile_shop import Shop
from tests.e2e.browser.person import person

PAGES = sorted(route.path.strip("/") for route in ROUTES if route.nav_item is not None)
LISTS = [path for path in PAGES if path != "overview"]  # which has cards before its tables
STATES = [
    "deliveries?status=failed",
    "deliveries?status=pending",
    "endpoints?needsAttention=true",
    "coverage?state=audited",
]
ASKED = ["audit?view=rows", "audit?actor=mara@shop.example", "deliveries?event=order.placed"]
MOST_STOPS = 25
MOST_STOPS_ASKED = 28
"""With a filter and a kept view, each of which brings controls of its own."""
LEAST = 24
"""Pixels of CSS, each way (WCAG 2.2, 2.5.8)."""

_AT_A_ROW = """() => document.activeElement.closest("tbody, .txs") !== null"""
_ROWS = """() => document.querySelector("main :is(tbody, .txs) :is(a, button, input, summary)") !== null"""
_SMALL = """(least) => {
    const isAlone = ({parentElement}) =>
        [...parentElement.childNodes].every((each) => each.nodeType !== Node.TEXT_NODE || !each.textContent.trim())
    return [...document.querySelectorAll("a[href], button, input, select, textarea, summary")]
    .filter((each) => each.checkVisibility({visibilityProperty: true, contentVisibilityAuto: true}))
    .filter((each) => each.type !== "hidden")
    .filter((each) => !each.closest(".skip, svg, .note div"))
    .filter((each) => !each.closest("p:not(.says, .crumb), dd") || isAlone(each))  // not in a sentence
    .map((each) => [each, each.closest("label")?.getBoundingClientRect() ?? each.getBoundingClientRect()])
    .filter(([, box]) => box.width > 1 && (box.width < least - 0.5 || box.height < least - 0.5))
    .map(([each, box]) => `${each.tagName} ${box.width} x ${box.height} ${each.textContent.trim().slice(0, 30)}`)
}"""


def stops(page: Page) -> int:
    """The presses of Tab from the top of the page to the first control of a row."""
    for number in range(1, 100):
        page.keyboard.press("Tab")
        if page.evaluate(_AT_A_ROW):
            return number
    raise AssertionError("no key leads to a row")


@pytest.mark.parametrize("permission", ["admin", "read"])
def test_the_first_row_of_every_list_is_at_most_25_stops_away(browser: Browser, shop: Shop, permission: str) -> None:
    with person(browser, shop, permission) as somebody:  # type: ignore[arg-type]
        found = {}
        for path in [*LISTS, *STATES, *ASKED]:
            if somebody.ask(path).status != 200:  # not for readers
                continue
            somebody.open(path)
            if somebody.page.evaluate(_ROWS):
                found[path] = stops(somebody.page)
        assert found.keys() >= {"audit", "deliveries", "messages", "endpoints", "coverage", "tail"}, found
        most = {path: MOST_STOPS_ASKED if path in ASKED else MOST_STOPS for path in found}
        assert {path: number for path, number in found.items() if number > most[path]} == {}, found
        somebody.watch.take()


def test_with_the_skip_link_a_row_is_fewer_keys_away_than_the_page_has_before_its_content(
    browser: Browser, shop: Shop
) -> None:
    with person(browser, shop, "admin") as somebody:
        somebody.open("audit")
        whole = stops(somebody.page)
        somebody.open("audit")
        somebody.page.keyboard.press("Tab")
        somebody.page.keyboard.press("Enter")
        assert stops(somebody.page) + 2 <= whole - 10


def test_what_a_finger_touches_on_a_phone_is_24_pixels_each_way(browser: Browser, shop: Shop) -> None:
    with person(browser, shop, "admin") as somebody:
        somebody.page.set_viewport_size({"width": 360, "height": 800})
        small = {}
        record = "audit/records/public.customer/1"
        others = (record, f"audit/entries/{shop.update}", "search?q=customer", "views", "activity/changes")
        for path in [*PAGES, *STATES, *ASKED, *others]:
            somebody.open(path)
            if found := somebody.page.evaluate(_SMALL, LEAST):
                small[path] = found[:6]
        assert small == {}


def test_filters_that_are_rarely_used_are_folded(browser: Browser, shop: Shop) -> None:
    with person(browser, shop, "admin") as somebody:
        somebody.page.set_viewport_size({"width": 360, "height": 800})
        for path in ("audit", "deliveries", "messages", "endpoints", "coverage", "activity"):
            somebody.open(path)
            assert somebody.page.locator("main form.filter").first.is_hidden(), path
            somebody.page.locator("main details.fields > summary").click()
            assert somebody.page.locator("main form.filter").first.is_visible(), path


def test_the_tab_of_a_page_is_in_sight_on_a_phone(browser: Browser, shop: Shop) -> None:
    with person(browser, shop, "admin") as somebody:
        somebody.page.set_viewport_size({"width": 360, "height": 800})
        for path in ("related", "as-of"):
            somebody.open(f"audit/records/public.customer/1/{path}")
            tab = somebody.page.locator(".tabs [aria-current]")
            assert tab.evaluate("(tab) => tab.getBoundingClientRect().right <= innerWidth"), path

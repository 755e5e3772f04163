"""Everything can be done with the keyboard alone."""

import re
from datetime import datetime, timedelta
from itertools import chain, repeat

import psycopg
from playwright.sync_api import Browser, Page, Route, expect

from tests.e2e.browser.hostile_shop import Shop
from tests.e2e.browser.person import person

_COUNTING = """(tail) => {
    window.renewals = 0
    new MutationObserver(() => { renewals += 1 }).observe(tail.parentNode, {childList: true})
}"""
_LOOK = """(state) => {
    Object.defineProperty(document, "hidden", {value: state === "hidden", configurable: true})
    dispatchEvent(new Event("visibilitychange"))
}"""
_RENEWED = """() => {
    dispatchEvent(new Event("visibilitychange"))
    return document.body.textContent.includes("Nothing at all")
}"""


def goes_to(page: Page, name: str) -> None:
    """Press Tab until a control has the focus whose text, label or name begins with this."""
    for _ in range(200):
        page.keyboard.press("Tab")
        label = page.evaluate(
            """() => {
                const at = document.activeElement
                return at.getAttribute("aria-label") ?? at.labels?.[0]?.textContent ?? at.textContent
            }"""
        )
        if str(label).strip().startswith(name):
            return
    raise AssertionError(f"no key leads to {name}")


def test_the_end_of_the_navigation_is_reached_in_a_low_window(browser: Browser, shop: Shop) -> None:
    with person(browser, shop, "admin") as somebody:
        page = somebody.page
        for place, width, height in ((".who", 960, 400), ("#nav", 320, 256)):  # the last is 1280 by 1024 at 400 %
            page.set_viewport_size({"width": width, "height": height})
            somebody.open("sessions")
            if place == "#nav":
                page.get_by_role("button", name="Menu").click()
            last = page.locator(place).get_by_role("button", name="Sign out")
            last.focus()
            expect(last).to_be_in_viewport(ratio=1)


def test_what_is_renewed_keeps_the_focus_and_what_did_not_change_is_not_renewed(browser: Browser, shop: Shop) -> None:
    with person(browser, shop, "read") as somebody:
        page = somebody.page
        somebody.open("overview")
        page.get_by_text("Data as a table").first.focus()
        page.route("**/overview", lambda route: changed(route, "Data as a table", "Data as another table"))
        page.evaluate("dispatchEvent(new Event('visibilitychange'))")
        expect(page.get_by_text("Data as another table").first).to_be_focused()

        somebody.open("tail")
        page.locator("#tail").evaluate(_COUNTING)
        texts = chain(["Nothing new"], repeat("Nothing at all"))
        page.route(re.compile("/tail"), lambda route: changed(route, "Nothing new", next(texts)))
        page.wait_for_function(_RENEWED)
        assert page.evaluate("renewals") == 1
        page.unroute_all(behavior="wait")


def test_a_page_that_nobody_sees_leaves_its_connection_to_others(browser: Browser, shop: Shop) -> None:
    with person(browser, shop, "read") as somebody:
        page = somebody.page
        with page.expect_request("**/changes"):
            somebody.open("tail")
        with page.expect_event("requestfailed", lambda request: request.url.endswith("/changes")):
            page.evaluate(_LOOK, "hidden")
        with page.expect_request("**/changes"):
            page.evaluate(_LOOK, "visible")


def test_the_tail_says_when_it_is_cut_off_and_shows_then_what_came_meanwhile(browser: Browser, shop: Shop) -> None:
    def add(number: int) -> None:
        with psycopg.connect(shop.conninfo) as conn:
            conn.execute("insert into orders values (%s, 1, 5, 'placed')", [number])

    with person(browser, shop, "read") as somebody:
        page, rows = somebody.page, somebody.page.locator("#tail")
        with page.expect_response("**/changes"):
            somebody.open("tail")
        add(90_001)
        expect(rows).to_contain_text("orders 90001")
        page.context.set_offline(True)
        expect(page.locator("#offline")).to_contain_text("Offline: nothing new since")
        add(90_002)
        page.context.set_offline(False)
        expect(rows).to_contain_text("orders 90002")
        expect(page.locator("#offline")).to_have_count(0)
        page.route("**/tail?*", lambda route: route.fulfill(status=503, body="busy"))
        add(90_003)
        expect(page.locator("#offline")).to_contain_text("The console answers 503")
        page.unroute_all(behavior="wait")
        expect(rows).to_contain_text("orders 90003", timeout=30_000)
        expect(page.locator("#offline")).to_have_count(0)
        somebody.watch.take()  # the errors of a network that was cut


def changed(route: Route, before: str, after: str) -> None:
    """Answer as the server does, but for one text."""
    answer = route.fetch()
    html = answer.text()
    assert before in html
    route.fulfill(response=answer, body=html.replace(before, after))


def test_keys_lead_to_pages_rows_and_actions(browser: Browser, shop: Shop) -> None:
    with person(browser, shop, "admin") as somebody:
        page, press = somebody.page, somebody.page.keyboard.press
        somebody.open("sessions")
        press("Tab")
        expect(page.get_by_role("link", name="Skip to content")).to_be_focused()
        press("Enter")
        expect(page.locator("main")).to_be_focused()
        press("?")
        expect(page.get_by_role("dialog", name="Keyboard")).to_be_visible()
        press("Escape")
        expect(page.get_by_role("dialog")).to_be_hidden()
        press("g")
        press("n")
        expect(page.get_by_role("heading", level=1)).to_have_text("Tenants")
        for _ in range(2):
            press("j")
        press("k")
        row = page.locator("tbody tr").first
        expect(row.locator("a").first).to_be_focused()
        name = row.locator("a").first.inner_text()
        press("Enter")
        expect(page.get_by_role("heading", level=1)).to_have_text(name)
        goes_to(page, "Name")
        page.keyboard.type("Renamed by keys")
        press("Enter")
        expect(page.get_by_role("heading", level=1)).to_have_text("Renamed by keys")


def test_keys_lead_to_the_question_of_a_list_and_through_transactions_and_changes(browser: Browser, shop: Shop) -> None:
    with person(browser, shop, "read") as somebody:
        page, press = somebody.page, somebody.page.keyboard.press
        somebody.open("audit")
        press("q")
        asked = page.get_by_role("search", name="Ask the log").get_by_label("Question")
        expect(asked).to_be_focused()
        page.keyboard.type("table:customer record:1")
        press("Enter")
        page.wait_for_url("**/audit?*record=1*")
        press("j")
        first = page.locator(".txs > li").first
        expect(first.locator("a").first).to_be_focused()
        press("Enter")
        page.wait_for_url("**/audit/records/public.customer/1")
        for _ in range(2):
            press("j")
        change = page.locator("article").nth(1)
        expect(change.locator("a").first).to_be_focused()
        expect(change.locator("time").first).to_be_visible()
        expect(change.locator(".clock").first).to_have_text(re.compile(r"^\d\d:\d\d:\d\d$"))
        press("Enter")
        page.wait_for_url("**/audit/entries/*")


def test_after_back_the_focus_is_on_the_link_by_which_somebody_left(browser: Browser, shop: Shop) -> None:
    with person(browser, shop, "read") as somebody:
        page = somebody.page
        somebody.open("endpoints")
        second = page.locator("tbody a.main").nth(1)
        name = second.inner_text()
        second.focus()
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", level=1)).to_contain_text(name)
        page.go_back()
        expect(page.get_by_role("heading", level=1)).to_have_text("Endpoints")
        expect(page.locator("tbody a.main").nth(1)).to_be_focused()


def test_paper_has_the_time_the_question_and_what_was_folded(browser: Browser, shop: Shop) -> None:
    with person(browser, shop, "read") as somebody:
        page = somebody.page
        somebody.open("audit?severity=high")
        paper = page.locator(".on-paper")
        expect(paper).to_be_hidden()
        page.emulate_media(media="print")
        expect(paper).to_be_visible()
        expect(paper).to_have_text(re.compile(r"^\d+ \w+ \d{4}, \d\d:\d\d:\d\d UTC · /.*/audit\?severity=high$"))
        somebody.open("audit/records/public.customer/1")
        folded = page.locator("main details:not([open])").first
        assert folded.evaluate("each => each.scrollHeight > 1.5 * each.querySelector('summary').offsetHeight")


def test_a_question_is_completed_and_asked_with_the_keyboard(browser: Browser, shop: Shop) -> None:
    with person(browser, shop, "read") as somebody:
        page = somebody.page
        somebody.open("audit")
        goes_to(page, "Question")
        bar = page.get_by_role("combobox", name="Question")
        page.keyboard.type("act")
        expect(page.get_by_role("option", name="actor:", exact=True)).to_be_visible()
        expect(bar).to_have_attribute("aria-expanded", "true")
        page.keyboard.press("Escape")
        expect(bar).to_have_attribute("aria-expanded", "false")
        page.keyboard.type("o")
        expect(page.get_by_role("option", name="actor:", exact=True)).to_be_visible()
        page.keyboard.press("ArrowDown")
        expect(bar).to_have_attribute("aria-activedescendant", "offer-1")
        page.keyboard.press("Enter")
        expect(bar).to_have_value("actor:")
        page.keyboard.type("mara@")
        expect(page.get_by_role("option").first).to_have_text("mara@shop.example")
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Tab")
        expect(bar).to_have_value("actor:mara@shop.example ")
        page.keyboard.press("Enter")
        page.wait_for_url("**/audit?actor=mara%40shop.example")
        expect(bar).to_have_value("actor:mara@shop.example")


def test_a_completion_leaves_what_stands_behind_it_and_is_of_the_text_that_it_was_made_for(
    browser: Browser, shop: Shop
) -> None:
    with person(browser, shop, "read") as somebody:
        page = somebody.page
        somebody.open("audit?q=severity:critical")
        goes_to(page, "Question")
        bar = page.get_by_role("combobox", name="Question")
        page.keyboard.press("Home")
        page.keyboard.type("act")
        page.keyboard.press("Space")
        page.keyboard.press("ArrowLeft")
        page.keyboard.press("ArrowDown")
        expect(page.get_by_role("option", name="actor:", exact=True)).to_be_visible()
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Home")
        page.keyboard.press("ArrowUp")
        expect(bar).to_have_attribute("aria-expanded", "false")
        expect(bar).to_have_value("act severity:critical")
        for _ in "act":
            page.keyboard.press("ArrowRight")
        page.keyboard.press("ArrowDown")
        expect(page.get_by_role("option", name="actor:", exact=True)).to_be_visible()
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Tab")
        expect(bar).to_have_value("actor: severity:critical")


def test_what_is_older_than_a_week_has_its_date_where_other_times_are_relative(browser: Browser, shop: Shop) -> None:
    with person(browser, shop, "read") as somebody:
        page = somebody.page
        somebody.open("audit")
        newest = page.locator(".txs time").first
        expect(newest).to_have_text(re.compile("just now|ago"))
        now = str(page.evaluate("document.documentElement.dataset.now"))
        later = (datetime.fromisoformat(now) + timedelta(days=10)).isoformat()
        page.route("**/audit", lambda route: changed(route, 'lang="en"', f'lang="en" data-now="{later}"'))
        somebody.open("audit")
        exact = str(newest.get_attribute("title"))
        expect(newest).to_have_text(exact.partition(",")[0])

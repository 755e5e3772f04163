"""A question is kept, opened, renamed and deleted by keyboard, and a time is chosen in the histogram and a calendar."""

import re
from urllib.parse import parse_qs, urlsplit

import psycopg
import pytest
from playwright.sync_api import Browser, Page, expect

from tests.e2e.browser.hostile_shop import Shop
from tests.e2e.browser.person import person
from tests.e2e.browser.test_keyboard import goes_to
from tests.support import axe
from tests.support.page_laws import broken_laws

_PAST = """
insert into svc.audit_logs ("timestamp", table_name, table_oid, operation, record_id, actor_id)
select now() - n * interval '1 hour', 'public.t', 0, 'UPDATE', n::text, 'dragged' from generate_series(1, 10) n
"""


def filters(page: Page) -> dict[str, list[str]]:
    """The parameters of the address."""
    return parse_qs(urlsplit(page.url).query)


@pytest.mark.parametrize("has_javascript", [True, False])
def test_a_view_is_kept_opened_renamed_and_deleted_by_keyboard(
    browser: Browser, shop: Shop, *, has_javascript: bool
) -> None:
    with person(browser, shop, "write", has_javascript=has_javascript) as somebody:
        page, keyboard = somebody.page, somebody.page.keyboard
        somebody.open("deliveries?q=status:failed")
        page.get_by_text("Keep this question").focus()
        keyboard.press("Enter")
        keyboard.press("Tab")
        keyboard.type("My failures")
        keyboard.press("Enter")
        link = page.get_by_role("link", name="My failures")
        expect(link).to_have_attribute("aria-current", "page")
        assert filters(page) == {"status": ["failed"]}

        somebody.open("deliveries?status=pending")
        expect(link).not_to_have_attribute("aria-current", "page")
        if has_javascript:
            assert axe.violations(page) == []
            keyboard.press("/")
            keyboard.type("y failu")
            expect(page.get_by_role("option", name=re.compile("^view My failures"))).to_be_visible()
            keyboard.press("ArrowDown")
            keyboard.press("Enter")
        else:
            link.focus()
            keyboard.press("Enter")
        page.wait_for_url("**/deliveries?status=failed")

        somebody.open("deliveries?status=pending")
        page.get_by_role("button", name="Change the view My failures").focus()
        keyboard.press("Enter")
        page.wait_for_url("**/edit?question=*")
        page.get_by_role("textbox", name="Name").focus()
        keyboard.press("Control+a")
        keyboard.type("What waits")
        keyboard.press("Enter")
        page.wait_for_url("**/deliveries?status=failed")
        expect(link).to_have_count(0)

        somebody.open("deliveries?status=pending")
        page.get_by_role("button", name="Change the view What waits").focus()
        keyboard.press("Enter")
        page.get_by_role("button", name="Take over").focus()
        keyboard.press("Enter")
        page.wait_for_url("**/deliveries?status=pending")
        expect(page.get_by_role("link", name="What waits")).to_have_attribute("aria-current", "page")

        page.get_by_role("button", name="Change the view What waits").focus()
        keyboard.press("Enter")
        page.get_by_role("button", name="Delete").focus()
        keyboard.press("Enter")
        page.wait_for_url("**/deliveries")
        expect(page.get_by_role("link", name="What waits")).to_have_count(0)


def test_the_pages_of_views_obey_the_laws_of_pages_and_phones_fold_them(browser: Browser, shop: Shop) -> None:
    with person(browser, shop, "write") as somebody:
        page = somebody.page
        for number in range(3):
            somebody.open("audit?q=actor:somebody")
            page.get_by_text("Keep this question").click()
            page.get_by_label("Name of the view").fill(f"Of somebody {number}")
            page.get_by_role("button", name="Keep", exact=True).click()
            expect(page.get_by_role("link", name=f"Of somebody {number}")).to_be_visible()
        for address in ("audit?actor=somebody", "views"):
            html = somebody.open(address)
            assert broken_laws(page, html) == []
        page.get_by_role("link", name="Change Of somebody 0").click()
        expect(page.get_by_role("heading", name="Delete")).to_be_visible()
        assert broken_laws(page, somebody.look(page.url)) == []

        page.set_viewport_size({"width": 360, "height": 640})
        somebody.open("audit")
        link = page.get_by_role("link", name="Of somebody 1")
        expect(link).to_be_hidden()
        page.get_by_role("button", name="Views").focus()
        page.keyboard.press("Enter")
        expect(link).to_be_visible()
        assert axe.violations(page) == []
        goes_to(page, "Of somebody 1")
        page.keyboard.press("Enter")
        page.wait_for_url("**/audit?actor=somebody")


def test_a_range_of_the_histogram_is_dragged_or_chosen_by_keys(browser: Browser, shop: Shop) -> None:
    with psycopg.connect(shop.conninfo) as conn:
        conn.execute(_PAST)
    with person(browser, shop, "read") as somebody:
        page = somebody.page
        somebody.open("audit?actor=dragged")
        brush = page.get_by_role("slider", name="Time of the entries")
        last = int(brush.get_attribute("aria-valuemax") or 0)
        assert last == 9
        begin, step = (brush.get_attribute(f"data-{name}") or "" for name in ("begin", "step"))
        at = "(begin, seconds) => new Date(Date.parse(begin) + 1000 * seconds).toISOString().slice(0, 19) + 'Z'"

        def time(bar: int) -> list[str]:
            return [page.evaluate(f"([b, s]) => ({at})(b, s)", [begin, int(step) * bar])]

        wanted = {"actor": ["dragged"], "since": time(1), "until": time(3)}
        box = page.locator(".hist svg").bounding_box()
        assert box is not None
        width, middle = box["width"] / (last + 1), box["y"] + box["height"] / 2
        opened: list[str] = []
        page.on("request", lambda request: opened.append(request.url) if request.is_navigation_request() else None)
        page.mouse.move(box["x"] + 7.5 * width, middle)
        page.mouse.down()
        page.mouse.move(box["x"] + 5.5 * width, middle, steps=4)
        expect(page.locator(".chosen")).not_to_have_attribute("width", "0")
        page.keyboard.press("Escape")
        expect(page.locator(".chosen")).to_have_attribute("width", "0")
        page.mouse.up()
        page.mouse.move(box["x"] + 2.5 * width, middle)
        page.mouse.down()
        page.mouse.move(box["x"] + 1.5 * width, middle, steps=4)
        expect(page.locator(".chosen")).not_to_have_attribute("width", "0")
        page.mouse.up()
        page.wait_for_url("**since=*")
        assert filters(page) == wanted
        assert len(opened) == 1, "Escape takes a drag back"

        somebody.open("audit?actor=dragged")
        goes_to(page, "Time of the entries")
        for key in ("Home", "ArrowRight", "Shift+ArrowRight"):
            page.keyboard.press(key)
        expect(brush).to_have_attribute("aria-valuetext", re.compile(" to .*, [0-9]+ entries$"))
        assert axe.violations(page) == []
        page.keyboard.press("Enter")
        page.wait_for_url("**since=*")
        assert filters(page) == wanted

        somebody.open("audit?actor=dragged")
        page.mouse.click(box["x"] + (last + 0.5) * width, middle)
        page.wait_for_url("**since=*")
        assert filters(page)["since"] == time(last), "a click is a bar alone"


@pytest.mark.parametrize("has_javascript", [True, False])
def test_a_time_is_chosen_in_the_fields_of_a_calendar(browser: Browser, shop: Shop, *, has_javascript: bool) -> None:
    with person(browser, shop, "read", has_javascript=has_javascript) as somebody:
        page = somebody.page
        somebody.open("deliveries?status=failed&since=1h")
        page.get_by_text("Fields and keys").click()
        page.get_by_label("From").fill("2026-11-27T09:30")
        page.get_by_label("to", exact=True).fill("2026-11-28T00:00")
        page.get_by_role("button", name="Show", exact=True).click()
        page.wait_for_url("**until=*")
        assert filters(page) == {"status": ["failed"], "since": ["2026-11-27T09:30:00Z"], "until": ["2026-11-28"]}
        expect(page.get_by_label("Question", exact=True)).to_have_value(
            "since:2026-11-27T09:30:00Z until:2026-11-28 status:failed"
        )

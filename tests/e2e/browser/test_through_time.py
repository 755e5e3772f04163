"""The slider of a record leads through its states, by keyboard and by a drag, and falls behind nobody who hurries."""

import re

from playwright.sync_api import Browser, Page, expect

from tests.e2e.browser.hostile_shop import Shop
from tests.e2e.browser.person import person

RECORD = "audit/records/public.customer/1/as-of"


def email(page: Page) -> str:
    return page.locator("#as-of-state tr", has=page.get_by_role("rowheader", name="email")).inner_text()


def test_the_slider_shows_the_state_after_each_change(browser: Browser, shop: Shop) -> None:
    with person(browser, shop, "read") as somebody:
        page = somebody.page
        somebody.open(RECORD)
        slider = page.get_by_role("slider", name="Change of the record")
        expect(slider).to_have_attribute("aria-valuetext", re.compile("leo@shop.example changed email"))
        assert "jane@elsewhere.example" in email(page)
        slider.focus()
        page.keyboard.press("ArrowLeft")
        expect(page.locator("#as-of-said")).to_contain_text("1 of")
        expect(slider).to_have_attribute("aria-valuetext", re.compile("mara@shop.example created it"))
        expect(slider).to_be_focused()
        expect(page.locator("#stops [aria-current=true]")).to_contain_text("mara@shop.example")
        assert re.search(r"as-of\?time=\d{4}-", page.url), "the address is that of the state"
        assert "jane@shop.example" in email(page)
        for key in ("End", "Home", "End", "Home", "End"):  # nobody waits for what comes between
            page.keyboard.press(key)
        expect(page.locator("#as-of-said")).to_have_text("As it is now")
        assert "jane@shop.example" not in email(page)
        page.reload()
        expect(page.locator("#as-of-said")).to_have_text("As it is now")


def test_without_a_script_links_and_a_form_do_the_same(browser: Browser, shop: Shop) -> None:
    with person(browser, shop, "read", has_javascript=False) as somebody:
        page = somebody.page
        somebody.open(RECORD)
        expect(page.get_by_role("slider")).to_have_count(0)
        page.get_by_role("link", name="Earlier").click()
        assert "jane@shop.example" in email(page)
        page.get_by_role("link", name="Later").click()
        expect(page.locator("#as-of-said")).to_have_text("As it is now")
        page.get_by_label("Time, UTC").fill("2020-01-31T12:00:00")
        page.get_by_role("button", name="Show").click()
        expect(page.get_by_role("alert")).to_contain_text("The log does not reach so far back")

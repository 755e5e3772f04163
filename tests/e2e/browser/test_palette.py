"""The palette leads anywhere by keyboard alone, and the tracks of a record are compared without a script."""

import re

from playwright.sync_api import Browser, expect

from tests.e2e.browser.hostile_shop import Shop
from tests.e2e.browser.person import person
from tests.support import axe
from tests.support.page_laws import broken_laws

TRACKS = "audit/records/public.customer/1/tracks"


def test_the_palette_opens_by_a_key_and_leads_to_what_is_chosen(browser: Browser, shop: Shop) -> None:
    with person(browser, shop, "read") as somebody:
        page = somebody.page
        somebody.open("endpoints")
        page.keyboard.press("Control+k")
        field = page.get_by_role("combobox", name=re.compile("^Find a"))
        expect(field).to_be_focused()
        page.keyboard.type("customer 1")
        option = page.get_by_role("option", name=re.compile("^record customer 1"))
        expect(option).to_be_visible()
        expect(field).to_have_attribute("aria-expanded", "true")
        assert axe.violations(page) == []
        page.keyboard.press("ArrowDown")
        expect(option).to_have_attribute("aria-selected", "true")
        expect(field).to_have_attribute("aria-activedescendant", "hit-1")
        page.keyboard.press("Enter")
        page.wait_for_url("**/audit/records/public.customer/1")
        page.keyboard.press("/")
        page.keyboard.type("no such thing anywhere")
        page.keyboard.press("Escape")
        expect(page.locator(".find .offer")).to_be_hidden()


def test_a_new_tab_leaves_the_page_and_the_next_person_is_not_told_where_somebody_was(
    browser: Browser, shop: Shop
) -> None:
    with person(browser, shop, "read") as somebody:
        page = somebody.page
        somebody.open("audit/records/public.customer/1")
        assert page.evaluate("sessionStorage.getItem('svc-seen')"), "it is kept for this tab"
        somebody.open("endpoints")
        here = page.url
        page.keyboard.press("Control+k")
        page.keyboard.type("customer 1")
        option = page.get_by_role("option", name=re.compile("^record customer 1"))
        with page.context.expect_page() as opened:
            option.click(modifiers=["Control"])
        opened.value.wait_for_url("**/audit/records/public.customer/1")
        assert page.url == here
        opened.value.close()
        for nonsense in ('"text"', "{}", "[1, null]", "["):
            page.evaluate("text => sessionStorage.setItem('svc-seen', text)", nonsense)
            somebody.open("audit/records/public.customer/1")
            kept = page.evaluate("JSON.parse(sessionStorage.getItem('svc-seen'))")
            assert [href for href, _ in kept] == [page.url]
        somebody.open("sign-in")
        assert page.evaluate("sessionStorage.getItem('svc-seen')") is None


def test_tracks_obey_the_laws_of_pages_and_compare_without_a_script(browser: Browser, shop: Shop) -> None:
    with person(browser, shop, "read") as somebody:
        html = somebody.open(TRACKS)
        assert broken_laws(somebody.page, html) == []
    with person(browser, shop, "read", has_javascript=False) as somebody:
        page = somebody.page
        somebody.open(TRACKS)
        expect(page.locator("tr", has=page.get_by_role("rowheader", name="email"))).to_contain_text(
            "jane@elsewhere.example"
        )
        page.get_by_label("From after").select_option(index=0)
        page.get_by_label("to after").select_option(index=0)
        page.get_by_role("button", name="Compare").click()
        expect(page.locator("body")).to_contain_text("choose two to compare them")

"""Errands by mouse and by keyboard, with the number of clicks or keys that they take at most.

``--log-cli-level=info`` shows what each took.
"""

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import psycopg
import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.e2e.browser.hostile_shop import Shop
from tests.e2e.browser.person import person
from tests.support.waiting import wait_until

_LOG = logging.getLogger(__name__)
HANDS = pytest.mark.parametrize("by_keyboard", [False, True], ids=["mouse", "keyboard"])


@dataclass
class Hand:
    """Somebody's hand, by mouse or by keyboard, which counts; typed words are one."""

    page: Page
    by_keyboard: bool
    acts: int = 0
    keys: int = 0
    begun: float = field(default_factory=time.monotonic)

    def use(self, control: Locator, *, key: str = "") -> None:
        """Click on a control; or go there by ``key``, and by Tab as often as it takes, and press Enter."""
        self.acts += 1
        if not self.by_keyboard:
            control.click()
            return
        expect(control).to_be_visible()
        if key:
            self._press(key)
        target = control.element_handle()
        for _ in range(150):
            if target.evaluate("each => each === document.activeElement"):
                self._press("Enter")
                return
            self._press("Tab")
        raise AssertionError("no key leads to it")

    def ask(self, text: str) -> None:
        """Type into the search of every page, and press Enter."""
        self.acts += 2
        if self.by_keyboard:
            self._press("/")
        else:
            self.page.locator("input[type=search]").first.click()
        self.page.keyboard.type(text)
        self._press("Enter")

    def skip(self) -> None:
        """Go to the content of the page by its skip link."""
        if self.by_keyboard:
            self._press("Tab")
            self._press("Enter")

    def _press(self, key: str) -> None:
        self.keys += 1
        self.page.keyboard.press(key)


@contextmanager
def walking(page: Page, *, by_keyboard: bool, most_acts: int, most_keys: int) -> Iterator[Hand]:
    """Enter to begin an errand; leaving fails if it took more than it may."""
    hand = Hand(page, by_keyboard)
    yield hand
    _LOG.info("%d acts, %d keys, %.1f seconds", hand.acts, hand.keys, time.monotonic() - hand.begun)
    assert hand.acts <= most_acts
    assert hand.keys <= most_keys or not by_keyboard


@HANDS
def test_a_customer_who_got_nothing_is_found_seen_sent_it_again_and_given_a_link(
    browser: Browser, shop: Shop, *, by_keyboard: bool
) -> None:
    event = "order.shipped" if by_keyboard else "order.placed"  # each hand sends its own again
    with (
        person(browser, shop, "admin") as somebody,
        walking(somebody.page, by_keyboard=by_keyboard, most_acts=8, most_keys=80) as hand,
    ):
        page = somebody.page
        somebody.open("overview")
        hand.ask("customer 1")
        page.wait_for_url("**/audit/records/public.customer/1")
        hand.skip()
        told = page.locator("article", has_text="mara@shop.example").locator("details", has_text="Told by webhook")
        expect(told).to_contain_text("Failed")
        if told.get_attribute("open") is None:
            hand.use(told.locator("summary"))
        hand.use(told.locator("li", has_text="Acme's own").get_by_role("link", name=event))
        expect(page.get_by_text("Why it failed:")).to_be_visible()
        expect(page.locator(".att").first).to_contain_text("HTTP 500")
        shop.partner.is_mended = True
        address = page.url
        hand.skip()
        hand.use(page.get_by_role("button", name="Send again"))
        wait_until(lambda: _status(shop, address) == "delivered", "the delivery has arrived")
        somebody.look(address)
        expect(page.get_by_role("heading", level=1)).to_contain_text("Delivered")
        hand.ask("portal link for acme")
        hand.use(page.locator("main .hits a").first)
        hand.skip()
        hand.use(page.get_by_role("button", name="Make link"))
        link = page.locator("main textarea").input_value()
        assert "/portal/" in link
    with person(browser, shop) as customer:
        customer.look(link)
        expect(customer.page.locator("main")).to_be_visible()


@HANDS
def test_changes_by_somebody_whose_name_is_half_known_are_found_and_exported(
    browser: Browser, shop: Shop, *, by_keyboard: bool
) -> None:
    with (
        person(browser, shop, "write") as somebody,
        walking(somebody.page, by_keyboard=by_keyboard, most_acts=4, most_keys=7) as hand,
    ):
        page = somebody.page
        somebody.open("overview")
        hand.ask("actor:leo table:customer 24h")
        page.wait_for_url("**/audit?*actor=leo*")
        expect(page.get_by_text("No entry has the actor")).to_be_visible()
        hand.use(page.locator(".empty").get_by_role("link", name="leo@shop.example"), key="j")
        page.wait_for_url("**actor=leo%40shop.example*")
        expect(page.get_by_role("region", name="Entries")).to_contain_text("jane@elsewhere.example")
        with page.expect_download() as download:
            hand.use(page.get_by_role("link", name="Export CSV"), key=".")
        _, *entries = download.value.path().read_text().splitlines()
        assert len(entries) == 1
        assert "leo@shop.example" in entries[0]


@HANDS
def test_a_question_in_plain_words_leads_to_the_record_and_its_change(
    browser: Browser, shop: Shop, *, by_keyboard: bool
) -> None:
    with (
        person(browser, shop, "read") as somebody,
        walking(somebody.page, by_keyboard=by_keyboard, most_acts=4, most_keys=6) as hand,
    ):
        page = somebody.page
        somebody.open("overview")
        hand.ask("who changed customer 1?")
        expect(page.get_by_text("Perhaps you ask")).to_be_visible()
        hand.use(page.locator(".empty a").first, key="j")
        page.wait_for_url("**/audit/records/public.customer/1")
        change = page.locator("article").first
        expect(change.locator(".clock").first).to_be_visible()
        hand.use(change.locator("a").first, key="j")
        page.wait_for_url("**/audit/entries/*")


def _status(shop: Shop, address: str) -> str:
    with psycopg.connect(shop.conninfo) as conn:
        found = conn.execute("select status from svc.webhook_deliveries where id = %s", [address.rpartition("/")[2]])
        return str((found.fetchone() or ["none"])[0])

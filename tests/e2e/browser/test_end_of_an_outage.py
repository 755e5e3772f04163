"""The page of an outage turns green by itself, in the console and in the portal, once the receiver is well."""

import psycopg
from playwright.sync_api import Browser, Page, expect

from svc_pg import webhooks
from tests.e2e.browser.hostile_shop import Shop
from tests.e2e.browser.person import person
from tests.e2e.browser.test_portal import enter

PATIENCE_MS = 60_000
"""The page asks every 15 s."""


def test_the_pages_of_an_outage_show_its_end_without_a_reload(browser: Browser, shop: Shop) -> None:
    with person(browser, shop, "write") as operator, person(browser, shop) as customer:
        enter(shop, customer, "acme")
        operator.open("endpoints", shop.endpoints["acme"], "outage")
        customer.page.get_by_role("link", name="See why").click()
        assert_it_lasts(operator.page, "It has failed since")
        assert_it_lasts(customer.page, "Your system has not taken our messages since")
        shop.partner.is_mended = True
        with psycopg.connect(shop.conninfo) as conn:
            webhooks.send(conn, "order.placed", {"id": 8}, tenant="acme")
        assert_it_is_over(operator.page, "It is well again, since")
        assert_it_is_over(customer.page, "Your system takes our messages again, since")
        again = customer.page.locator("#failed")
        expect(again).to_contain_text("2 deliveries failed since")
        again.get_by_role("link", name="Send them to me again…").click()
        customer.page.get_by_role("button", name="Send 2 again").click()
        customer.page.go_back()
        customer.page.go_back()
        expect(customer.page.locator("#failed")).to_contain_text("you miss nothing", timeout=PATIENCE_MS)


def assert_it_lasts(page: Page, words: str) -> None:
    """Assert that the page shows an outage, and mark its document, which a reload would replace."""
    expect(page.locator("#outage")).to_contain_text(words)
    expect(page.locator("#state .bad")).to_be_visible()
    page.evaluate("() => { window.isTheSame = true }")


def assert_it_is_over(page: Page, words: str) -> None:
    expect(page.locator("#outage .note.ok")).to_contain_text(words, timeout=PATIENCE_MS)
    expect(page.locator("#state .ok")).to_have_text("Active")
    assert page.evaluate("() => window.isTheSame") is True, "the page was loaded again"

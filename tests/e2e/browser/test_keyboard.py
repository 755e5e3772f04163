"""Everything can be done with the keyboard alone."""

from playwright.sync_api import Browser, Page, expect

from tests.e2e.browser.hostile_shop import Shop
from tests.e2e.browser.person import person


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

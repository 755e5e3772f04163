"""People sign in with a mailed code, and end sessions."""

import re

import pytest
from playwright.sync_api import Browser, expect

from tests.e2e.browser.hostile_shop import Shop
from tests.e2e.browser.person import Person, give_session, person
from tests.support.waiting import wait_until

JAVASCRIPT = pytest.mark.parametrize("has_javascript", [True, False], ids=["with JavaScript", "without JavaScript"])


def mailed_code(shop: Shop, address: str) -> str:
    """The code of the newest mail to an address."""
    mail = wait_until(lambda: [mail for mail in shop.office.messages if mail["To"] == address], "the mail arrives")[-1]
    found = re.search(r"[A-Z2-9]{3}-[A-Z2-9]{3}", mail.get_content())
    assert found is not None
    return found[0]


def signs_in(somebody: Person, address: str) -> None:
    page = somebody.page
    page.get_by_label("Work address").fill(address)
    page.keyboard.press("Enter")
    page.get_by_label("Code").fill(mailed_code(somebody.shop, address).lower())
    page.keyboard.press("Enter")


@pytest.mark.parametrize(
    ("address", "has_javascript"), [("new1@mail.example", True), ("new2@mail.example", False)], ids=["script", "none"]
)
def test_somebody_signs_in_by_mail_sees_the_page_they_asked_for_and_signs_out(
    browser: Browser, shop: Shop, address: str, *, has_javascript: bool
) -> None:
    with person(browser, shop, has_javascript=has_javascript) as somebody:
        somebody.open("sessions?state=ended")
        expect(somebody.page.get_by_role("heading", level=1)).to_have_text("Sign in")
        signs_in(somebody, address)
        expect(somebody.page).to_have_url(f"{shop.pages}/sessions?state=ended")
        [cookie] = [each for each in somebody.context.cookies() if each["name"] == "svc_console"]
        assert (cookie["httpOnly"], cookie["sameSite"], cookie["path"]) == (True, "Strict", "/.well-known/svc/ui")
        somebody.page.get_by_role("button", name="Sign out").click()
        expect(somebody.page.get_by_role("heading", level=1)).to_have_text("Sign in")
        give_session(somebody.context, shop, cookie["value"])  # a copy of it is worth nothing now
        somebody.open("sessions")
        expect(somebody.page.get_by_role("heading", level=1)).to_have_text("Sign in")


@JAVASCRIPT
def test_a_session_is_revoked_and_its_next_page_is_the_sign_in(
    browser: Browser, shop: Shop, *, has_javascript: bool
) -> None:
    with person(browser, shop, "read") as other, person(browser, shop, "admin", has_javascript=has_javascript) as admin:
        other.open()
        expect(other.page.get_by_role("heading", level=1)).not_to_have_text("Sign in")
        admin.open("sessions")
        admin.page.get_by_role("link", name="Revoke the session of rea@corp.example").first.click()
        expect(admin.page.get_by_role("heading", level=1)).to_have_text("End the session of rea@corp.example?")
        admin.page.get_by_role("button", name="End the session").click()
        expect(admin.page.get_by_text("The session of rea@corp.example has ended:")).to_be_visible()
        other.open()
        expect(other.page.get_by_role("heading", level=1)).to_have_text("Sign in")

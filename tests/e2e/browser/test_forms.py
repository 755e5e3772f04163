"""Forms in a browser: double clicks, Back, reloads, sessions that end meanwhile, and secrets that can be read whole."""

import psycopg
import pytest
from playwright.sync_api import Browser, Page, expect

from tests.e2e.browser.hostile_shop import EMAILS, Shop
from tests.e2e.browser.person import Person, person
from tests.e2e.browser.test_signing_in import mailed_code
from tests.integration.console.signing_in import rows

JAVASCRIPT = pytest.mark.parametrize("has_javascript", [True, False], ids=["with JavaScript", "without JavaScript"])
ADMIN = next(address for address, permission in EMAILS.items() if permission == "admin")
WIDTHS = (1440, 360)
_HIDDEN = """(field) => field.scrollWidth > field.clientWidth || field.scrollHeight > field.clientHeight
    || field.getBoundingClientRect().right > innerWidth || field.getBoundingClientRect().left < 0"""


def fills(page: Page, address: str) -> None:
    page.get_by_label("URL").fill(address)
    page.get_by_label("order.placed").check()


def endpoints(shop: Shop, address: str) -> int:
    return len(rows(shop.conninfo, "select id from svc.webhook_endpoints where url = %s", address))


@JAVASCRIPT
def test_a_double_click_a_reload_and_a_form_that_is_sent_again_add_one_endpoint(
    browser: Browser, shop: Shop, *, has_javascript: bool
) -> None:
    address = f"http://127.0.0.1:9/twice-{has_javascript}"
    with person(browser, shop, "write", has_javascript=has_javascript) as somebody:
        page = somebody.page
        somebody.open("endpoints", "new")
        fills(page, address)
        page.get_by_role("button", name="Add endpoint").dblclick()
        secret = page.get_by_label("Secret", exact=True).input_value()
        assert secret.startswith("whsec_")
        page.reload()
        expect(page.get_by_label("Secret", exact=True)).to_have_value(secret)
        page.go_back()
        page.go_forward()
        expect(page.get_by_label("Secret", exact=True)).to_have_value(secret)
        assert endpoints(shop, address) == 1


@JAVASCRIPT
def test_a_double_click_sends_one_test_and_makes_one_secret(
    browser: Browser, shop: Shop, *, has_javascript: bool
) -> None:
    counted = "select count(*) from svc.webhook_messages where event_name = 'webhook.ping'"
    with person(browser, shop, "write", has_javascript=has_javascript) as somebody:
        page = somebody.page
        somebody.open("endpoints", shop.endpoints["healthy"])
        [(before,)] = rows(shop.conninfo, counted)
        page.get_by_role("button", name="Test", exact=True).dblclick()
        expect(page.get_by_role("heading", level=1)).to_contain_text("webhook.ping")
        assert rows(shop.conninfo, counted) == [(before + 1,)]
        versions = "select version from svc.webhook_endpoints where id = %s"
        [(version,)] = rows(shop.conninfo, versions, shop.endpoints["healthy"])
        somebody.open("endpoints", shop.endpoints["healthy"], "rotate")
        page.get_by_role("button", name="Rotate secret").dblclick()
        assert page.get_by_label("Secret", exact=True).input_value().startswith("whsec_")
        assert rows(shop.conninfo, versions, shop.endpoints["healthy"]) == [(version + 1,)]


@JAVASCRIPT
def test_back_to_a_refused_form_and_its_reload_send_nothing_and_keep_what_was_typed(
    browser: Browser, shop: Shop, *, has_javascript: bool
) -> None:
    with person(browser, shop, "write", has_javascript=has_javascript) as somebody:
        somebody.watch.expected_statuses.add(422)
        page = somebody.page
        somebody.open("endpoints", "new")
        fills(page, "ftp://elsewhere.example")
        page.get_by_label("Description").fill("Of the refused form")
        page.get_by_role("button", name="Add endpoint").click()

        def is_kept() -> None:
            expect(page.get_by_label("URL")).to_have_value("ftp://elsewhere.example")
            expect(page.get_by_label("Description")).to_have_value("Of the refused form")
            expect(page.get_by_text("Nothing is saved yet.")).to_be_visible()

        is_kept()
        if has_javascript:
            expect(page.get_by_label("URL")).to_be_focused()
        page.reload()
        is_kept()
        page.get_by_role("link", name="Deliveries", exact=True).click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Deliveries")
        page.go_back()
        is_kept()
        page.get_by_label("URL").fill(f"http://127.0.0.1:9/mended-{has_javascript}")
        page.get_by_role("button", name="Add endpoint").click()
        assert page.get_by_label("Secret", exact=True).input_value().startswith("whsec_")


def signs_in_again(somebody: Person) -> None:
    page = somebody.page
    page.get_by_label("Work address").fill(ADMIN)
    page.keyboard.press("Enter")
    page.get_by_label("Code").fill(mailed_code(somebody.shop, ADMIN))
    page.keyboard.press("Enter")


def test_after_a_refused_form_the_focus_is_on_the_field_that_is_wrong(browser: Browser, shop: Shop) -> None:
    with person(browser, shop, "admin") as somebody:
        page = somebody.page
        somebody.open("tokens", "new")
        page.locator("main form.in").evaluate(
            "(form) => { form.noValidate = true }"
        )  # as a browser that checks nothing
        name = page.get_by_label("Name", exact=True)
        name.evaluate("(field) => { field.maxLength = 1000 }")
        name.fill("x" * 1000)
        page.get_by_role("button", name="Add token").click()
        expect(name).to_be_focused()
        expect(name).to_have_attribute("aria-invalid", "true")
        described = name.get_attribute("aria-describedby") or ""
        assert described.split()[-1] == "wrong-name"
        expect(page.locator("#refused")).to_contain_text("Name: ")
        expect(page.locator("#wrong-name")).to_contain_text("at most 63 characters")
        assert ["422" in each for each in somebody.watch.take()] == [True]


def test_the_time_since_which_deliveries_failed_is_chosen_and_kept(browser: Browser, shop: Shop) -> None:
    with person(browser, shop, "write") as somebody:
        page = somebody.page
        somebody.open("endpoints", shop.endpoints["healthy"], "outage?finishedSince=2020-01-31T09:30:00")
        field = page.get_by_label("Failed since")
        expect(field).to_have_value("2020-01-31T09:30")
        field.fill("2020-02-01T10:00:05")
        page.get_by_role("button", name="Look again").click()
        expect(field).to_have_value("2020-02-01T10:00:05")
        expect(page.locator("#failed")).to_contain_text("since 1 Feb 2020, 10:00:05 UTC")
        somebody.open("endpoints", shop.endpoints["healthy"], "outage?finishedSince=soon")
        expect(field).to_be_focused()
        assert ["422" in each for each in somebody.watch.take()] == [True]


@JAVASCRIPT
def test_a_session_that_ends_while_a_form_is_filled_says_so_and_comes_back_to_it(
    browser: Browser, shop: Shop, *, has_javascript: bool
) -> None:
    end_sessions = "update svc.console_sessions set expires_at = now() where email = %s returning id"
    with person(browser, shop, "admin", has_javascript=has_javascript) as somebody:
        page = somebody.page
        somebody.watch.expected_statuses |= {401, 409}
        somebody.open("tokens", "new")
        page.get_by_label("Name").fill("after-hours")
        rows(shop.conninfo, end_sessions, ADMIN)
        page.get_by_role("button", name="Add token").click()
        expect(page.get_by_text("Your session had ended, so nothing was changed")).to_be_visible()
        with psycopg.connect(shop.conninfo) as conn:
            conn.execute("delete from svc.console_rate")
            conn.execute("delete from svc.console_magic_links")
        shop.office.messages.clear()
        signs_in_again(somebody)
        expect(page.get_by_label("Name")).to_have_value("after-hours")
        expect(page.get_by_text("Your session had ended, so nothing was changed")).to_be_visible()
        page.get_by_label("Name").fill(f"after-hours-{has_javascript}".lower())
        page.get_by_role("button", name="Add token").click()
        assert page.get_by_label("Token", exact=True).input_value()
        page.get_by_role("link", name="I have stored it").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Tokens")


def test_a_live_page_whose_session_ends_says_so_and_is_come_back_to(browser: Browser, shop: Shop) -> None:
    with person(browser, shop, "admin") as somebody:
        page = somebody.page
        somebody.watch.expected_statuses.add(401)  # by which what the page asks for learns that the session is over
        somebody.open("overview?window=7d")
        with psycopg.connect(shop.conninfo) as conn:
            conn.execute("update svc.console_sessions set expires_at = now() where email = %s", [ADMIN])
        page.evaluate("dispatchEvent(new Event('visibilitychange'))")
        expect(page.get_by_text("Your session has ended.")).to_be_visible()
        assert page.url.startswith(f"{shop.pages}/sign-in?next=")
        assert "overview" in page.url


def test_a_secret_is_read_whole_selected_and_copied_without_a_permission(browser: Browser, shop: Shop) -> None:
    with person(browser, shop, "admin") as somebody:
        page = somebody.page
        page.add_init_script("navigator.clipboard.writeText = () => Promise.reject(new Error('denied'))")
        made = {"Secret": "endpoints/new", "Token": "tokens/new"}
        for label, address in made.items():
            somebody.open(*address.split("/"))
            if label == "Secret":
                fills(page, "http://127.0.0.1:9/whole")
                page.get_by_role("button", name="Add endpoint").click()
            else:
                page.get_by_label("Name").fill("whole")
                page.get_by_role("button", name="Add token").click()
            field = page.get_by_label(label, exact=True)
            secret = field.input_value()
            for width in WIDTHS:
                page.set_viewport_size({"width": width, "height": 900})
                assert not field.evaluate(_HIDDEN), f"{label} at {width} px"
            page.get_by_role("button", name="Copy").click()
            expect(page.get_by_role("status").first).to_have_text("Copied")
            search = page.locator("input[type=search]").first
            search.focus()
            page.keyboard.press("Control+V")
            expect(search).to_have_value(secret)

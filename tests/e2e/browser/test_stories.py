"""The errands for which people come to the console, from the first page to the answer, with scripts and without."""

from pathlib import Path

import psycopg
import pytest
from playwright.sync_api import Browser, expect

from tests.e2e.browser.hostile_shop import Shop
from tests.e2e.browser.person import person
from tests.support.certificates import authority
from tests.support.waiting import wait_until

JAVASCRIPT = pytest.mark.parametrize("has_javascript", [True, False], ids=["script", "none"])


@JAVASCRIPT
def test_somebody_finds_who_changed_a_record_and_whom_it_was_told(
    browser: Browser, shop: Shop, *, has_javascript: bool
) -> None:
    with person(browser, shop, "read", has_javascript=has_javascript) as somebody:
        page = somebody.page
        somebody.open()
        if has_javascript:
            page.keyboard.press("/")
        else:
            page.locator("input[type=search]").first.focus()
        page.keyboard.type("customer 1")
        page.keyboard.press("Enter")
        page.wait_for_url("**/audit/records/public.customer/1")
        change = page.locator("article", has_text="leo@shop.example")
        expect(change).to_contain_text("changed email")
        expect(change).to_contain_text("she has moved")
        expect(change.locator(".was")).to_contain_text("jane@shop.example")
        expect(change.locator(".now")).to_contain_text("jane@elsewhere.example")
        first = page.locator("article", has_text="mara@shop.example")
        first.locator("summary", has_text="Told by webhook").click()
        told = first.get_by_role("link", name="order.placed").first
        if not told.is_visible():  # it was open already
            first.locator("summary", has_text="Told by webhook").click()
        told.click()
        expect(page.get_by_role("heading", level=1)).to_contain_text("order.placed")
        page.get_by_role("link", name="Created orders").click()
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        expect(page.locator("main")).to_contain_text("mara@shop.example")


@pytest.mark.parametrize(
    ("event", "has_javascript"), [("order.placed", True), ("order.shipped", False)], ids=["script", "none"]
)
def test_somebody_follows_a_failed_delivery_to_its_cause_and_sends_it_again(
    browser: Browser, shop: Shop, event: str, *, has_javascript: bool
) -> None:
    with person(browser, shop, "write", has_javascript=has_javascript) as somebody:
        page = somebody.page
        somebody.open("deliveries")
        page.get_by_role("navigation", name="State").get_by_role("link", name="Failed").click()
        asked = page.get_by_role("search", name="Ask the deliveries").get_by_label("Question")
        asked.fill(f"{asked.input_value()} event:{event} tenant:acme")
        page.get_by_role("button", name="Ask", exact=True).click()
        expect(page.locator("main")).to_contain_text("Failed")
        page.locator("tbody tr", has_text="Acme's own").get_by_role("link", name=event).click()
        expect(page.get_by_text("Why it failed:")).to_be_visible()
        expect(page.locator(".att").first).to_contain_text("HTTP 500")
        page.get_by_role("link", name="Created orders").click()
        expect(page.locator("main")).to_contain_text("mara@shop.example")
        page.go_back()
        address = page.url
        shop.partner.is_mended = True
        page.get_by_role("button", name="Send again").click()
        wait_until(lambda: _status(shop, address) == "delivered", "the delivery has arrived")
        somebody.look(address)
        expect(page.get_by_role("heading", level=1)).to_contain_text("Delivered")
        expect(page.locator(".att").first).to_contain_text("by hand")


def _status(shop: Shop, address: str) -> str:
    with psycopg.connect(shop.conninfo) as conn:
        found = conn.execute("select status from svc.webhook_deliveries where id = %s", [address.rpartition("/")[2]])
        return str((found.fetchone() or ["none"])[0])


@JAVASCRIPT
def test_changes_by_one_actor_are_asked_for_in_one_line_and_exported_with_the_question_in_the_name(
    browser: Browser, shop: Shop, *, has_javascript: bool
) -> None:
    with person(browser, shop, "write", has_javascript=has_javascript) as somebody:
        page = somebody.page
        somebody.open("audit")
        bar = page.get_by_role("search", name="Ask the log").get_by_label("Question")
        bar.focus()
        page.keyboard.type("actor:leo@shop.example table:customer 24h")
        page.keyboard.press("Enter")
        page.wait_for_url("**/audit?*actor=leo*")
        expect(page.locator("main")).to_contain_text("leo@shop.example")
        expect(page.get_by_role("region", name="Entries")).not_to_contain_text("mara@shop.example")
        export = page.get_by_role("link", name="Export CSV")
        export.focus()
        with page.expect_download() as download:
            page.keyboard.press("Enter")
        named = download.value.suggested_filename
        assert all(part in named for part in ("audit-log-", "actor-leo-shop-example", "table-customer", ".csv"))
        head, *entries = download.value.path().read_text().splitlines()
        assert "actor" in head.lower()
        assert len(entries) == 1
        assert "leo@shop.example" in entries[0]


@JAVASCRIPT
def test_an_endpoint_gets_a_filter_an_order_headers_and_a_client_certificate_after_the_filter_was_tried(
    browser: Browser, shop: Shop, tmp_path: Path, *, has_javascript: bool
) -> None:
    certificate, key = authority(tmp_path).client()
    name = f"By hand, script {has_javascript}"
    with person(browser, shop, "write", has_javascript=has_javascript) as somebody:
        page = somebody.page
        somebody.open("endpoints")
        page.get_by_role("link", name="Add endpoint").click()
        page.get_by_label("URL").fill("https://8.8.8.8/hook")
        page.get_by_label("Description").fill(name)
        page.get_by_label("order.placed").check()
        page.get_by_label("Filter", exact=True).fill("$.id > 0")
        page.locator("select[name=ordering]").select_option("key")
        page.get_by_label("Headers").fill("Authorization: Bearer x")
        page.get_by_text("TLS of a private receiver").click()
        page.get_by_label("Client certificate").fill(certificate)
        page.get_by_label("Its private key").fill(key)
        page.get_by_role("button", name="Try the filter").click()
        expect(page.get_by_text("Nothing is saved yet.")).to_be_visible()
        expect(page.get_by_role("table", name="The newest messages")).to_be_visible()
        assert endpoints_called(shop, name) == []
        if page.get_by_label("Its private key").input_value() == "":  # a secret is not sent back to a page
            if not page.get_by_label("Its private key").is_visible():
                page.get_by_text("TLS of a private receiver").click()
            page.get_by_label("Client certificate").fill(certificate)
            page.get_by_label("Its private key").fill(key)
        if page.get_by_label("Headers").input_value() == "":
            page.get_by_label("Headers").fill("Authorization: Bearer x")
        page.get_by_role("button", name="Add endpoint").click()
        assert page.get_by_label("Secret", exact=True).input_value().startswith("whsec_")
        assert endpoints_called(shop, name) == [("$.id > 0", "key", True, True)]


def endpoints_called(shop: Shop, description: str) -> list[tuple[object, ...]]:
    with psycopg.connect(shop.conninfo) as conn:
        return conn.execute(
            "select filter, ordering, headers is not null, tls is not null from svc.webhook_endpoints"
            " where description = %s",
            [description],
        ).fetchall()


@JAVASCRIPT
def test_a_secret_is_rotated_shown_once_and_the_change_is_on_record(
    browser: Browser, shop: Shop, *, has_javascript: bool
) -> None:
    with person(browser, shop, "write", has_javascript=has_javascript) as somebody:
        page = somebody.page
        somebody.open("endpoints")
        page.get_by_role("link", name="Warehouse").first.click()
        page.get_by_role("link", name="Rotate secret").click()
        page.get_by_role("button", name="Rotate secret").click()
        secret = page.get_by_label("Secret", exact=True).input_value()
        assert secret.startswith("whsec_")
        page.get_by_role("link", name="I have stored it").click()
        expect(page.get_by_role("heading", level=1)).to_contain_text("Warehouse")
        expect(page.locator("main")).to_contain_text("Old secret")
        assert secret not in somebody.look(page.url)
        page.get_by_role("link", name="wim@corp.example changed").first.click()
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        assert secret not in page.content()

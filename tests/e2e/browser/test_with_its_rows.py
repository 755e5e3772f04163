"""A record with its rows: the marks of the time line and a form move its two times, with a script and without."""

import re

import pytest
from playwright.sync_api import Browser, expect

from tests.e2e.browser.hostile_shop import Shop
from tests.e2e.browser.person import person

RECORD = "audit/records/public.customer/1"


@pytest.mark.parametrize("has_javascript", [False, True])
def test_the_states_of_all_are_at_the_time_of_the_mark(browser: Browser, shop: Shop, has_javascript: bool) -> None:  # noqa: FBT001
    with person(browser, shop, "read", has_javascript=has_javascript) as somebody:
        page = somebody.page
        somebody.open(RECORD)
        page.get_by_role("link", name="With its rows").click()
        order = page.get_by_role("row", name=re.compile("^orders 7"))
        customer = page.get_by_role("row", name=re.compile("^customer Jane "))
        expect(customer).to_contain_text("jane@elsewhere.example")
        expect(order.get_by_role("link", name="orders 7")).to_have_attribute("href", re.compile("/public.orders/7$"))
        page.get_by_label("State at, UTC").fill("2020-01-31T12:00:00")
        page.get_by_role("button", name="Compare").click()
        expect(page).to_have_url(re.compile("time=2020-01-31"))
        expect(order).to_contain_text("not there")
        marks = page.get_by_role("group", name="All changes").get_by_role("link", include_hidden=True)
        marks.first.click()  # of both times it moves the nearer one, which was now
        expect(page).to_have_url(re.compile("time=2020-01-31.*with="))
        expect(customer).to_contain_text("jane@shop.example")
        expect(customer).not_to_contain_text("jane@elsewhere.example")
        expect(order).to_contain_text("49.9")

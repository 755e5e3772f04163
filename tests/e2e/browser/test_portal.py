"""A customer in the portal: every page obeys the laws, whatever attackers wrote, and the way from link to secret."""

import re
from urllib.parse import urlsplit

import httpx
import psycopg
import pytest
from playwright.sync_api import Browser

from svc_pg.console.pages.portal_routes import PORTAL
from tests.e2e.browser.hostile_shop import UNBROKEN, Shop
from tests.e2e.browser.person import Person, person, walked
from tests.integration.console.serving import PREFIX
from tests.support.page_laws import Inspection, broken_laws, keyboard_laws
from tests.support.walking import Walk

BASE = f"{PREFIX}/ui/portal"
_ENDS = """() => [".brand span", ".who span", ".who button"].flatMap((each) => {
    const {left, right} = document.querySelector(each).getBoundingClientRect()
    return [left, right]
})"""


def api(shop: Shop) -> httpx.Client:
    return httpx.Client(
        base_url=shop.base_url + PREFIX, headers={"Authorization": f"Bearer {shop.session('admin')}"}, timeout=30
    )


def link(shop: Shop, tenant: str) -> str:
    with api(shop) as client:
        made = client.post("/webhooks/portal-sessions", json={"tenant": tenant})
    assert made.status_code == 201
    return f"{shop.base_url}{made.json()['path']}"


def enter(shop: Shop, customer: Person, tenant: str) -> str:
    """Open a link as a person does; returns the HTML of its page."""
    html = customer.look(link(shop, tenant))
    customer.page.get_by_role("button", name="Go on").click()
    customer.page.wait_for_url(f"**{BASE}/home")
    return html


def tenant_with_deliveries(shop: Shop) -> str:
    with api(shop) as client:
        endpoints = client.get("/webhooks/endpoints", params={"limit": "1000"}).json()["data"]
    tenants = [each["tenant"] for each in endpoints if each["tenant"]]
    assert tenants
    return str(tenants[0])


@pytest.mark.timeout(300)
def test_every_page_of_the_portal_obeys_the_laws(browser: Browser, shop: Shop) -> None:
    tenant = tenant_with_deliveries(shop)
    with person(browser, shop) as customer:
        html = customer.look(link(shop, tenant))
        broken = keyboard_laws(customer.page) + broken_laws(customer.page, html)
        enter(shop, customer, tenant)
        walk = Walk(start=customer.page.url, routes=PORTAL, base_path=BASE, each=1)
        broken += walked(walk, customer, Inspection())
        customer.watch.expected_statuses.add(401)
        customer.look(f"{shop.base_url}{BASE}/home")
        customer.context.clear_cookies()
        customer.page.evaluate("dispatchEvent(new Event('visibilitychange'))")  # which asks for a live page again
        customer.page.get_by_text("This visit is over").wait_for()
        html = customer.look(f"{shop.base_url}{BASE}/home")
        assert "This visit is over" in html
        broken += [f"over: {each}" for each in broken_laws(customer.page, html)]
    assert not broken, "\n".join(broken)
    assert walk.dead_links == set()
    assert {"/home", "/endpoints", "/endpoints/new", "/endpoints/:id", "/deliveries", "/events"} <= walk.met.keys()


def test_no_address_of_the_portal_leads_to_another_tenant(browser: Browser, shop: Shop) -> None:
    others = {shop.endpoints[name] for name in ("healthy", "failing", "paused", "globex")}
    with person(browser, shop) as customer:
        enter(shop, customer, "acme")
        walk = Walk(start=customer.page.url, routes=PORTAL, base_path=BASE, each=1)
        html = everything(walk, customer)
        foreign = others | foreign_deliveries(shop)
        assert [each for each in foreign if each in html] == []
        assert shop.endpoints["acme"] in html
        for page in ("endpoints/{}", "endpoints/{}/edit", "endpoints/{}/rotate", "endpoints/{}/end", "deliveries/{}"):
            for each in foreign:
                answer = customer.ask("portal", page.format(each))
                assert (answer.status, heading(answer.text())) == (404, "Not found"), page
        for page in ("overview", "audit", "tail", "tenants", "sessions", "system", "deliveries"):
            assert heading(customer.ask(page).text()) == "Sign in", page


def everything(walk: Walk, customer: Person) -> str:
    """The HTML of all pages."""
    html: list[str] = []

    def look(address: str) -> str:
        answer = customer.context.request.get(address)
        assert answer.status == 200, address
        html.append(answer.text())
        return html[-1]

    for _ in walk.pages(look):
        pass
    return "".join(html)


def heading(html: str) -> str:
    [found] = re.findall(r"<h1[^>]*>([^<]*)</h1>", html)
    return str(found).strip()


def foreign_deliveries(shop: Shop) -> set[str]:
    with psycopg.connect(shop.conninfo) as conn:
        found = conn.execute(
            "select id::text from svc.webhook_deliveries where endpoint_id <> %s order by id limit 5",
            [shop.endpoints["acme"]],
        )
        return {str(each) for (each,) in found}


@pytest.mark.parametrize(("tenant", "has_javascript"), [(UNBROKEN, True), ("initech", False)], ids=["script", "none"])
def test_a_customer_adds_an_endpoint_and_rotates_its_secret(
    browser: Browser, shop: Shop, tenant: str, *, has_javascript: bool
) -> None:
    with person(browser, shop, has_javascript=has_javascript) as customer:
        enter(shop, customer, tenant)
        page = customer.page
        page.set_viewport_size({"width": 360, "height": 900})
        ends = page.evaluate(_ENDS)
        assert ends == sorted(ends), "nothing in the bar covers anything else"
        assert ends[-1] <= 360
        assert page.get_by_text("You have no endpoints yet").is_visible()
        page.get_by_role("link", name="Add endpoint").click()
        page.get_by_label("URL").fill("http://127.0.0.1:9/customer")
        page.get_by_label("order.placed").check()
        page.get_by_role("button", name="Add endpoint").click()
        first = page.get_by_label("Secret").input_value()
        assert first.startswith("whsec_")
        page.get_by_role("link", name="I have stored it").click()
        page.get_by_role("link", name="Rotate secret").click()
        page.get_by_role("button", name="Rotate secret").click()
        assert page.get_by_label("Secret").input_value() != first
        page.get_by_role("link", name="I have stored it").click()
        assert urlsplit(page.url).path.startswith(f"{BASE}/endpoints/")
        page.get_by_role("button", name="Leave").click()
        assert page.get_by_text("This visit is over").is_visible()

"""Every page that links lead to obeys the laws of pages, for everybody who may see it, whatever it shows."""

from collections.abc import Sequence

import httpx
import pytest
from playwright.sync_api import Browser

from svc_pg.console.pages.routes import ROUTES
from svc_pg.settings import Permission
from tests.e2e.browser.hostile_shop import TERM, Shop
from tests.e2e.browser.person import person, walked
from tests.integration.console.serving import PREFIX
from tests.support.isolation import unisolated
from tests.support.page_laws import Inspection, broken_laws, keyboard_laws
from tests.support.walking import Form, Walk

pytestmark = pytest.mark.timeout(900)  # hundreds of pages, whatever else the machine does

SAME_ORIGIN = {"Sec-Fetch-Site": "same-origin"}
PERMISSIONS: Sequence[Permission] = ("admin", "write", "read")
"""The one that sees all that others see comes first."""
FILES = {
    "/audit/export",
    "/audit/offers",
    "/deliveries/offers",
    "/endpoints/offers",
    "/messages/offers",
    "/search/suggestions",
    "/audit/entries/:id/:side",
    "/audit/entries/:id/revert.sql",
    "/audit/records/:table/:id/certificate.json",
    "/audit/transactions/:id/revert.sql",
}
"""Files, which browsers save and do not show, and what the script asks for."""
AFTER_ERASURES = {"/audit/entries/:id/erasure"}
"""Pages of what this shop has none of: test_proofs.py looks at them."""
AFTER_FORMS = {"/tokens/made", "/endpoints/:id/secret", "/portal-links/:id", "/tenants/:id/gone"}
"""Pages to which a form leads, and no link."""
FOR_EVERYBODY = {"/sign-out", "/sessions/:id/revoke", "/theme", "/views"}
"""The actions of a session that may only read."""


def test_every_page_obeys_the_laws_for_everybody(browser: Browser, shop: Shop) -> None:
    inspection = Inspection()
    for permission in PERMISSIONS:
        with person(browser, shop, permission) as somebody:
            somebody.open()
            walk = new_walk(somebody.page.url, shop, each=2 if permission == "admin" else 1)
            broken = list(walked(walk, somebody, inspection))
        assert not broken, "\n".join(broken)
        assert walk.dead_links == set()
        if permission == "admin":
            pages = {each.path for each in ROUTES if each.method == "GET" and not (each.is_open or each.is_stream)}
            assert pages - walk.met.keys() == FILES | AFTER_FORMS | AFTER_ERASURES


def test_every_page_for_people_who_are_not_signed_in_obeys_the_laws(browser: Browser, shop: Shop) -> None:
    with person(browser, shop) as somebody:
        html = somebody.open("sign-in?next=javascript:alert(1)")
        broken = keyboard_laws(somebody.page) + broken_laws(somebody.page, html)
        somebody.page.get_by_label("Work address").fill("somebody@elsewhere.example")
        somebody.page.get_by_role("button", name="Mail me a code").click()
        somebody.page.wait_for_url("**/sign-in/code*")
        for path in sorted({route.path for route in ROUTES if route.method == "GET" and route.is_open} - {"/sign-in"}):
            html = somebody.open(path.removeprefix("/"))
            broken += [f"{path}: {each}" for each in broken_laws(somebody.page, html)]
        broken += somebody.watch.take()
        assert not broken, "\n".join(broken)


def test_no_link_is_dead_and_what_somebody_may_not_do_is_not_offered_and_is_refused(shop: Shop) -> None:
    with signed_in(shop, "admin") as admin, signed_in(shop, "read") as reader:
        everything, offered = (new_walk(first_page(shop, client), shop) for client in (admin, reader))
        for walk, client in ((everything, admin), (offered, reader)):
            for _ in walk.pages(lambda address, client=client: opened(client, address)):  # type: ignore[misc]
                pass
            for address in sorted(walk.other_links)[:100]:
                opened(client, address)
        own = {form.action for form in offered.forms if form.method == "POST"}
        assert {offered.pattern("POST", action) for action in own} <= FOR_EVERYBODY
        for form in {form.action: form for form in everything.forms if form.method == "POST"}.values():
            assert everything.pattern("POST", form.action), form
            assert sent(admin, form, {"Sec-Fetch-Site": "cross-site"}) == 403, form
            assert sent(admin, form, {}) == 403, form
            if form.action not in own:  # an action for everybody may be one upon what is somebody else's
                is_open = everything.pattern("POST", form.action) in FOR_EVERYBODY
                assert sent(reader, form, SAME_ORIGIN) == (404 if is_open else 403), form


def test_no_text_of_others_turns_around_our_words_or_hides_its_characters(shop: Shop) -> None:
    for permission in PERMISSIONS:
        with signed_in(shop, permission) as client:
            walk, pages = new_walk(first_page(shop, client), shop, each=4), dict[str, str]()

            def look(address: str, client: httpx.Client = client, pages: dict[str, str] = pages) -> str:
                pages[address] = opened(client, address)
                return pages[address]

            broken = {
                f"{path}: {each}" for address, path in walk.pages(look) for each in unisolated(pages.pop(address))
            }
        assert broken == set(), "\n".join(sorted(broken))


def new_walk(start: str, shop: Shop, *, each: int = 2) -> Walk:
    # the newest entries are of tables that have no such pages
    also = [f"{shop.pages}/audit/records/public.customer/1", f"{shop.pages}/audit/entries/{shop.update}"]
    return Walk(start, ROUTES, f"{PREFIX}/ui", term=TERM, each=each, limit=max(160, 60 * each), also=also)


def first_page(shop: Shop, client: httpx.Client) -> str:
    """The address of the page that somebody sees first."""
    return str(client.get(shop.pages, follow_redirects=True).url)


def signed_in(shop: Shop, permission: Permission) -> httpx.Client:
    """A client without a browser."""
    return httpx.Client(cookies={"svc_console": shop.session(permission)}, timeout=20)


def opened(client: httpx.Client, address: str) -> str:
    response = client.get(address, follow_redirects=True)
    assert response.status_code == 200, address
    return response.text


def sent(client: httpx.Client, form: Form, headers: dict[str, str]) -> int:
    fields: dict[str, list[str]] = {}
    for name, value in form.fields:
        fields.setdefault(name, []).append(value)
    return client.post(form.action, data=fields, headers=headers, follow_redirects=True).status_code

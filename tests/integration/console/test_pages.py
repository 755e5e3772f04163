"""The frame of all pages: policy, static files, problems as pages, prefixes, navigation."""

import re
from collections.abc import Iterator
from datetime import timedelta

import httpx
import pytest

from svc_pg.console import AuthenticatedRequest, ConsoleResponse, Problem, Product, ProductEndpoint
from svc_pg.console.pages import assets, routes
from svc_pg.console.pages.answers import Answer, Html
from svc_pg.console.pages.page_request import PageRequest
from svc_pg.console.pages.page_route import PageRoute
from tests.integration.console.browsing import OWN, POLICY, UI, Browser, Document, assert_strict, signed_in, token
from tests.integration.console.serving import (
    LEAKED,
    ORIGIN,
    PREFIX,
    new_console,
    raw_request,
    serving,
    serving_installed,
)

BASE = f"{PREFIX}{UI}"


@pytest.fixture(scope="module")
def client() -> Iterator[httpx.Client]:
    """A console without a database."""
    with serving_installed(new_console()) as client:
        client.timeout = httpx.Timeout(30)
        yield client


STATIC = ["console.css", "console.js", "icons.svg", "logo.svg"]


def test_static_files_are_kept_under_their_version_only(client: httpx.Client) -> None:
    browser = Browser(client)
    for name in STATIC:
        version = assets.version(name)
        kept = browser.ask("GET", f"/static/{name}?v={version}")
        assert (kept.status_code, kept.content) == (200, assets.find(name).content)
        assert kept.headers["cache-control"] == "public, max-age=31536000, immutable"
        assert kept.headers["content-type"].startswith(("text/", "image/svg+xml"))
        assert "set-cookie" not in kept.headers
        for other in (f"/static/{name}", f"/static/{name}?v=0"):
            assert browser.ask("GET", other).headers["cache-control"] == "no-cache"


@pytest.mark.parametrize(
    "name",
    ["..%2f..%2f..%2fapp.py", "%2e%2e/site.py", "../site.py", "console.css/", "..\\site.py", "%00", "__init__.py"],
)
def test_static_names_lead_to_no_other_file(client: httpx.Client, name: str) -> None:
    status, headers, content = raw_request(
        str(client.base_url).removesuffix(f"{PREFIX}/"), "GET", f"{BASE}/static/{name}"
    )
    assert status in (303, 404)
    assert headers["content-security-policy"] == POLICY
    assert b"import" not in content.replace(b"important", b"")


def test_everything_static_is_small() -> None:
    assert sum(len(assets.find(name).content) for name in STATIC) < 200 * 1024


def test_every_answer_has_the_policy_and_a_request_id(client: httpx.Client) -> None:
    browser = signed_in(client, "read")
    seen = {}
    for method, address, headers in (
        ("GET", "", {}),
        ("GET", "/", {}),
        ("GET", "/sign-in", {}),
        ("HEAD", "/sign-in", {}),
        ("OPTIONS", "/sign-in", {"Origin": ORIGIN, "Access-Control-Request-Method": "POST"}),
        ("GET", "/tokens", {}),
        ("GET", "/missing", {}),
        ("GET", "/missing", {"Cookie": "a=b"}),
        ("POST", "/sign-out", {}),
        ("PUT", "/sign-in", OWN),
        ("GET", "/static/console.css", {}),
        ("GET", "/static/missing", {}),
    ):
        answer = browser.ask(method, address, **headers)  # asserts the policy
        assert answer.headers["x-request-id"]
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "same-origin"
        assert answer.headers["cross-origin-resource-policy"] == "same-origin"
        assert not [name for name in answer.headers if name.startswith("access-control")], (
            "no page is for other origins"
        )
        assert answer.headers["cache-control"] == ("no-cache" if address.endswith(".css") else "no-store")
        if answer.headers.get("content-type", "").startswith("text/html"):
            assert_strict(answer.text)
        seen[method, address, headers.get("Cookie")] = answer.status_code
    assert list(seen.values()) == [303, 303, 200, 200, 204, 403, 404, 303, 403, 404, 200, 404]


def test_a_page_without_a_database_says_so(client: httpx.Client) -> None:
    page = signed_in(client, "admin").ask("GET", "/sessions")
    assert page.status_code == 503
    assert "The database does not answer as it should" in page.text
    assert f"503 · request {page.headers['x-request-id']}" in page.text
    assert f'href="{BASE}/sessions">Try again' in page.text


def test_a_page_that_one_may_not_see_names_the_permission(client: httpx.Client) -> None:
    page = signed_in(client, "read").ask("GET", "/tokens")
    assert page.status_code == 403
    assert "This needs the permission admin" in page.text
    assert "You are signed in as <bdi>ann@corp.example</bdi> with <code>read</code>" in page.text
    assert page.headers["x-request-id"] in page.text
    assert "www-authenticate" not in page.headers


def test_a_session_that_is_over_leads_to_the_sign_in(client: httpx.Client) -> None:
    browser = Browser(client)
    browser.cookies["svc_console"] = token("admin", lifetime=-timedelta(minutes=5))
    assert browser.get("/sessions").url.params["next"] == f"{BASE}/sessions"


def test_the_address_of_the_console_leads_browsers_to_the_pages(client: httpx.Client) -> None:
    page = client.get("/", headers={"Accept": "text/html,*/*;q=0.8"})
    assert (page.status_code, page.headers["content-security-policy"]) == (303, POLICY)
    assert page.headers["location"].startswith(f"{BASE}/")
    for path in ("/", "/console", "/audit/", "/webhooks"):
        answer = client.get(path, headers={"Accept": "*/*"})
        assert answer.headers["content-type"] == "application/problem+json", "the specification has no such route"
        pages, document = re.findall(r"/\.well-known\S+?(?=[;. ] |; | describes)", answer.json()["detail"])
        assert client.get(pages.removeprefix("/.well-known/svc")).status_code == 303
        assert client.get(document.removeprefix("/.well-known/svc")).json()["openapi"]


async def _failing(_request: PageRequest) -> Answer:
    raise RuntimeError(LEAKED)


async def _half_made(_request: PageRequest) -> Answer:
    return Html("sessions", {})


async def _sold_out(_request: AuthenticatedRequest) -> ConsoleResponse:
    raise Problem(409, "sold_out", "Nothing <b>is</b> left.")


async def _buying(visit: PageRequest) -> Answer:
    await visit.api.post(object, "shop-floor", "orders", body={"count": 1})
    raise AssertionError


def test_a_theme_is_chosen_without_a_script_and_kept_in_the_browser(client: httpx.Client) -> None:
    browser = signed_in(client, "read")
    address, host = f"{BASE}/nowhere?a=1", f"http://{client.base_url.netloc.decode()}"
    assert "data-theme" not in browser.get("/nowhere?a=1").text
    for theme in ("dark", "light"):
        answer = browser.ask("POST", "/theme", {"theme": theme}, **OWN, Referer=f"{host}{address}")
        assert (answer.status_code, answer.headers["location"]) == (303, address)
        assert "Max-Age=31536000; HttpOnly; SameSite=Strict" in browser.set_cookies[0]
        page = browser.get("/nowhere?a=1").text
        assert f'<html lang="en" data-theme="{theme}"' in page
        assert f'value="{theme}" aria-describedby="theme" aria-pressed="true"' in page
    for back in (f"https://evil.example{address}", "//evil.example", f"{host}{BASE}x", f"{host}/", "http://[", ""):
        answer = browser.ask("POST", "/theme", {"theme": "dark"}, **OWN, Referer=back)
        assert (answer.status_code, answer.headers["location"]) == (303, BASE), back
    assert browser.ask("POST", "/theme", {"theme": "dark"}, **{"Sec-Fetch-Site": "cross-site"}).status_code == 403
    assert browser.ask("POST", "/theme", {"theme": '"><script>'}, **OWN).status_code == 422
    browser.cookies["svc_theme"] = '"><script>alert(1)'
    assert "data-theme" not in browser.get("/nowhere").text
    browser.cookies["svc_theme"] = "light; svc_theme=dark"  # the portal's own, and the console's after it
    assert 'data-theme="light"' in browser.get("/nowhere").text
    browser.ask("POST", "/theme", {"theme": "system"}, **OWN)
    assert "svc_theme" not in browser.cookies
    assert "data-theme" not in browser.get("/nowhere").text


def test_failures_become_pages_that_tell_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    more = [PageRoute("GET", path, view) for path, view in (("/failing", _failing), ("/half", _half_made))]
    monkeypatch.setattr("svc_pg.console.app.ROUTES", [*routes.ROUTES, *more, PageRoute("GET", "/buying", _buying)])
    endpoint = ProductEndpoint(method="POST", path="/orders", handler=_sold_out, required_permission="write")
    with serving_installed(new_console(Product(id="shop-floor", name="Floor", endpoints=[endpoint]))) as client:
        for address in ("/failing", "/half"):
            page = signed_in(client, "admin").ask("GET", address)
            assert (page.status_code, LEAKED in page.text) == (500, False)
            assert f"at the request {page.headers['x-request-id']}" in page.text
        refused = signed_in(client, "write").ask("GET", "/buying")
        assert (refused.status_code, "Nothing &lt;b&gt;is&lt;/b&gt; left." in refused.text) == (409, True)
        assert signed_in(client, "read").ask("GET", "/buying").status_code == 403


def links(page: httpx.Response) -> set[str]:
    document = Document(page.text)
    return {link for name in ("href", "src", "action") for link in document.values(name) if not link.startswith("#")}


def test_pages_work_below_a_root_path_and_behind_the_prefix_of_a_proxy() -> None:
    console = new_console()
    for options in ({"root_path": "/shop floor"}, {"root_path": ""}):
        with (
            serving(console.asgi, **options) as base_url,
            httpx.Client(base_url=f"{base_url}{PREFIX}") as client,
        ):
            root = options["root_path"].replace(" ", "%20")
            page = client.get("ui/sessions", follow_redirects=False)
            assert page.headers["location"].startswith(f"{root}{BASE}/sign-in?next=")
            form = client.get("ui/sign-in")
            assert links(form)
            assert all(link.startswith(f"{root}{BASE}/") for link in links(form))
            begun = client.post("ui/sign-in", headers=OWN)
            assert begun.headers["location"] == f"{root}{BASE}"
            assert f"; Path={root}{BASE};" in begun.headers["set-cookie"]


def test_one_is_offered_only_what_one_may_look_at(client: httpx.Client) -> None:
    for browser, is_offered in ((signed_in(client, "read"), False), (signed_in(client, "admin"), True)):
        page = browser.ask("GET", "/missing")
        assert (f'href="{BASE}/tokens"' in page.text) is is_offered
        assert f'action="{BASE}/sign-out"' in page.text

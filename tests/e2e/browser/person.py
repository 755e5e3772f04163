"""A person at a browser: a watched context of its own, signed in or not."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from urllib.parse import urlsplit

from playwright.sync_api import APIResponse, Browser, BrowserContext, Page

from svc_pg.settings import Permission
from tests.e2e.browser.hostile_shop import Shop
from tests.integration.console.serving import PREFIX
from tests.support.page_laws import Inspection, Watch, watched
from tests.support.walking import Walk

PATIENCE_MS = 10_000


@dataclass(frozen=True)
class Person:
    """A person with one tab open."""

    shop: Shop
    context: BrowserContext
    page: Page
    watch: Watch

    def open(self, *segments: str) -> str:
        """Open a page by its path, for example ``"webhooks", "deliveries"``; returns its HTML."""
        return self.look(self._address(segments))

    def ask(self, *segments: str) -> APIResponse:
        """Request a page with the browser's cookies, without showing it."""
        return self.context.request.get(self._address(segments))

    def look(self, address: str) -> str:
        """Open a page by its address; returns the HTML that the server sent."""
        response = self.page.goto(address)
        assert response is not None
        return response.text()

    def _address(self, segments: Sequence[str]) -> str:
        return "/".join([self.shop.pages, *segments])


@contextmanager
def person(
    browser: Browser, shop: Shop, permission: Permission | None = None, *, has_javascript: bool = True
) -> Iterator[Person]:
    """Enter to begin; leaving fails if a page made a request elsewhere, opened a dialog or had an error."""
    context = browser.new_context(java_script_enabled=has_javascript, reduced_motion="reduce")
    context.set_default_timeout(PATIENCE_MS)
    if permission is not None:
        give_session(context, shop, shop.session(permission))
    try:
        with watched(context, shop.base_url) as watch:
            yield Person(shop, context, context.new_page(), watch)
    finally:
        context.close()


def give_session(context: BrowserContext, shop: Shop, token: str) -> None:
    """Give the browser the cookie of a session."""
    host = urlsplit(shop.base_url).hostname
    context.add_cookies(
        [{"name": "svc_console", "value": token, "domain": host, "path": f"{PREFIX}/ui", "sameSite": "Strict"}]
    )


def walked(walk: Walk, somebody: Person, inspection: Inspection) -> Iterator[str]:
    """Walk the pages, and return the laws that they break, each after the page's address."""
    html: dict[str, str] = {}

    def look(address: str) -> str:
        html[address] = somebody.look(address)
        return html[address]

    for address, path in walk.pages(look):
        found = inspection.broken_laws(somebody.page, html.pop(address), path)
        yield from (f"{address}: {each}" for each in found + somebody.watch.take())

"""Walk through the demo's pages along their links, within bounds."""

import re
from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from html.parser import HTMLParser
from http import HTTPStatus
from typing import Final
from urllib.parse import unquote, urljoin, urlsplit

from svc_pg.console.http.routing import Router
from svc_pg.console.pages import cookies
from svc_pg.console.pages.page_route import PageRoute
from svc_pg.console.pages.routes import ROUTES
from svc_pg.errors import SvcError

from ..client import Response, request

FIRST: Final = "index.html"
READ_ONLY: Final = "read-only.html"
MOST_REQUESTS: Final = 500
"""Fewer than the calls of a session within a minute."""
MOST_BYTES: Final = 12_000_000
"""Of all pages, before they are rewritten."""
MOST_BYTES_OF_A_PAGE: Final = 500_000
DEEPEST: Final = 8
"""The most links from the first page to another."""
_EACH: Final = 45
_EACH_FILTERED: Final = 12
"""The most pages of one path, and of one with a query."""
_FEWER: Final = {
    "/audit/entries/:id/revert": 10,
    "/audit/transactions/:id/revert": 10,
    "/audit/records/:table/:id/as-of": 15,
    "/tail": 1,
}
_LONGEST_NAME: Final = 90


@dataclass(frozen=True, slots=True)
class Page:
    """A page, its address without the server, and the name of its file."""

    address: str
    name: str
    html: str


class Walk:
    """A walk through the pages of ``console``, signed in with ``token``; ``pages`` has those that were opened."""

    def __init__(self, console: str, token: str) -> None:
        self.console = console
        self.token = token
        self.began_at = datetime.now(UTC)
        split = urlsplit(console)
        self._server = f"{split.scheme}://{split.netloc}"
        self._base = f"{split.path}/ui"
        self._headers = {"Cookie": f"{cookies.SESSION}={token}"}
        self._router: Router[PageRoute] = Router()
        self._router.add_all((route.method, route.path, route) for route in ROUTES)
        self._files: dict[str, str] = {}
        self._names = {FIRST, READ_ONLY}
        self._waiting: deque[tuple[str, int]] = deque()
        self._known: set[str] = set()
        self._opened: Counter[tuple[str, bool]] = Counter()
        self._no_pages: set[str] = set()
        self._requests = 0
        self._bytes = 0
        self.pages: list[Page] = []

    async def begin(self, path: str) -> None:
        """Open the first page. Raises SvcError."""
        await self._open(f"{self._base}/{path}", depth=0)
        self._files[self._base] = FIRST

    async def open(self, path: str) -> str:
        """Open a page before those that wait, and give the name of its file. Raises SvcError if there is none."""
        address = f"{self._base}/{path}"
        await self._open(address, depth=1)
        return self._files[address]

    async def go_on(self) -> None:
        """Open the pages to which links lead, nearest first. Raises SvcError for a link to a page that is none."""
        while self._waiting:
            address, depth = self._waiting.popleft()
            if address not in self._files and self._is_wanted(address, depth):
                await self._open(address, depth=depth)

    def file_of(self, address: str) -> str | None:
        """The file of an address without the server; None if its page was not opened."""
        return self._files.get(address)

    def _is_wanted(self, address: str, depth: int) -> bool:
        route = self._route(address)
        if route is None or route.is_open or route.is_stream or route.leads_to_change or route.path in self._no_pages:
            return False
        has_query = bool(urlsplit(address).query)
        most = min(_EACH_FILTERED if has_query else _EACH, _FEWER.get(route.path, _EACH))
        is_within = depth <= DEEPEST and self._requests < MOST_REQUESTS and self._bytes < MOST_BYTES
        return is_within and self._opened[route.path, has_query] < most

    def _route(self, address: str) -> PageRoute | None:
        path = urlsplit(address).path.removeprefix(self._base).strip("/")
        found = self._router.find("GET", [unquote(segment) for segment in path.split("/")])
        return None if found is None else found.target

    async def _open(self, address: str, *, depth: int) -> None:
        response = await self._get(address)
        if response.status == HTTPStatus.SEE_OTHER:  # the tail, to where it begins
            response = await self._get(urljoin(address, response.headers["location"]))
        route = self._route(address)
        if response.status != HTTPStatus.OK or route is None:
            raise SvcError(f"the console answered {response.status} to {address}, to which a page leads")
        is_page = response.headers["content-type"].startswith("text/html")
        if not is_page or len(response.body) > MOST_BYTES_OF_A_PAGE:
            self._no_pages.update(() if is_page else [route.path])
            return
        self._opened[route.path, bool(urlsplit(address).query)] += 1
        self._bytes += len(response.body)
        html = response.body.decode()
        self._files[address] = FIRST if not self.pages else self._new_name(address)
        self.pages.append(Page(address, self._files[address], html))
        for link in links(html, address):
            if link not in self._known and link.startswith(f"{self._base}/"):
                self._known.add(link)
                self._waiting.append((link, depth + 1))

    async def _get(self, address: str) -> Response:
        self._requests += 1
        return await request("GET", f"{self._server}{address}", headers=self._headers)

    def _new_name(self, address: str) -> str:
        """A name that every file system takes, and of which small and capital letters are one."""
        words = re.sub(r"[^a-z0-9.]+", "-", unquote(address.removeprefix(self._base)).lower()).strip("-.")
        wanted = words[:_LONGEST_NAME] or "page"
        name, number = f"{wanted}.html", 1
        while name in self._names:
            number += 1
            name = f"{wanted}-{number}.html"
        self._names.add(name)
        return name


def links(html: str, address: str) -> Iterator[str]:
    """The addresses to which a page leads, without those of files and of parts of pages."""
    reader = _Links()
    reader.feed(html)
    reader.close()
    for href in reader.found:
        yield urljoin(address, href).partition("#")[0]


class _Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "a" and given.get("href") and "download" not in given:
            self.found.append(given["href"] or "")

"""Photograph every page of the console on the demo's data: ``python -m tests.screenshots FOLDER``.

Each page to which links lead, and each state of ``tests/support/page_states.py``, is taken at 1440 and 360 px, light
and dark, in its full length. Options choose among them; with ``--readme``, only the three of README.
"""

import argparse
import json
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import httpx
from playwright.sync_api import Browser, BrowserContext, Page, ViewportSize
from playwright.sync_api import Error as PlaywrightError

from svc_pg.console.pages.routes import ROUTES
from tests.integration.console.serving import PREFIX
from tests.support.browser import EXECUTABLE, executable, started
from tests.support.commands import PROGRAM, environment
from tests.support.gallery import Gallery, gallery
from tests.support.page_laws import THEMES, WIDTHS, Theme
from tests.support.page_states import STATES, Visitor
from tests.support.walking import Walk, parameters

_HEIGHT: Final = 900
_PATIENCE_MS: Final = 10_000


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.screenshots", description=__doc__)
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="where to write the PNG files")
    parser.add_argument("--only", metavar="WORD", default="", help="only pages whose name contains this")
    parser.add_argument("--states", action="store_true", help="only the states, without the pages that links lead to")
    parser.add_argument("--pages", action="store_true", help="only the pages that links lead to, without the states")
    parser.add_argument("--width", type=int, choices=WIDTHS, action="append", help="only this width")
    parser.add_argument("--theme", choices=THEMES, action="append", help="only this theme")
    parser.add_argument("--without-script", action="store_true", help="as browsers without JavaScript show them")
    parser.add_argument("--readme", action="store_true", help="only the three pictures of README")
    options = parser.parse_args()
    program = executable()
    if program is None:
        sys.stderr.write(f"error: no Chromium is installed; install one, or name it in {EXECUTABLE}\n")
        return 1
    options.folder.mkdir(parents=True, exist_ok=True)
    with started(program) as browser:
        if options.readme:
            with demo() as (console, token):
                _photograph_for_readme(browser.new_context(reduced_motion="reduce"), console, token, options.folder)
            return 0
        widths, themes = options.width or WIDTHS, options.theme or THEMES
        pictures = Pictures(browser, options.folder, options.only, widths, themes, not options.without_script)
        if not options.states:
            pictures.take_pages()
        return 1 if not options.pages and pictures.take_states() else 0


@dataclass(frozen=True)
class Pictures:
    """Takes pictures into a folder, of what has the word ``only`` in its name."""

    browser: Browser
    folder: Path
    only: str
    widths: Sequence[int]
    themes: Sequence[Theme]
    has_script: bool

    def take_pages(self) -> None:
        """Take the pages to which links lead from the first one."""
        with demo() as (console, token):
            for name, page in _pages(self._context(), console, token):
                if self.only in name:
                    self._take(page, name)

    def take_states(self) -> list[str]:
        """Take the states; returns those to which the way failed."""
        failed = []
        wanted = [each for each in STATES if self.only in each.name and (self.has_script or not each.needs_script)]
        with gallery() as shop:
            contexts = {visitor: self._visiting(shop, visitor) for visitor in {each.visitor for each in wanted}}
            for state in wanted:
                page = contexts[state.visitor].new_page()
                try:
                    state.way(page, shop)
                    page.emulate_media(media="print" if state.is_printed else "screen")
                    self._take(page, f"state-{state.name}")
                except (PlaywrightError, AssertionError, httpx.HTTPError, LookupError, ValueError) as error:
                    failed.append(state.name)
                    sys.stderr.write(f"{state.name}: {str(error)[:300]}\n")
                page.close()
        return failed

    def _take(self, page: Page, name: str) -> None:
        for width in self.widths:
            page.set_viewport_size(ViewportSize(width=width, height=_HEIGHT))
            length: int = page.evaluate("() => document.documentElement.scrollHeight")
            page.set_viewport_size(ViewportSize(width=width, height=max(length, _HEIGHT)))
            for theme in self.themes:
                page.emulate_media(color_scheme=theme)
                page.screenshot(path=self.folder / f"{name}-{width}-{theme}.png")
        sys.stdout.write(f"{name}\n")

    def _context(self) -> BrowserContext:
        return self.browser.new_context(reduced_motion="reduce", java_script_enabled=self.has_script)

    def _visiting(self, shop: Gallery, visitor: Visitor) -> BrowserContext:
        context = self._context()
        context.set_default_timeout(_PATIENCE_MS)
        if visitor == "customer":
            page = context.new_page()
            page.goto(shop.link())
            page.get_by_role("button", name="Go on").click()
            page.close()
        elif visitor != "nobody":
            _sign_in(context, f"{shop.base_url}{PREFIX}", shop.token(visitor))
        return context


@contextmanager
def demo() -> Iterator[tuple[str, str]]:
    """Enter to run the demo; gives the console's address and a session's token."""
    with subprocess.Popen([PROGRAM, "demo", "--json"], env=environment(), stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            document, decoder = "", json.JSONDecoder()
            for line in process.stdout:
                document += line
                if line.rstrip() == "}":
                    break
            shown, _ = decoder.raw_decode(document)
            yield shown["consoleUrl"], shown["consoleToken"]
        finally:
            process.terminate()  # SIGINT would be ignored, as it is by all that a shell runs in its background


def _photograph_for_readme(context: BrowserContext, console: str, token: str, folder: Path) -> None:
    """Take README's pictures: the overview, the life of a record, and a delivery about it."""
    _sign_in(context, console, token)
    page = context.new_page()
    page.set_viewport_size(ViewportSize(width=1200, height=740))
    page.goto(f"{console}/ui/system")  # compares with the configuration, which the overview does not wait for
    page.goto(f"{console}/ui/overview?window=1h")
    page.screenshot(path=folder / "console-overview.png")
    page.goto(f"{console}/ui/audit/records/public.orders/900")
    page.screenshot(path=folder / "console-record.png")
    page.locator(".ties li", has_text=re.compile("Failed|Pending")).get_by_role("link").first.click()
    page.wait_for_load_state()
    page.screenshot(path=folder / "console-delivery.png")


def _sign_in(context: BrowserContext, console: str, token: str) -> None:
    split = urlsplit(console)
    context.add_cookies([{"name": "svc_console", "value": token, "domain": split.hostname, "path": f"{split.path}/ui"}])


def _pages(context: BrowserContext, console: str, token: str) -> Iterator[tuple[str, Page]]:
    """Open each page, with a name for its picture."""
    base_path = f"{urlsplit(console).path}/ui"
    page = context.new_page()
    page.goto(f"{console}/ui/sign-in")
    yield "sign-in", page
    _sign_in(context, console, token)

    def look(address: str) -> str:
        response = page.goto(address)
        assert response is not None
        return response.text()

    page.goto(f"{console}/ui")
    walk = Walk(page.url, ROUTES, base_path, term="orders", each=1)
    for address, path in walk.pages(look):
        yield "-".join([*re.findall(r"\w+", path), *parameters(address)]), page


if __name__ == "__main__":
    sys.exit(main())

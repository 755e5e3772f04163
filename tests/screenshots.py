"""Photograph every page of the console on the demo's data: ``python -m tests.screenshots FOLDER``.

Each page is taken at 1440 and 360 px, light and dark, in its full length; with ``--readme``, only the three of README.
"""

import argparse
import json
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from playwright.sync_api import BrowserContext, Page, ViewportSize

from svc_pg.console.pages.routes import ROUTES
from tests.support.browser import EXECUTABLE, executable, started
from tests.support.commands import PROGRAM, environment
from tests.support.page_laws import THEMES, WIDTHS
from tests.support.walking import Walk, parameters

_HEIGHT: Final = 900


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.screenshots", description=__doc__)
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="where to write the PNG files")
    parser.add_argument("--only", metavar="WORD", default="", help="only pages whose name contains this")
    parser.add_argument("--readme", action="store_true", help="only the three pictures of README")
    options = parser.parse_args()
    program = executable()
    if program is None:
        sys.stderr.write(f"error: no Chromium is installed; install one, or name it in {EXECUTABLE}\n")
        return 1
    options.folder.mkdir(parents=True, exist_ok=True)
    with demo() as (console, token), started(program) as browser:
        context = browser.new_context(reduced_motion="reduce")
        if options.readme:
            _photograph_for_readme(context, console, token, options.folder)
            return 0
        for name, page in _pages(context, console, token):
            if options.only in name:
                _photograph(page, options.folder / name)
                sys.stdout.write(f"{name}\n")
    return 0


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
            process.send_signal(signal.SIGINT)


def _photograph_for_readme(context: BrowserContext, console: str, token: str, folder: Path) -> None:
    """Take README's pictures: the overview, the life of a record, and a delivery about it."""
    _sign_in(context, console, token)
    page = context.new_page()
    page.set_viewport_size(ViewportSize(width=1200, height=800))
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


def _photograph(page: Page, file: Path) -> None:
    for width in WIDTHS:
        page.set_viewport_size(ViewportSize(width=width, height=_HEIGHT))
        length: int = page.evaluate("() => document.documentElement.scrollHeight")
        page.set_viewport_size(ViewportSize(width=width, height=max(length, _HEIGHT)))
        for theme in THEMES:
            page.emulate_media(color_scheme=theme)
            page.screenshot(path=file.with_name(f"{file.name}-{width}-{theme}.png"))


if __name__ == "__main__":
    sys.exit(main())

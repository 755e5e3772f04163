"""The demo as files: a stranger clicks through it, from a server of files or from a disk, and nothing leads nowhere."""

import re
import socket
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.support import page_laws
from tests.support.exported_demo import LIMIT_SECONDS, Read, broken_laws, export

pytestmark = pytest.mark.timeout(LIMIT_SECONDS)

KINDS = (
    "audit", "audit-entries-", "audit-records-", "audit-transactions-", "coverage", "deliveries", "deliveries-",
    "endpoints", "endpoints-", "events-", "overview", "sessions", "system", "tail", "tenants-", "tokens", "activity",
)  # fmt: skip


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return export(tmp_path_factory.mktemp("export") / "shop")


@pytest.fixture(scope="module")
def folder(told: dict[str, Any]) -> Path:
    return Path(told["folder"])


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[str]:
    """The address of the first page on a server of files, below another path than the root."""
    handler = partial(SimpleHTTPRequestHandler, directory=str(folder.parent))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/{folder.name}/"
        finally:
            server.shutdown()
            thread.join()


def test_every_link_leads_to_a_file_and_no_file_tells_of_this_machine(told: dict[str, Any], folder: Path) -> None:
    machine = rf"\b{re.escape(socket.gethostname())}:\d"
    assert list(broken_laws(folder, secrets=[machine, re.escape(str(Path.home())) + "/"])) == []
    assert told["pages"] == len(list(folder.glob("*.html")))
    assert told["bytes"] == sum(file.stat().st_size for file in folder.iterdir())
    assert (told["pages"] <= 500, told["bytes"] <= 12_000_000) == (True, True)


def test_every_kind_of_page_is_there_and_a_link_leads_to_each(folder: Path) -> None:
    names = {file.name for file in folder.glob("*.html")}
    assert [kind for kind in KINDS if not any(name.startswith(kind) for name in names)] == []
    assert [*folder.glob("endpoints-*-outage.html")]
    read = {name: Read((folder / name).read_text(encoding="utf-8")) for name in names}
    met, waiting = {"index.html"}, ["index.html"]
    while waiting:
        found = {address.partition("#")[0] for address in read[waiting.pop()].addresses} & names
        waiting += found - met
        met |= found
    assert names - met == set()


@pytest.mark.parametrize("place", ["a server", "a disk"])
def test_a_stranger_follows_the_story_and_what_would_act_says_that_the_copy_is_read_only(
    browser: Browser, folder: Path, server: str, place: str
) -> None:
    start = server if place == "a server" else (folder / "index.html").as_uri()
    page, problems = watched(browser)
    page.goto(start)
    expect(page.get_by_text("A read-only copy of the demo")).to_be_visible()
    expect(page.locator("nav svg.i").first).to_be_visible()
    assert page.locator("nav svg.i use").first.evaluate("(each) => each.getBBox().width") > 0
    assert page.evaluate("getComputedStyle(document.documentElement).colorScheme") == "light dark"  # of the style sheet
    page.get_by_role("link", name="the order that was placed at that price").click()
    expect(page.get_by_role("heading", level=1)).to_have_text(re.compile("orders.*900"))
    page.locator(".ties li", has_text=re.compile("Pending|Failed")).get_by_role("link").first.click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("order.canceled")
    for name, heading in (("System", "System"), ("Coverage", "Coverage"), ("Endpoints", "Endpoints")):
        page.get_by_role("navigation").get_by_role("link", name=name).click()
        expect(page.get_by_role("heading", level=1)).to_contain_text(heading)
    page.get_by_role("search").get_by_role("searchbox").fill("orders 900")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("This copy is read-only")
    assert page.url.partition("?")[0].endswith("/read-only.html")
    page.get_by_role("link", name="To the first page").click()
    page.get_by_role("link", name="its outage").click()
    page.get_by_role("main").get_by_role("button").last.click()
    expect(page.get_by_role("heading", level=1)).to_have_text("This copy is read-only")
    assert problems == []
    page.close()


def test_its_pages_obey_the_laws_of_pages(browser: Browser, server: str) -> None:
    page, problems = watched(browser)
    page.goto(server)
    links = page.locator(".note").first.get_by_role("link")
    story: list[str] = links.evaluate_all("(all) => all.map((each) => each.href)")
    assert len(story) == 5
    for address in [page.url, *story]:
        page.goto(address)
        assert page_laws.broken_laws(page, page.content()) == [], address
    assert problems == []
    page.close()


def watched(browser: Browser) -> tuple[Page, list[str]]:
    """A page, and the list of what it complains of."""
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    problems: list[str] = []
    page.on("console", lambda message: problems.append(message.text))
    page.on("requestfailed", lambda request: problems.append(request.url))
    page.on("response", lambda response: problems.append(response.url) if response.status >= 400 else None)
    return page, problems

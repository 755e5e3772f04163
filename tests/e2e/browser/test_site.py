"""The documentation as a site: no example is cut, each can be copied, and the search knows people's words."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.support.documents import ROOT

pytestmark = pytest.mark.timeout(600)  # of a hundred pages, made and shown

CUT = """() => [...document.querySelectorAll("article pre, article table")]
    .filter((each) => each.scrollWidth > each.parentElement.clientWidth + 1)
    .map((each) => each.textContent.trim().slice(0, 80))"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build it as CONTRIBUTING.md says: a warning is an error."""
    folder = tmp_path_factory.mktemp("site")
    shop = folder / "extra" / "shop"
    shop.mkdir(parents=True)
    (shop / "index.html").write_text("<h1>The shop</h1>")
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-d", str(folder / "doctrees")]
    command += ["-D", f"html_extra_path={folder / 'extra'}"]
    built = subprocess.run([*command, str(ROOT / "docs"), str(folder / "html")], capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    return folder / "html"


@pytest.fixture(scope="module")
def page(browser: Browser) -> Page:
    return browser.new_page(viewport={"width": 1440, "height": 900})


def test_no_example_and_no_table_is_cut_on_a_laptop(site: Path, page: Page) -> None:
    cut = {}
    for file in sorted(site.rglob("*.html")):
        page.goto(file.as_uri())
        if found := page.evaluate(CUT):
            cut[str(file.relative_to(site))] = found
    assert cut == {}


@pytest.mark.parametrize("name", ["audit-trail", "webhooks", "admin-console"])
def test_an_entry_page_is_one_screen_and_two_of_a_phone(site: Path, browser: Browser, name: str) -> None:
    for width, height, screens in [(1440, 900, 1), (390, 844, 2)]:
        shown = browser.new_page(viewport={"width": width, "height": height})
        shown.goto((site / f"{name}.html").as_uri())
        assert shown.evaluate("document.documentElement.scrollHeight") <= screens * height
        shown.close()


@pytest.mark.parametrize("name", ["index.html", "demo.html"])
def test_the_first_page_and_that_of_the_demo_lead_to_its_copy(site: Path, page: Page, name: str) -> None:
    page.goto((site / name).as_uri())
    page.get_by_role("link", name="Click through a copy of the demo").click()
    expect(page.get_by_role("heading", name="The shop")).to_be_visible()


def test_an_example_can_be_copied(site: Path, page: Page) -> None:
    page.goto((site / "start.html").as_uri())
    expect(page.locator("article .highlight button.copybtn")).to_have_count(page.locator("article pre").count())


def test_the_search_leads_from_every_word_to_its_page(site: Path, page: Page) -> None:
    places = tomllib.loads((ROOT / "docs" / "search_terms.toml").read_text(encoding="utf-8"))
    for place, words in places.items():
        wanted, _, heading = place.partition("#")
        for word in words:
            page.goto(f"{(site / 'search.html').as_uri()}?q={word}")
            first = page.locator("#search-results ul.search li a").first
            target = first.get_attribute("href") or ""
            assert target.startswith(f"{wanted}.html#{heading}"), f"{word}: {target}"

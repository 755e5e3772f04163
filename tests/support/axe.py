"""Check the accessibility of a page with axe-core, which npm fetches once into a cache folder."""

import subprocess
import tarfile
from functools import cache
from pathlib import Path
from shutil import which
from tempfile import TemporaryDirectory
from typing import Final

from playwright.sync_api import Page

from tests.matrix import cache_folder
from tests.support.browser import cannot

PACKAGE: Final = "axe-core"
VERSION: Final = "4.14.1"
_OF_COLORS: Final = ("color-contrast", "link-in-text-block")
"""All rules about colors: the only ones that a theme can break."""
_RUN: Final = """async (rules) => {
    if (!("axe" in window)) return null
    const chosen = rules.length ? {runOnly: rules} : {}
    const found = await axe.run({resultTypes: ["violations"], preload: false, ...chosen})
    return found.violations.flatMap(({id, help, nodes}) =>
        nodes.map(({target, failureSummary}) => `${id}: ${help}: ${target.join(" ")}: ${failureSummary}`))
}"""


@cache
def axe() -> str:
    """The script of axe-core. Without npm or a network the test is skipped, or fails if a browser is required."""
    script = cache_folder() / f"{PACKAGE}-{VERSION}.js"
    if not script.is_file():
        _fetch(script)
    return script.read_text(encoding="utf-8")


def violations(page: Page, *, of_colors: bool = False) -> list[str]:
    """The rules that a page breaks in its present state, or only those of colors."""
    rules = list(_OF_COLORS) if of_colors else []
    found: list[str] | None = page.evaluate(_RUN, rules)
    if found is None:
        page.evaluate(axe())
        found = page.evaluate(_RUN, rules)
    assert found is not None
    return found


def _fetch(script: Path) -> None:
    if which("npm") is None:
        cannot(f"npm is not installed, and {PACKAGE} comes from there")
    script.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix=".fetching-", dir=script.parent) as folder:
        command = ["npm", "pack", f"{PACKAGE}@{VERSION}", "--loglevel=error"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            cannot(f"npm could not fetch {PACKAGE}:\n{done.stderr.strip()}")
        with tarfile.open(Path(folder, done.stdout.split()[-1])) as archive:
            archive.extract("package/axe.min.js", folder, filter="data")
        Path(folder, "package", "axe.min.js").replace(script)  # in one step: others may look for it

"""A real browser for tests: headless Chromium, which Playwright drives."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from shutil import which
from typing import Final, NoReturn

import pytest
from playwright.sync_api import Browser, sync_playwright

EXECUTABLE: Final = "SVC_TEST_CHROMIUM"
"""The variable that names the program, if it is not in PATH under one of these names."""
REQUIRED: Final = "SVC_TEST_REQUIRE_BROWSER"
_PROGRAMS: Final = (
    "chromium-headless-shell",  # without invisible windows, which cost a quarter of its time
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
)
_SWITCHES: Final = (
    "--disable-gpu",
    "--force-color-profile=srgb",
    "--font-render-hinting=none",
    "--enable-features=RenderDocument:level/crashed-frame",  # no new frame for each page, a quarter of its load
)


@contextmanager
def chromium() -> Iterator[Browser]:
    """Enter to start it; leaving ends it. Until then no event loop can run in this thread.

    Without Chromium the test is skipped, but it fails if SVC_TEST_REQUIRE_BROWSER is set.
    """
    program = executable()
    if program is None:
        cannot(f"no Chromium is installed; install one, or name it in {EXECUTABLE}")
    with started(program) as browser:
        yield browser


@contextmanager
def started(program: str) -> Iterator[Browser]:
    """Enter to start the browser with this path."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=list(_SWITCHES))
        try:
            yield browser
        finally:
            browser.close()


def cannot(reason: str) -> NoReturn:
    """Skip the test, or fail it if a browser is required."""
    if os.environ.get(REQUIRED):
        pytest.fail(reason)
    pytest.skip(reason)


def executable() -> str | None:
    """The path of Chromium, or None if it is not installed."""
    named = os.environ.get(EXECUTABLE)
    return named or next((found for name in _PROGRAMS if (found := which(name))), None)

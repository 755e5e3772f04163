"""A reader of the console."""

import random
import threading
import time
from typing import Final

import httpx

from svc_pg.console.pages.routes import ROUTES
from tests.benchmarks.console_stage import PREFIX
from tests.benchmarks.soak.shop import Ledger

_EVERY: Final = 3.0  # seconds between two pages
_PAGES: Final = [route.path for route in ROUTES if route.nav_item is not None and route.method == "GET"]


def read(base_url: str, session: str, ledger: Ledger, is_over: threading.Event) -> None:
    """Open the pages of the navigation in turn until it is over."""
    cookies = {"svc_console": session}
    with httpx.Client(base_url=base_url, cookies=cookies, timeout=30, follow_redirects=True) as http:
        number = 0
        while not is_over.wait(random.uniform(0, 2 * _EVERY)):
            path = _PAGES[number % len(_PAGES)]
            number += 1
            began = time.perf_counter()
            try:
                status = http.get(f"{PREFIX}/ui{path}").status_code
            except httpx.TransportError as error:
                ledger.fail(f"page {path}: {type(error).__name__}")
                continue
            ledger.note("page", began)
            ledger.count(pages=1)
            if status != httpx.codes.OK:
                ledger.fail(f"page {path}: {status}")

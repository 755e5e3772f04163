"""A browser and a shop for the tests of a module: both cost seconds to start."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect

from tests.e2e.browser import hostile_shop
from tests.e2e.browser.hostile_shop import Shop, open_shop
from tests.support.browser import chromium
from tests.support.postgres import new_database

expect.set_options(timeout=30_000)  # milliseconds: a busy machine is no fault of a page


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as browser:
        yield browser


@pytest.fixture(scope="module")
def shop(
    browser: Browser,  # noqa: ARG001 - without one there is nobody to open it for
    postgres: str,
    template: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Shop]:
    with new_database(postgres, template=template) as conninfo:
        hostile_shop.prepare(conninfo)
        with open_shop(conninfo, tmp_path_factory.mktemp("shop")) as shop:
            yield shop

"""The portal in a frame of the application's own page, over https, as browsers want it for a cookie."""

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Final

import pytest
from playwright.sync_api import Browser, Page
from pydantic import SecretStr
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse
from starlette.routing import Route

from svc_pg.console import Console
from tests.integration.console.serving import PREFIX, bearer, serving, settings
from tests.support.certificates import authority
from tests.support.hooks import KEYS_TEXT, hooks_config, install
from tests.support.postgres import new_database

CONFIG: Final = hooks_config("order.placed")
BASE: Final = f"{PREFIX}/ui/portal"


@dataclass(frozen=True)
class Sites:
    """The origins of the portal, of the application that may have it in a frame, and of somebody else."""

    portal: str
    application: str
    stranger: str


async def _page(request: Request) -> HTMLResponse:
    """As an application would write it."""
    address = request.query_params["frame"]
    return HTMLResponse(
        f'<!doctype html><title>Shop</title><iframe src="{address}" width="1200" height="900"></iframe>'
    )


@pytest.fixture(scope="module")
def sites(
    browser: Browser,  # noqa: ARG001 - without one there is nobody to open them for
    postgres: str,
    template: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Sites]:
    folder = tmp_path_factory.mktemp("sites")
    authority(folder).server()
    file = str(folder / "receiver.pem")
    https = {"ssl_certfile": file, "ssl_keyfile": file}
    with ExitStack() as stack:
        conninfo = stack.enter_context(new_database(postgres, template=template))
        install(conninfo, CONFIG)
        shop = stack.enter_context(serving(Starlette(routes=[Route("/", _page)]), **https))
        application = shop.replace("http://127.0.0.1", "https://localhost")  # another site than an address is
        given = settings(
            database_url=conninfo, encryption_keys=SecretStr(KEYS_TEXT), portal_frame_ancestors=[application]
        )
        portal = stack.enter_context(serving(Console(given, config=CONFIG).asgi, **https))
        yield Sites(portal.replace("http:", "https:"), application, application.replace("//", "//stranger."))


@pytest.mark.parametrize("has_javascript", [True, False], ids=["script", "none"])
def test_the_portal_works_in_a_frame_of_the_application_and_of_nobody_else(
    browser: Browser, sites: Sites, *, has_javascript: bool
) -> None:
    context = browser.new_context(ignore_https_errors=True, java_script_enabled=has_javascript, reduced_motion="reduce")
    context.set_default_timeout(10_000)
    try:
        page = context.new_page()
        open_framed(page, sites.portal, sites.application)
        frame = page.frame_locator("iframe")
        if not has_javascript:
            frame.get_by_role("button", name="Go on").click()
        frame.get_by_role("link", name="Add endpoint").first.click()
        frame.get_by_label("URL").fill("http://127.0.0.1:9/customer")
        frame.get_by_label("order.placed").check()
        frame.get_by_role("button", name="Add endpoint").click()
        frame.get_by_label("Secret", exact=True).wait_for()
        assert frame.get_by_label("Secret", exact=True).input_value().startswith("whsec_")
        frame.get_by_role("link", name="I have stored it").click()
        frame.get_by_role("button", name="Test").click()
        frame.get_by_text("webhook.ping").first.wait_for()
        [cookie] = [each for each in context.cookies() if each["name"] == "__Secure-svc_portal"]
        assert (cookie["sameSite"], cookie["secure"], cookie["httpOnly"]) == ("None", True, True)
        assert cookie.get("partitionKey") == "https://localhost"

        alone = context.new_page()
        alone.goto(f"{sites.portal}{BASE}/home")
        assert alone.get_by_text("This visit is over").is_visible()
        messages: list[str] = []
        alone.on("console", lambda message: messages.append(message.text))
        open_framed(alone, sites.portal, sites.stranger)
        assert any("frame-ancestors" in each for each in messages), messages
        assert alone.frame_locator("iframe").get_by_text("webhooks").count() == 0

        frame.get_by_role("button", name="Leave").click()
        frame.get_by_text("This visit is over").wait_for()
    finally:
        context.close()


def open_framed(page: Page, portal: str, site: str) -> None:
    """Open a page of this site with a new link in a frame."""
    made = page.context.request.post(
        f"{portal}{PREFIX}/webhooks/portal-sessions", data={"tenant": "acme"}, headers=bearer("admin")
    )
    page.goto(f"{site}/?frame={portal}{made.json()['path']}")

"""All pages of the portal with their paths below ``/ui/portal``: a customer's webhooks are pages of the console's."""

from collections.abc import Sequence
from typing import Final

from svc_pg.console.pages import portal, theme
from svc_pg.console.pages.navigation import NavItem
from svc_pg.console.pages.page_route import PageRoute
from svc_pg.console.pages.webhooks.webhook_routes import WEBHOOKS

PORTAL_PATH: Final = ("ui", "portal")
PORTAL: Final[Sequence[PageRoute]] = [
    PageRoute("GET", "/enter", portal.form, is_open=True),
    PageRoute("POST", "/enter", portal.enter, is_open=True, page="/enter"),
    PageRoute("GET", "/look.css", portal.look, is_open=True),
    PageRoute("GET", "/logo", portal.logo, is_open=True),
    PageRoute("POST", "/theme", theme.choose, is_open=True),
    PageRoute("POST", "/leave", portal.leave),
    PageRoute("GET", "/home", portal.home_page, is_compressed=True, nav_item=NavItem(word="Overview", icon="overview")),
    *WEBHOOKS,
]

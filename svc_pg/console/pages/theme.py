"""The choice of light or dark, kept in a cookie of this browser; without one, the system's counts."""

from typing import Final

from svc_pg.console.http.requests import Problem
from svc_pg.console.pages import cookies
from svc_pg.console.pages.answers import Answer, SeeOther
from svc_pg.console.pages.own_addresses import referring
from svc_pg.console.pages.page_request import THEMES, PageRequest

_KEPT_SECONDS: Final = 365 * 24 * 3600


async def choose(request: PageRequest) -> Answer:
    """Keep the choice, and lead back to the page that it was made on."""
    theme = request.form.get("theme", "")
    if theme not in (*THEMES, "system"):
        raise Problem(422, "invalid_parameter", "Choose light, dark or the system's.")
    is_system = theme == "system"
    kept = (
        request.cookies.remove(cookies.THEME)
        if is_system
        else request.cookies.write(cookies.THEME, theme, seconds=_KEPT_SECONDS)
    )
    return SeeOther(referring(request.http, request.base_path) or request.url(), (kept,))

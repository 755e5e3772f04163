"""All pages with their paths below ``/ui``."""

from collections.abc import Sequence
from typing import Final

from svc_pg.console.pages import sessions, sign_in
from svc_pg.console.pages.site import PageRoute

ROUTES: Final[Sequence[PageRoute]] = [
    PageRoute("GET", "/sign-in", sign_in.form, is_open=True),
    PageRoute("POST", "/sign-in", sign_in.begin, is_open=True),
    PageRoute("GET", "/sign-in/code", sign_in.code_form, is_open=True),
    PageRoute("POST", "/sign-in/code", sign_in.finish, is_open=True),
    PageRoute("POST", "/sign-out", sign_in.sign_out),
    PageRoute("GET", "/sessions", sessions.listed),
    PageRoute("POST", "/sessions/:id/revoke", sessions.revoke),
]

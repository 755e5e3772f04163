"""Find the session of a request for a page."""

import logging
from collections.abc import Sequence
from contextlib import suppress
from typing import Final, Protocol

from svc_pg.console.http.bearer import Authenticate
from svc_pg.console.http.requests import Problem
from svc_pg.console.http.tokens import Session, TokenError, signed_email
from svc_pg.console.pages import cookies
from svc_pg.console.pages.page_request import PageRequest
from svc_pg.console.sessions.host_sessions import HostSessionOf, ask

logger: Final = logging.getLogger("svc_pg.console")


class PageSessionOf(Protocol):
    """Finds the session of a request. Raises Problem 401."""

    async def __call__(self, request: PageRequest, *, is_use: bool = True) -> Session:
        """With ``is_use=False`` the idle timeout is not extended."""


def people(authenticate: Authenticate, host: HostSessionOf | None, *, keys: Sequence[bytes]) -> PageSessionOf:
    """The session of the console's cookie, else that of the application's own user.

    The problem of a session that has ended tells whose it was, if one of these keys signed its token.
    """

    async def session_of(request: PageRequest, *, is_use: bool = True) -> Session:
        refused = Problem(401, "not_authenticated", "Sign in.")
        try:
            session = await _of_cookie(request, cookies.SESSION, authenticate, is_use=is_use)
        except TokenError:
            session = None
            token = request.cookies.read(request.http, cookies.SESSION) or ""
            refused = Problem(401, "invalid_token", "The session has ended.", was=signed_email(token, keys))
        if session is None and host is not None:
            session = await ask(host, request.http)
        if session is None:
            raise refused
        return session

    return session_of


def customers(authenticate: Authenticate) -> PageSessionOf:
    """The session of the portal's cookie."""

    async def session_of(request: PageRequest, *, is_use: bool = True) -> Session:
        session = None
        with suppress(TokenError):
            session = await _of_cookie(request, cookies.PORTAL, authenticate, is_use=is_use)
        if session is None:
            raise Problem(401, "portal_over", "This visit has ended. Ask for a new link.")
        return session

    return session_of


async def _of_cookie(request: PageRequest, name: str, authenticate: Authenticate, *, is_use: bool) -> Session | None:
    """The session of a cookie; None if there is no such cookie. Raises TokenError."""
    token = request.cookies.read(request.http, name)
    if token is None:
        return None
    try:
        return await authenticate(token, is_use=is_use and not _is_by_script(request))
    except TokenError as error:
        logger.info("request %s: token refused: %s", request.http.request_id, error)
        raise


def _is_by_script(request: PageRequest) -> bool:
    """True if a script of a page asks by itself, which keeps no session alive that its person has left."""
    return request.http.headers.get("sec-fetch-dest") == "empty"

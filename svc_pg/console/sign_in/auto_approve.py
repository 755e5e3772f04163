"""Sign-in for development: a session for anybody on the same machine. Nothing is stored."""

import re
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import replace
from typing import Final

from svc_pg.console.http import tokens
from svc_pg.console.http.products import PERMISSIONS
from svc_pg.console.http.requests import ConsoleRequest, ConsoleResponse, Problem
from svc_pg.console.http.tokens import Session, SignInMethod
from svc_pg.console.sign_in.permissions import least
from svc_pg.console.sign_in.sign_in_routes import APPROVE, DEVELOPMENT_EMAIL, ApprovedSession, SignInRoute, email_of
from svc_pg.console.transport import cors
from svc_pg.console.transport.client_addresses import is_loopback
from svc_pg.settings import Settings

_LOOPBACK_HOST: Final = re.compile(r"(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d{1,5})?", re.IGNORECASE)


class AutoApprove:
    """The route that gives out sessions, and the sessions that it gave out."""

    method: Final[SignInMethod] = "auto_approve"

    def __init__(self, settings: Settings, *, keys: Sequence[bytes]) -> None:
        self._permissions = settings.console_allowed_actions
        self._allowed_origins = cors.allowed_origins(settings)
        self._lifetime = settings.console_token_lifetime
        self._keys = keys

    @property
    def routes(self) -> list[SignInRoute]:
        """The routes below ``/console/session``."""
        return [("POST", "/init", self.init, APPROVE)]

    def opened(self) -> AbstractAsyncContextManager[None]:
        """There is nothing to open."""
        return nullcontext()

    async def init(self, request: ConsoleRequest) -> ConsoleResponse:
        """Give a session to anybody on the same machine."""
        # The peer and the Host: a page of another site can make a browser send one of them, not both (DNS rebinding)
        if not is_loopback(request) or not _LOOPBACK_HOST.fullmatch(request.headers.get("host", "")):
            raise Problem(
                403, "loopback_required", "Auto-approve answers only on the same machine, under its own name."
            )
        if not self._is_of_own_page(request):
            raise Problem(403, "foreign_origin", "Auto-approve answers no pages of origins that are not allowed.")
        token = tokens.issue(
            self._keys[0],
            email=email_of(request, default=DEVELOPMENT_EMAIL),
            permissions=self._permissions,
            lifetime=self._lifetime,
            method=self.method,
        )
        expires_in = int(self._lifetime.total_seconds())
        return ConsoleResponse(200, ApprovedSession(self.method, token, "Bearer", expires_in))

    async def authenticate(self, token: str, *, is_use: bool = True) -> Session:  # noqa: ARG002 - as MagicLinks
        """The session of a token that we signed, with those of its permissions that are allowed today.

        Raises TokenError.
        """
        session = tokens.verify_any(token, self._keys, method=self.method)
        greatest = max(self._permissions, key=PERMISSIONS.index)
        allowed = dict.fromkeys(least(each, greatest) for each in session.permissions)
        return replace(session, permissions=tuple(allowed))

    def _is_of_own_page(self, request: ConsoleRequest) -> bool:
        """True if the request comes from no browser, from a page of this server, or of an allowed origin."""
        origins = request.headers.getlist("origin")
        host = request.headers.get("host", "")
        if origins:
            return all(
                origin in self._allowed_origins or origin in (f"http://{host}", f"https://{host}") for origin in origins
            )
        return request.headers.get("sec-fetch-site", "none") in ("none", "same-origin")

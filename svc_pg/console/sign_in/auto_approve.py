"""Sign-in for development: a session for whoever asks on the same machine. Nothing is stored."""

import re
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Final

from svc_pg.console import tokens
from svc_pg.console.clients import is_loopback
from svc_pg.console.requests import ConsoleRequest, ConsoleResponse, Problem
from svc_pg.console.sign_in.routes import APPROVE, DEVELOPMENT_EMAIL, Approved, SignInRoute, email_of
from svc_pg.console.tokens import Session, SignInMethod
from svc_pg.settings import Settings

_LOOPBACK_HOST: Final = re.compile(r"(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d{1,5})?", re.IGNORECASE)


class AutoApprove:
    """The route that gives out sessions, and the sessions that it gave out."""

    method: Final[SignInMethod] = "auto_approve"

    def __init__(self, settings: Settings, *, key: bytes) -> None:
        self._permissions = settings.console_allowed_actions
        self._lifetime = settings.console_token_lifetime
        self._key = key

    @property
    def routes(self) -> list[SignInRoute]:
        """The routes below ``/console/session``."""
        return [("POST", "/init", self.init, APPROVE)]

    def opened(self) -> AbstractAsyncContextManager[None]:
        """There is nothing to open."""
        return nullcontext()

    async def init(self, request: ConsoleRequest) -> ConsoleResponse:
        """Give a session to whoever asks on the same machine."""
        # The peer and the Host: a page of another site can make a browser send one of them, not both (DNS rebinding)
        if not is_loopback(request) or not _LOOPBACK_HOST.fullmatch(request.headers.get("host", "")):
            raise Problem(
                403, "loopback_required", "Auto-approve answers only on the same machine, under its own name."
            )
        token = tokens.issue(
            self._key,
            email=email_of(request, default=DEVELOPMENT_EMAIL),
            permissions=self._permissions,
            lifetime=self._lifetime,
            method=self.method,
        )
        expires_in = int(self._lifetime.total_seconds())
        return ConsoleResponse(200, Approved(self.method, token, "Bearer", expires_in))

    async def authenticate(self, token: str) -> Session:
        """The session of a token that we signed. Raises TokenError."""
        return tokens.verify(token, self._key, method=self.method)

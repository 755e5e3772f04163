"""Routes that need no session: health, capabilities and sign-in."""

import re
from collections.abc import Awaitable, Callable, Sequence
from ipaddress import IPv6Address, ip_address

from svc_pg.console import tokens
from svc_pg.console.products import PERMISSIONS
from svc_pg.console.requests import ConsoleRequest, ConsoleResponse, Problem
from svc_pg.console.tokens import SignInMethod
from svc_pg.settings import Settings

API_VERSION = 1
DEVELOPMENT_EMAIL = "dev@localhost"

_LOOPBACK_HOST = re.compile(r"(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d{1,5})?", re.IGNORECASE)
_ATOM = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+"
_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_EMAIL = re.compile(rf"(?=.{{3,254}}\Z){_ATOM}(?:\.{_ATOM})*@{_LABEL}(?:\.{_LABEL})*")

AsyncConsoleHandler = Callable[[ConsoleRequest], Awaitable[ConsoleResponse]]


async def health(_request: ConsoleRequest) -> ConsoleResponse:
    """The console answers; the database is not asked."""
    return ConsoleResponse(200, {"status": "ok"})


def capabilities(product_ids: Callable[[], Sequence[str]], auth_methods: Sequence[SignInMethod]) -> AsyncConsoleHandler:
    """The handler that tells a front end what there is."""

    async def handle(_request: ConsoleRequest) -> ConsoleResponse:
        document = {
            "products": product_ids(),
            "authMethods": auth_methods,
            "permissions": PERMISSIONS,
            "apiVersion": API_VERSION,
        }
        return ConsoleResponse(200, document)

    return handle


def auto_approve(settings: Settings, key: bytes) -> AsyncConsoleHandler:
    """The handler that gives a session to whoever asks on the same machine. Nothing is stored."""

    async def handle(request: ConsoleRequest) -> ConsoleResponse:
        if not _is_loopback(request):
            raise Problem(
                403, "loopback_required", "Auto-approve answers only on the same machine, under its own name."
            )
        token = tokens.issue(
            key,
            email=_email(request),
            permissions=settings.console_allowed_actions,
            lifetime=settings.console_token_lifetime,
            method="auto_approve",
        )
        document = {
            "method": "auto_approve",
            "sessionToken": token,
            "tokenType": "Bearer",
            "expiresIn": int(settings.console_token_lifetime.total_seconds()),
        }
        return ConsoleResponse(200, document)

    return handle


def _email(request: ConsoleRequest) -> str:
    body = {} if request.body is None else request.body
    if not isinstance(body, dict):
        raise Problem(422, "invalid_body", "The body must be a JSON object.")
    email = body.get("email", DEVELOPMENT_EMAIL)
    if not isinstance(email, str) or not _EMAIL.fullmatch(email):
        raise Problem(422, "invalid_email", "email must be one e-mail address, without a display name.")
    return email


def _is_loopback(request: ConsoleRequest) -> bool:
    """The peer and the Host: a page of another site can make a browser send the one, but not (DNS rebinding) both."""
    return _is_loopback_address(request.client) and bool(_LOOPBACK_HOST.fullmatch(request.headers.get("host", "")))


def _is_loopback_address(text: str | None) -> bool:
    try:
        address = ip_address(text or "")
    except ValueError:
        return False
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return (mapped or address).is_loopback

"""Sessions of the application's own users, who signed in there and not in the console.

A token of the console in ``Authorization`` decides by itself; the application is asked about all other requests.
"""

import inspect
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Final

from starlette.concurrency import run_in_threadpool

from svc_pg.audit.context import MAX_ID_LENGTH
from svc_pg.console.http.bearer import FindSession, SessionOf, bearer_tokens
from svc_pg.console.http.requests import ConsoleRequest, Problem, explained
from svc_pg.console.http.tokens import Session, is_own
from svc_pg.console.sign_in.permissions import included, permission_of
from svc_pg.console.transport.client_addresses import is_among
from svc_pg.console.transport.same_origin import refuse_other_sites
from svc_pg.database.storable_texts import refuse_tenant, refuse_unstorable
from svc_pg.errors import ConfigError, QueryError
from svc_pg.settings import Settings
from svc_pg.settings.addresses import is_email

HostSessionOf = Callable[[ConsoleRequest], Session | Awaitable[Session | None] | None]
"""Finds the session of the application's user who makes a request; None if nobody is signed in. A sync function runs in
a thread."""

_SAFE: Final = frozenset({"GET", "HEAD"})
_PROXIED_SESSION: Final = timedelta(minutes=5)


def with_host(bearers: FindSession, host: HostSessionOf | None) -> FindSession:
    """Finds sessions by the console's tokens, and for requests without one by asking the application.

    What the application goes by may be a cookie, which browsers add to the requests of any page: so requests that
    change something are refused if a browser says that a page of another site makes them.
    """
    if host is None:
        return bearers

    async def session_of(request: ConsoleRequest, *, is_use: bool = True) -> Session:
        if any(map(is_own, bearer_tokens(request))):
            return await bearers(request, is_use=is_use)
        session = await ask(host, request)
        if session is None:
            return await bearers(request)
        _refuse_forged(request)
        return session

    return session_of


def refusing_other_sites(session_of: HostSessionOf) -> SessionOf:
    """``session_of`` for an application of its own, with the same refusals."""

    async def guarded(request: ConsoleRequest) -> Session:
        session = await ask(session_of, request)
        if session is None:
            raise Problem(401, "not_authenticated", "The application's session has ended.")
        _refuse_forged(request)
        return session

    return guarded


def _refuse_forged(request: ConsoleRequest) -> None:
    if request.method not in _SAFE and not bearer_tokens(request):  # which no browser adds by itself
        refuse_other_sites(request)


async def ask(host: HostSessionOf, request: ConsoleRequest) -> Session | None:
    """The application's answer, unless the session that it gives has ended."""
    is_async = inspect.iscoroutinefunction(host) or inspect.iscoroutinefunction(type(host).__call__)
    answer = host(request) if is_async else await run_in_threadpool(host, request)
    session = await answer if inspect.isawaitable(answer) else answer
    if session is None or session.expires_at <= datetime.now(UTC):
        return None
    _refuse_impossible(session)
    return session


def _refuse_impossible(session: Session) -> None:
    """Raise Problem 403 if the log could not name the person, or nothing can be of the tenant."""
    try:
        refuse_unstorable(session_id=session.session_id, email=session.email)
        if not 0 < len(session.email) <= MAX_ID_LENGTH:
            raise QueryError(f"the email has {len(session.email)} characters", hint=f"It has 1 to {MAX_ID_LENGTH}.")
        if session.tenant is not None:
            refuse_tenant(session.tenant)
    except QueryError as error:
        detail = f"The application gave a session that cannot be: {explained(error)}"
        raise Problem(403, "invalid_session", detail) from error


def host_of(settings: Settings, session_of: HostSessionOf | None) -> HostSessionOf | None:
    """The function that was given, or one for the header of the settings. Raises ConfigError if there are both."""
    if settings.console_proxy_user_header is None:
        return session_of
    if session_of is not None:
        raise ConfigError("the console has a session_of, and SVC_CONSOLE_PROXY_USER_HEADER is set; choose one")
    return _proxied(settings, settings.console_proxy_user_header)


def _proxied(settings: Settings, header: str) -> HostSessionOf:
    """Believes the e-mail address that a trusted proxy puts in a header; its permission is that of the settings."""

    async def session_of(request: ConsoleRequest) -> Session | None:
        values = request.headers.getlist(header)
        if not values or not is_among(request.peer, settings.console_trusted_proxies):
            return None
        email = values[0].lower()
        if len(values) > 1 or not is_email(email):
            raise Problem(401, "invalid_proxy_user", f"The proxy must send one e-mail address in {header}.")
        permission = permission_of(email, settings.console_allowed_emails)
        if permission is None:
            raise Problem(403, "not_allowed", f"SVC_CONSOLE_ALLOWED_EMAILS gives {email} no permission.")
        return Session(
            session_id=f"proxy {email}",
            email=email,
            permissions=included(permission),
            expires_at=datetime.now(UTC) + _PROXIED_SESSION,
        )

    return session_of

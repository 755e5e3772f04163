"""The actor of Litestar's requests, if the application knows its user."""

from collections.abc import Callable
from inspect import isawaitable
from typing import Any

from litestar.connection import ASGIConnection
from litestar.middleware import DefineMiddleware

from svc_pg.integrations.asgi import ActorMiddleware
from svc_pg.integrations.extractors import Found, Request, actor_of


def acting_as(
    user: Callable[[ASGIConnection[Any, Any, Any, Any]], Any], *, records_request: bool = False
) -> DefineMiddleware:
    """A middleware that runs each request as its user: ``acting_as(lambda connection: connection.user)``.

    It comes after the middleware that authenticates. ``user``, which may be a coroutine function, returns an id, an
    ``audit.Actor``, an object with an ``id``, or None. Holds for streams, background tasks and WebSockets too;
    ``records_request`` as in ``ActorMiddleware``.
    """

    async def extract(request: Request) -> Found:
        scope: Any = request.scope
        found = user(ASGIConnection(scope))
        return actor_of(await found if isawaitable(found) else found, None)

    middleware: Any = ActorMiddleware  # Litestar's types of ASGI are narrower than the specification's
    return DefineMiddleware(middleware, extractor=extract, records_request=records_request)

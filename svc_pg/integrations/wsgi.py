"""The actor of WSGI requests: Flask and everything else that speaks WSGI."""

from collections.abc import Iterable, Iterator
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from svc_pg.audit.context import Actor, acting_as
from svc_pg.integrations.extractors import (
    ACTOR_VARIABLE,
    Extractor,
    Request,
    environ_headers,
    request_context,
    to_actor,
    trusts_actor_header,
)
from svc_pg.integrations.watching import watch


class WsgiActorMiddleware:
    """Runs each request, with the streaming of its body, as the actor that it comes from.

    In Flask: ``app.wsgi_app = WsgiActorMiddleware(app.wsgi_app, extractor=...)``. With ``records_request`` the context
    of each entry has ``request_id``, from X-Request-ID or new, and ``ip``. If the extractor finds none, there is no
    actor. An ACTOR_HEADER that the extractor does not trust never reaches the application.
    """

    def __init__(self, app: WSGIApplication, *, extractor: Extractor, records_request: bool = False) -> None:
        self._app = app
        self._extractor = extractor
        self._records_request = records_request
        self._trusts_header = trusts_actor_header(extractor)

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Handle one request (PEP 3333)."""
        if not self._trusts_header:
            environ.pop(ACTOR_VARIABLE, None)
        actor = self._actor(environ)
        with acting_as(actor):
            return Body(actor, self._app(environ, start_response))

    def _actor(self, environ: WSGIEnvironment) -> Actor | None:
        watch()
        request = Request(environ_headers(environ), environ)
        context = request_context(request.headers, environ.get("REMOTE_ADDR")) if self._records_request else None
        return to_actor(self._extractor(request), context)


class Body:
    """A response's body, whose parts are made as the actor. Between them no thread keeps the actor."""

    def __init__(self, actor: Actor | None, body: Iterable[bytes]) -> None:
        self._actor = actor
        self._body = body
        with acting_as(actor):
            self._parts = iter(body)

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        with acting_as(self._actor):
            return next(self._parts)

    def close(self) -> None:
        """Close the application's body (PEP 3333)."""
        if hasattr(self._body, "close"):
            with acting_as(self._actor):
                self._body.close()

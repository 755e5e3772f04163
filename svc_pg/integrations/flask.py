"""The actor of Flask's requests, if the application knows its user."""

from collections.abc import Callable, Iterable
from typing import Any, Final
from wsgiref.types import StartResponse, WSGIEnvironment

from flask import Flask, request

from svc_pg.audit.context import Actor, act_from_now_on, current_actor
from svc_pg.audit.context import acting_as as acting_as_actor
from svc_pg.integrations.extractors import actor_of, environ_headers, request_context
from svc_pg.integrations.watching import watch
from svc_pg.integrations.wsgi import Body

_ACTOR: Final = "svc_pg.actor"
_IS_SERVED: Final = "svc_pg.is_served"
_BLOCK: Final = "svc_pg.block"


def acting_as(app: Flask, user: Callable[[], Any], *, records_request: bool = False) -> None:
    """Run each request of the application, with the streaming of its answer, as its user.

    Write ``acting_as(app, lambda: g.user)``. ``user`` runs before each request, after the functions that
    ``before_request`` has registered already, and returns an id, an ``audit.Actor``, an object with an ``id``, or None.
    With ``records_request`` the context of each entry has ``request_id`` and ``ip``.
    """
    inner = app.wsgi_app

    def wsgi_app(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        environ[_IS_SERVED] = True
        with acting_as_actor(current_actor()):  # ends the block of act(): the thread serves other requests next
            answer = inner(environ, start_response)
            actor: Actor | None = environ.get(_ACTOR, current_actor())
            return Body(actor, answer)

    def act() -> None:
        watch()
        environ = request.environ
        context = request_context(environ_headers(environ), environ.get("REMOTE_ADDR")) if records_request else None
        actor = actor_of(user(), context)
        if actor is None:
            return
        if _IS_SERVED in environ:
            act_from_now_on(actor)
            environ[_ACTOR] = current_actor()
        else:  # of test_request_context and preprocess_request, as in a shell: it acts until the context is popped
            environ[_BLOCK] = acting_as_actor(actor)
            environ[_BLOCK].__enter__()

    def leave(_error: BaseException | None) -> None:
        block = request.environ.pop(_BLOCK, None)
        if block is not None:
            block.__exit__(None, None, None)

    app.wsgi_app = wsgi_app  # type: ignore[method-assign] # as Flask's documentation has it
    app.before_request(act)
    app.teardown_request(leave)

"""The actor of Django requests, and of every change through Django's connections, on any database.

Add ``"svc_pg.integrations.django.actor_middleware"`` to MIDDLEWARE, below AuthenticationMiddleware: the actor is the
primary key of the authenticated ``request.user``, else the one that ``SVC_ACTOR_EXTRACTOR`` (an extractor or its dotted
path) finds; a user who signs in is the actor from then on. ``SVC_ACTOR_RECORDS_REQUEST = True`` adds ``request_id`` and
``ip`` to the context. Processes without requests call ``audit_connections()`` in an AppConfig's ``ready`` and use
``audit.acting``.

Works with ATOMIC_REQUESTS, ``atomic()`` and its savepoints. On PostgreSQL in autocommit, Django's default, a statement
and its actor are sent together, as one implicit transaction in one round trip; ``iterator()`` gets a transaction block.
"""

from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Iterable, Iterator
from inspect import isawaitable
from typing import Any

from asgiref.sync import iscoroutinefunction, sync_to_async
from django.conf import settings
from django.db import connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created
from django.http import FileResponse, HttpRequest, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.utils.decorators import sync_and_async_middleware
from django.utils.module_loading import import_string
from psycopg import ServerCursor

from svc_pg.audit.context import Actor, acting_as, current_actor
from svc_pg.integrations import mysql, psycopg, sqlite
from svc_pg.integrations.django.signing_in import NamesUser, follow_sign_ins, named_at_sign_in
from svc_pg.integrations.extractors import (
    ACTOR_VARIABLE,
    Extractor,
    Found,
    Request,
    environ_headers,
    request_context,
    to_actor,
    trusts_actor_header,
)


@sync_and_async_middleware
def actor_middleware(get_response: Callable[[HttpRequest], Any]) -> Callable[[HttpRequest], Any]:
    """Run each request, with the streaming of its response, as the actor that it comes from."""
    audit_connections()
    follow_sign_ins()
    extractor = getattr(settings, "SVC_ACTOR_EXTRACTOR", None)
    if isinstance(extractor, str):
        extractor = import_string(extractor)

    def by_key(context: dict[str, object] | None) -> NamesUser:
        return lambda user: to_actor(str(user.pk), context)

    if iscoroutinefunction(get_response):

        async def handle_async(request: HttpRequest) -> HttpResponseBase:
            found = await sync_to_async(_find)(request, extractor)
            if isawaitable(found):
                found = await found
            context = context_of(request)
            with acting_as(to_actor(found, context)), named_at_sign_in(request, by_key(context)):
                return streamed(await get_response(request))

        return handle_async

    def handle(request: HttpRequest) -> HttpResponseBase:
        context = context_of(request)
        with acting_as(to_actor(_find(request, extractor), context)), named_at_sign_in(request, by_key(context)):
            return streamed(get_response(request))

    return handle


def audit_connections() -> None:
    """Set the current actor for every change through all connections: this thread's and all opened later."""
    connection_created.connect(_audit_connection, dispatch_uid="svc_pg")
    for connection in connections.all(initialized_only=True):
        if connection.connection is not None:
            _audit_connection(connection)


def is_audited(connection: BaseDatabaseWrapper) -> bool:
    """True if ``audit_connections`` or ``with_audit`` has reached this connection."""
    if connection.vendor == "sqlite":
        return sqlite.is_audited(connection.connection)
    return psycopg.is_audited(connection.connection) or mysql.is_audited(connection.connection)


def _audit_connection(connection: BaseDatabaseWrapper, **_signal: object) -> None:
    if connection.vendor == "postgresql":
        psycopg.with_audit(connection.connection)
        if _give_block not in connection.execute_wrappers:
            connection.execute_wrappers.append(_give_block)
    elif connection.vendor == "sqlite":
        sqlite.with_audit(connection.connection)
    elif connection.vendor == "mysql":
        mysql.with_audit(connection.connection)


def _give_block(execute: Callable[..., Any], sql: str, params: Any, many: Any, context: Any) -> Any:
    """Give a server-side cursor a transaction block, because it cannot share a message with its actor."""
    connection = context["connection"]
    if isinstance(context["cursor"].cursor, ServerCursor) and connection.get_autocommit() and current_actor():
        with transaction.atomic(using=connection.alias):
            return execute(sql, params, many, context)
    return execute(sql, params, many, context)


def _find(request: HttpRequest, extractor: Extractor | None) -> Found | Awaitable[Found]:
    if extractor is None or not trusts_actor_header(extractor):
        request.META.pop(ACTOR_VARIABLE, None)
        vars(request).pop("headers", None)  # cached from META
    user = getattr(request, "user", None)
    if user is not None and user.is_authenticated:
        return str(user.pk)
    return extractor(Request(environ_headers(request.META), request.META)) if extractor else None


def context_of(request: HttpRequest) -> dict[str, object] | None:
    """The context with the facts of the request, if the settings ask for it and no outer block has set it already."""
    around = current_actor()
    if not getattr(settings, "SVC_ACTOR_RECORDS_REQUEST", False) or (around and "request_id" in (around.context or {})):
        return None
    return request_context(environ_headers(request.META), request.META.get("REMOTE_ADDR"))


def streamed(response: HttpResponseBase) -> HttpResponseBase:
    """The response, with its parts produced as the actor of this block."""
    actor = current_actor()
    if isinstance(response, StreamingHttpResponse) and not isinstance(response, FileResponse):
        parts: Any = response.streaming_content
        response.streaming_content = _parts_async(parts, actor) if response.is_async else _parts(parts, actor)
    return response


def _parts(parts: Iterable[bytes], actor: Actor | None) -> Iterator[bytes]:
    iterator = iter(parts)
    while True:
        with acting_as(actor):
            part = next(iterator, None)
        if part is None:
            return
        yield part


async def _parts_async(parts: AsyncIterable[bytes], actor: Actor | None) -> AsyncIterator[bytes]:
    iterator = aiter(parts)
    while True:
        with acting_as(actor):
            part = await anext(iterator, None)
        if part is None:
            return
        yield part

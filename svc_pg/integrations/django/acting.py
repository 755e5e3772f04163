"""The actor of one view of Django, if only the view knows its user, for example by a token of an API."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import wraps
from inspect import isawaitable
from typing import Any, TypeVar

from asgiref.sync import iscoroutinefunction, sync_to_async
from django.http import HttpRequest

from svc_pg.audit.context import acting_as as acting_as_actor
from svc_pg.audit.context import current_actor
from svc_pg.integrations.django.middleware import audit_connections, context_of, streamed
from svc_pg.integrations.django.signing_in import follow_sign_ins, named_at_sign_in
from svc_pg.integrations.extractors import actor_of

View = TypeVar("View", bound=Callable[..., Any])


def acting_as(user: Callable[[HttpRequest], Any]) -> Callable[[View], View]:
    """Decorate a view that runs as its user: ``@acting_as(lambda request: request.auth.owner)``.

    For a method of a class, ``@method_decorator(acting_as(...))``. ``user`` returns an id, an ``audit.Actor``, an
    object with an ``id``, or None, which changes no actor. It is asked again if somebody signs in meanwhile, unless it
    is a coroutine function. Requests whose ``request.user`` is known before their view need only ``actor_middleware``.
    ``SVC_ACTOR_RECORDS_REQUEST`` holds here too.
    """

    def decorate(view: Any) -> Any:
        def find(request: HttpRequest) -> Any:
            follow_sign_ins()
            audit_connections()  # those of the thread in which Django works
            return user(request)

        def followed(request: HttpRequest, context: dict[str, object] | None) -> AbstractContextManager[None]:
            if iscoroutinefunction(user):
                return nullcontext()
            return named_at_sign_in(request, lambda _user: actor_of(user(request), context))

        @wraps(view)
        def handle(request: HttpRequest, *args: Any, **options: Any) -> Any:
            context = context_of(request)
            with acting_as_actor(actor_of(find(request), context) or current_actor()), followed(request, context):
                return streamed(view(request, *args, **options))

        @wraps(view)
        async def handle_async(request: HttpRequest, *args: Any, **options: Any) -> Any:
            found = await sync_to_async(find)(request)
            found = await found if isawaitable(found) else found
            context = context_of(request)
            with acting_as_actor(actor_of(found, context) or current_actor()), followed(request, context):
                return streamed(await view(request, *args, **options))

        return handle_async if iscoroutinefunction(view) else handle

    return decorate

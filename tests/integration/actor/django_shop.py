"""A Django application: it writes notes in every kind of transaction that Django has."""

from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import django
import psycopg
import pytest
from asgiref.sync import iscoroutinefunction, sync_to_async
from django.conf import settings
from django.db import IntegrityError, connection, connections, transaction
from django.db.backends.postgresql.features import DatabaseFeatures
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.urls import path
from django.utils.decorators import method_decorator, sync_and_async_middleware
from django.views import View
from psycopg.conninfo import conninfo_to_dict

from svc_pg.audit import acting
from svc_pg.integrations.django import acting_as
from svc_pg.integrations.extractors import ACTOR_HEADER, from_bearer
from tests.integration.actor.entries import ACTOR
from tests.integration.actor.tokens import SECRET

here = __name__


def skip_unsupported(conninfo: str) -> None:
    """Skip the test on a PostgreSQL that is too old for this Django."""
    (needed,) = DatabaseFeatures.minimum_database_version or (0,)
    with psycopg.connect(conninfo) as conn:
        if conn.info.server_version // 10000 < needed:
            pytest.skip(f"Django {django.__version__} needs PostgreSQL {needed}")


def use(conninfo: str, **options: Any) -> None:
    """Make Django's connections go to that database of PostgreSQL."""
    server = conninfo_to_dict(conninfo)
    place = {"NAME": server["dbname"], "USER": server["user"], "HOST": server["host"], "PORT": server["port"]}
    use_database(ENGINE="django.db.backends.postgresql", **place | options)


def use_database(**database: Any) -> None:
    """Make Django's connections go to that database; sets Django up at the first call."""
    if not settings.configured:
        settings.configure(
            DATABASES={"default": {"ENGINE": database["ENGINE"]}},
            INSTALLED_APPS=[
                "django.contrib.admin",
                "django.contrib.auth",
                "django.contrib.contenttypes",
                "django.contrib.messages",
                "django.contrib.sessions",
                "svc_pg.integrations.django",
                "tests.integration.hosts.shop",
            ],
            TEMPLATES=[
                {
                    "BACKEND": "django.template.backends.django.DjangoTemplates",
                    "APP_DIRS": True,
                    "OPTIONS": {
                        "context_processors": [
                            "django.template.context_processors.request",
                            "django.contrib.auth.context_processors.auth",
                            "django.contrib.messages.context_processors.messages",
                        ]
                    },
                }
            ],
            SECRET_KEY="of the tests alone",
            STATIC_URL="/static/",
            MIDDLEWARE=[f"{here}.log_in", "svc_pg.integrations.django.actor_middleware"],
            ROOT_URLCONF=here,
            ALLOWED_HOSTS=["*"],
            LOGGING_CONFIG=None,
            SVC_ACTOR_EXTRACTOR=f"{here}.extractor",
            SVC_ACTOR_RECORDS_REQUEST=True,
        )
        django.setup()
    connections["default"].close()
    del connections["default"]  # made for another engine, perhaps
    connections.settings["default"].update({"ATOMIC_REQUESTS": False, "CONN_MAX_AGE": 0, "OPTIONS": {}, **database})


extractor = from_bearer(verify=SECRET)


@sync_and_async_middleware
def log_in(get_response: Callable[[HttpRequest], Any]) -> Callable[[HttpRequest], Any]:
    """A substitute for Django's AuthenticationMiddleware."""

    def authenticate(request: HttpRequest) -> None:
        from django.contrib.auth.models import AnonymousUser, User  # needs Django to be set up

        pk = request.headers.get("x-user")
        request.user = User(pk=int(pk)) if pk else AnonymousUser()

    if iscoroutinefunction(get_response):

        async def handle_async(request: HttpRequest) -> Any:
            authenticate(request)
            return await get_response(request)

        return handle_async

    def handle(request: HttpRequest) -> Any:
        authenticate(request)
        return get_response(request)

    return handle


def insert(note: int) -> None:
    with connection.cursor() as cursor:
        cursor.execute("insert into note (id) values (%s)", [note])


def single(_request: HttpRequest, note: int) -> HttpResponse:
    insert(note)
    return HttpResponse()


def nested(_request: HttpRequest, note: int) -> HttpResponse:
    with transaction.atomic():
        insert(note)
        with acting("bob", context={"step": 1}):
            try:
                with transaction.atomic():
                    insert(note + 1)
                    raise ZeroDivisionError
            except ZeroDivisionError:
                insert(note + 2)
        try:
            with transaction.atomic():
                insert(note)
        except IntegrityError:
            insert(note + 3)
    insert(note + 4)
    return HttpResponse()


def cursors(_request: HttpRequest, note: int) -> HttpResponse:
    """Each use of a cursor in autocommit, with the actor that it records."""
    with connection.cursor() as cursor:
        cursor.executemany("insert into note values (%s)", [[note], [note + 1]])
        cursor.execute("insert into note values (%s); insert into note values (%s)", [note + 2, note + 3])
    with connection.chunked_cursor() as cursor:
        cursor.execute(ACTOR)
        return HttpResponse(cursor.fetchone()[0])


def broken(_request: HttpRequest, note: int) -> HttpResponse:
    with transaction.atomic():
        insert(note)
        raise RuntimeError


def twice(_request: HttpRequest, note: int) -> HttpResponse:
    insert(note)
    try:
        insert(note)
    except IntegrityError:
        return HttpResponse("IntegrityError")
    return HttpResponse()


def stream(_request: HttpRequest, note: int) -> StreamingHttpResponse:
    def parts() -> Iterator[bytes]:
        insert(note)
        yield b"first"
        insert(note + 1)

    return StreamingHttpResponse(parts())


async def single_async(_request: HttpRequest, note: int) -> HttpResponse:
    await sync_to_async(insert)(note)
    return HttpResponse()


async def stream_async(_request: HttpRequest, note: int) -> StreamingHttpResponse:
    async def parts() -> AsyncIterator[bytes]:
        await sync_to_async(insert)(note)
        yield b"first"
        await sync_to_async(insert)(note + 1)

    return StreamingHttpResponse(parts())


def actor_header(request: HttpRequest, note: int) -> HttpResponse:
    insert(note)
    return HttpResponse(request.headers.get(ACTOR_HEADER, "none"))


def token_user(request: HttpRequest) -> int | None:
    return int(request.headers["x-token"]) if "x-token" in request.headers else None


@acting_as(token_user)
def of_token(_request: HttpRequest, note: int) -> HttpResponse:
    insert(note)
    return HttpResponse()


@acting_as(token_user)
async def of_token_async(_request: HttpRequest, note: int) -> HttpResponse:
    await sync_to_async(insert)(note)
    return HttpResponse()


def delegated(request: HttpRequest, note: int) -> Any:
    insert(note)
    return of_token(request, note + 1)


class OfToken(View):
    @method_decorator(acting_as(token_user))
    def get(self, request: HttpRequest, note: int) -> StreamingHttpResponse:
        return stream(request, note)


views = (
    of_token,
    of_token_async,
    delegated,
    single,
    nested,
    cursors,
    broken,
    twice,
    stream,
    single_async,
    stream_async,
    actor_header,
)
urlpatterns = [
    path("of_token_class/<int:note>", OfToken.as_view()),
    *(path(f"{view.__name__}/<int:note>", view) for view in views),
]

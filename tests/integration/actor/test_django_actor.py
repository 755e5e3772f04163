"""A Django application whose requests have actors, served by Werkzeug and uvicorn."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx
import psycopg
import pytest
from django.core.asgi import get_asgi_application
from django.core.wsgi import get_wsgi_application
from django.db import connection, connections, transaction
from django.test import override_settings

from svc_pg.audit import acting
from svc_pg.integrations.extractors import ACTOR_HEADER
from tests.integration.actor import django_shop
from tests.integration.actor.entries import actors, entries, round_trips
from tests.integration.actor.servers import serving_asgi, serving_wsgi
from tests.integration.actor.tokens import bearer, expired

POOLED = {"OPTIONS": {"pool": {"min_size": 1, "max_size": 2, "timeout": 10}}}


@pytest.fixture(autouse=True)
def _supported(notes: str) -> None:
    django_shop.skip_unsupported(notes)


@pytest.fixture(params=[{}, {"ATOMIC_REQUESTS": True}, POOLED], ids=["autocommit", "atomic requests", "pool"])
def client(request: pytest.FixtureRequest, notes: str) -> Iterator[httpx.Client]:
    django_shop.use(notes, **request.param)
    with serving_wsgi(get_wsgi_application()) as url, httpx.Client(base_url=url) as client:
        yield client
    connections["default"].close_pool()  # type: ignore[attr-defined] # only PostgreSQL's have one


@pytest.fixture
def async_client(notes: str) -> Iterator[httpx.Client]:
    django_shop.use(notes)
    with serving_asgi(get_asgi_application()) as url, httpx.Client(base_url=url) as client:
        yield client


def test_a_request_writes_as_its_user_else_as_the_subject_of_its_token(client: httpx.Client, notes: str) -> None:
    client.get("/single/1", headers=bearer("alice"))
    client.get("/single/2", headers={"x-user": "7"} | bearer("alice"))
    client.get("/single/3", headers=expired())
    client.get("/single/4")
    assert actors(notes) == {1: "alice", 2: "7", 3: None, 4: None}


def test_the_user_of_djangos_own_sessions_is_the_actor(notes: str) -> None:
    django_shop.use(notes)
    from django.contrib.auth.models import User
    from django.core.management import call_command
    from django.test import Client

    middleware = ["sessions.middleware.SessionMiddleware", "auth.middleware.AuthenticationMiddleware"]
    own = [*(f"django.contrib.{each}" for each in middleware), "svc_pg.integrations.django.actor_middleware"]
    for app in ("auth", "sessions"):
        call_command("migrate", app, verbosity=0)
    with override_settings(MIDDLEWARE=own):
        visitor, somebody = Client(), Client()
        user = User.objects.create_user("mara")
        somebody.force_login(user)
        somebody.get("/single/1")
        visitor.get("/single/2")
    assert actors(notes) == {1: str(user.pk), 2: None}


def test_requests_at_the_same_time_have_their_own_actors(client: httpx.Client, notes: str) -> None:
    def send(note: int) -> None:
        assert client.get(f"/single/{note}", headers={"x-user": str(note)} if note % 7 else {}).status_code == 200

    with ThreadPoolExecutor(6) as executor:
        list(executor.map(send, range(60)))
    assert actors(notes) == {note: str(note) if note % 7 else None for note in range(60)}


def test_atomic_blocks_and_rolled_back_savepoints_have_the_right_actor(client: httpx.Client, notes: str) -> None:
    assert client.get("/nested/1", headers=bearer("alice")).status_code == 200
    assert actors(notes) == {1: "alice", 3: "bob", 4: "alice", 5: "alice"}


def test_every_kind_of_statement_has_the_actor(client: httpx.Client, notes: str) -> None:
    assert client.get("/cursors/1", headers=bearer("alice")).text == "alice"
    assert actors(notes) == dict.fromkeys(range(1, 5), "alice")


def test_an_exception_in_a_view_leaves_no_actor_behind(client: httpx.Client, notes: str) -> None:
    assert client.get("/broken/1", headers=bearer("alice")).status_code == 500
    client.get("/single/2")
    assert actors(notes) == {2: None}


def test_a_streamed_response_writes_as_the_actor(client: httpx.Client, notes: str) -> None:
    assert client.get("/stream/1", headers=bearer("alice")).text == "first"
    client.get("/single/3")
    assert actors(notes) == {1: "alice", 2: "alice", 3: None}


def test_entries_have_the_context_of_their_request(client: httpx.Client, notes: str) -> None:
    client.get("/single/1", headers={"x-request-id": "r-81"} | bearer("alice"))
    client.get("/nested/2", headers={"x-request-id": "r-82"} | bearer("alice"))
    found = {entry.record_id: entry.context and entry.context.value for entry in entries(notes)}
    outer = {"request_id": "r-82", "ip": "127.0.0.1"}
    assert found["1"] == {"request_id": "r-81", "ip": "127.0.0.1"}
    assert (found["2"], found["4"], found["5"]) == (outer, outer | {"step": 1}, outer)


@pytest.mark.parametrize("name", [ACTOR_HEADER, ACTOR_HEADER.replace("-", "_")])
def test_a_forged_actor_header_is_dropped(client: httpx.Client, notes: str, name: str) -> None:
    assert client.get("/actor_header/1", headers={name: "mallory"}).text == "none"
    assert actors(notes) == {1: None}


def test_errors_of_the_database_stay_those_of_django(async_client: httpx.Client) -> None:
    assert async_client.get("/twice/1", headers=bearer("alice")).text == "IntegrityError"


def test_async_views_and_streams_write_as_the_actor(async_client: httpx.Client, notes: str) -> None:
    async_client.get("/single_async/1", headers=bearer("alice"))
    assert async_client.get("/stream_async/2", headers={"x-user": "7"}).text == "first"
    async_client.get("/single_async/4")
    assert actors(notes) == {1: "alice", 2: "7", 3: "7", 4: None}


def test_a_script_without_requests_has_its_actor(notes: str) -> None:
    from svc_pg.integrations.django import audit_connections

    django_shop.use(notes)
    try:
        django_shop.insert(1)
        audit_connections()
        with acting("nightly"):
            django_shop.insert(2)
            with transaction.atomic():
                django_shop.insert(3)
        django_shop.insert(4)
    finally:
        connection.close()
    assert actors(notes) == {1: None, 2: "nightly", 3: "nightly", 4: None}


def test_a_single_statement_costs_one_round_trip(notes: str) -> None:
    django_shop.use(notes)
    try:
        connection.ensure_connection()
        driver: psycopg.Connection = connection.connection
        with round_trips(driver) as plain:
            django_shop.insert(1)
        with acting("alice"), round_trips(driver) as audited:
            django_shop.insert(2)
    finally:
        connection.close()
    assert (plain.count, audited.count) == (1, 1)


def test_a_view_can_say_who_its_user_is(client: httpx.Client, notes: str) -> None:
    client.get("/of_token/1", headers={"x-token": "7"})
    client.get("/of_token/2", headers={"x-user": "8"})
    client.get("/of_token_class/3", headers={"x-token": "9", "x-user": "8"})
    client.get("/single/5")
    assert actors(notes) == {1: "7", 2: "8", 3: "9", 4: "9", 5: None}


def test_what_such_a_view_writes_has_the_context_of_its_request(client: httpx.Client, notes: str) -> None:
    client.get("/of_token/1", headers={"x-token": "7", "x-request-id": "r-81"})
    client.get("/delegated/2", headers={"x-token": "7", "x-user": "8"})
    with override_settings(SVC_ACTOR_RECORDS_REQUEST=False):
        client.get("/of_token/4", headers={"x-token": "7"})
    found = {entry.record_id: entry.context and entry.context.value for entry in entries(notes)}
    assert found["1"] == {"request_id": "r-81", "ip": "127.0.0.1"}
    assert (found["2"] or {}).keys() == {"request_id", "ip"}
    assert found["3"] == found["2"]
    assert found["4"] is None
    assert (actors(notes)[2], actors(notes)[3]) == ("8", "7")


def test_an_async_view_can_say_who_its_user_is(async_client: httpx.Client, notes: str) -> None:
    async_client.get("/of_token_async/1", headers={"x-token": "7"})
    async_client.get("/single_async/2")
    assert actors(notes) == {1: "7", 2: None}
    [found] = [entry.context for entry in entries(notes) if entry.record_id == "1"]
    assert (found or {}).keys() == {"request_id", "ip"}

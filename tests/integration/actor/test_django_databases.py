"""A Django application on SQLite, MariaDB and MySQL whose requests have actors."""

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import httpx
import pymysql
import pytest
from django.core.asgi import get_asgi_application
from django.core.wsgi import get_wsgi_application
from django.db import connection, transaction

from svc_pg import audit
from svc_pg.audit import acting
from svc_pg.integrations.django import audit_connections
from tests.integration.actor import django_shop, mysql_notes, sqlite_notes
from tests.integration.actor.servers import serving_asgi, serving_wsgi
from tests.integration.actor.tokens import bearer, expired
from tests.support import mysql

Actors = Callable[[], Mapping[int, str | None]]


class Place(NamedTuple):
    """A database in Django's words, and a function that empties it and returns one that reads the actors of notes."""

    settings: dict[str, Any]
    begin: Callable[[], Actors]


@pytest.fixture(scope="module", params=["sqlite", *mysql.KINDS])
def place(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, mysql_servers: mysql.Find
) -> Iterator[Place]:
    if request.param == "sqlite":
        path = sqlite_notes.make(tmp_path_factory.mktemp("django") / "notes.db")
        yield Place(
            {"ENGINE": "django.db.backends.sqlite3", "NAME": str(path)}, lambda: sqlite_notes.begin(path).actors
        )
        return
    server = mysql.found(mysql_servers, request.param)
    pymysql.install_as_MySQLdb()
    with server.new_database() as name:
        mysql_notes.make(server, name)
        yield Place(server.in_django(name), lambda: mysql_notes.begin(server, name).actors)
        connection.close()


@pytest.fixture
def actors(place: Place) -> Iterator[Actors]:
    """Reads the actor of each note in Django's database."""
    django_shop.use_database(**place.settings)
    yield place.begin()
    connection.close()


@pytest.fixture(params=[{}, {"ATOMIC_REQUESTS": True}, {"CONN_MAX_AGE": None}], ids=["plain", "atomic", "persistent"])
def client(request: pytest.FixtureRequest, place: Place, actors: Actors) -> Iterator[httpx.Client]:  # noqa: ARG001
    django_shop.use_database(**place.settings, **request.param)
    with serving_wsgi(get_wsgi_application()) as url, httpx.Client(base_url=url) as client:
        yield client


@pytest.fixture
def async_client(actors: Actors) -> Iterator[httpx.Client]:  # noqa: ARG001 - the settings are its
    with serving_asgi(get_asgi_application()) as url, httpx.Client(base_url=url) as client:
        yield client


def test_requests_write_as_their_users_and_leave_nobody_behind(client: httpx.Client, actors: Actors) -> None:
    client.get("/single/1", headers=bearer("alice"))
    client.get("/single/2", headers={"x-user": "7"} | bearer("alice"))
    client.get("/single/3", headers=expired())
    assert client.get("/broken/9", headers=bearer("mallory")).status_code == 500
    client.get("/single/4")
    assert client.get("/stream/5", headers=bearer("alice")).text == "first"
    client.get("/single/7")
    assert client.get("/twice/8", headers=bearer("alice")).status_code == 200
    told = actors()
    assert {note: told[note] for note in range(1, 8)} == {
        1: "alice",
        2: "7",
        3: None,
        4: None,
        5: "alice",
        6: "alice",
        7: None,
    }


def test_atomic_blocks_and_rolled_back_savepoints_have_the_right_actor(client: httpx.Client, actors: Actors) -> None:
    assert client.get("/nested/1", headers=bearer("alice")).status_code == 200
    assert actors() == {1: "alice", 3: "bob", 4: "alice", 5: "alice"}


def test_requests_at_the_same_time_have_their_own_actors(client: httpx.Client, actors: Actors) -> None:
    def send(note: int) -> None:
        assert client.get(f"/single/{note}", headers={"x-user": str(note)} if note % 7 else {}).status_code == 200

    with ThreadPoolExecutor(4) as executor:
        list(executor.map(send, range(15)))
    assert actors() == {note: str(note) if note % 7 else None for note in range(15)}


def test_async_views_and_streams_write_as_the_actor(async_client: httpx.Client, actors: Actors) -> None:
    async_client.get("/single_async/1", headers=bearer("alice"))
    assert async_client.get("/stream_async/2", headers={"x-user": "7"}).text == "first"
    async_client.get("/single_async/4")
    assert actors() == {1: "alice", 2: "7", 3: "7", 4: None}


def test_a_script_without_requests_has_its_actor(actors: Actors) -> None:
    audit_connections()
    with acting("nightly"):
        django_shop.insert(1)
        with transaction.atomic():
            django_shop.insert(2)
    django_shop.insert(3)
    with audit.actor(connection, "alice"), connection.cursor() as cursor:
        cursor.executemany("insert into note (id) values (%s)", [[4], [5]])
    assert actors() == {1: "nightly", 2: "nightly", 3: None, 4: "alice", 5: "alice"}

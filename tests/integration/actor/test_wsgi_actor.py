"""A Flask application whose requests have actors, served by Werkzeug."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
from flask import Flask, Response, request, stream_with_context
from psycopg_pool import ConnectionPool

from svc_pg.audit import acting, current_actor
from svc_pg.integrations.extractors import ACTOR_HEADER, Extractor, from_bearer, from_header
from svc_pg.integrations.psycopg import with_audit
from svc_pg.integrations.wsgi import WsgiActorMiddleware
from tests.integration.actor.entries import INSERT, actors, entries
from tests.integration.actor.servers import serving_wsgi
from tests.integration.actor.tokens import SECRET, bearer, expired


@pytest.fixture
def pool(notes: str) -> Iterator[ConnectionPool[Any]]:
    with with_audit(ConnectionPool(notes, min_size=1, max_size=2)) as pool:
        yield pool


def shop(pool: ConnectionPool[Any], extractor: Extractor, *, records_request: bool = False) -> Flask:
    app = Flask(__name__)
    app.wsgi_app = WsgiActorMiddleware(  # type: ignore[method-assign] # as Flask's documentation has it
        app.wsgi_app, extractor=extractor, records_request=records_request
    )

    def write(note: int) -> None:
        with pool.connection() as conn:
            conn.execute(INSERT, [note])

    @app.post("/notes/<int:note>")
    def add(note: int) -> str:
        write(note)
        actor = current_actor()
        return actor.id if actor else ""

    @app.post("/nested/<int:note>")
    def nested(note: int) -> str:
        with acting("job", context={"step": 1}):
            write(note)
        return ""

    @app.post("/streamed/<int:note>")
    def stream(note: int) -> Response:
        def parts() -> Iterator[str]:
            try:
                write(note)
                yield "first"
                write(note + 1)
            finally:
                write(note + 2)

        return Response(stream_with_context(parts()))

    @app.post("/broken/<int:note>")
    def broken(note: int) -> str:
        with pool.connection() as conn:
            conn.execute(INSERT, [note])
            raise RuntimeError

    @app.get("/actor-header")
    def actor_header() -> str:
        return request.headers.get(ACTOR_HEADER, "none")

    return app


@pytest.fixture
def client(pool: ConnectionPool[Any]) -> Iterator[httpx.Client]:
    app = shop(pool, from_bearer(verify=SECRET))
    with serving_wsgi(app) as url, httpx.Client(base_url=url) as client:
        yield client


def test_a_request_writes_as_the_subject_of_its_token(client: httpx.Client, notes: str) -> None:
    assert client.post("/notes/1", headers=bearer("alice")).text == "alice"
    client.post("/notes/2", headers=expired())
    client.post("/notes/3")
    assert actors(notes) == {1: "alice", 2: None, 3: None}


def test_requests_at_the_same_time_have_their_own_actors(client: httpx.Client, notes: str) -> None:
    def send(note: int) -> None:
        assert client.post(f"/notes/{note}", headers=bearer(f"user:{note}") if note % 7 else {}).status_code == 200

    with ThreadPoolExecutor(8) as executor:
        list(executor.map(send, range(60)))
    assert actors(notes) == {note: f"user:{note}" if note % 7 else None for note in range(60)}


def test_a_streamed_body_writes_as_the_actor(client: httpx.Client, notes: str) -> None:
    assert client.post("/streamed/1", headers=bearer("alice")).text == "first"
    assert actors(notes) == {1: "alice", 2: "alice", 3: "alice"}


def test_a_body_that_is_closed_early_is_closed_as_the_actor(pool: ConnectionPool[Any], notes: str) -> None:
    app = shop(pool, from_bearer(verify=SECRET)).test_client()
    response = app.post("/streamed/1", headers=bearer("alice"))
    assert next(response.iter_encoded()) == b"first"
    assert current_actor() is None
    response.close()
    assert actors(notes) == {1: "alice", 3: "alice"}


def test_an_exception_in_a_handler_leaves_no_actor_behind(client: httpx.Client, notes: str) -> None:
    assert client.post("/broken/1", headers=bearer("alice")).status_code == 500
    client.post("/notes/2")
    assert actors(notes) == {2: None}


@pytest.mark.parametrize("name", [ACTOR_HEADER, ACTOR_HEADER.replace("-", "_")])
def test_a_forged_actor_header_is_dropped(client: httpx.Client, notes: str, name: str) -> None:
    client.post("/notes/1", headers={name: "mallory"})
    assert actors(notes) == {1: None}
    assert client.get("/actor-header", headers={name: "mallory"}).text == "none"


def test_an_actor_header_counts_where_the_host_trusts_it(pool: ConnectionPool[Any], notes: str) -> None:
    with serving_wsgi(shop(pool, from_header(ACTOR_HEADER), records_request=True)) as url:
        httpx.post(f"{url}/notes/1", headers={ACTOR_HEADER: "alice", "x-request-id": "r-81"})
        httpx.post(f"{url}/nested/2", headers={ACTOR_HEADER: "alice", "x-request-id": "r-82"})
    entry, inner = entries(notes)
    assert (entry.actor_id, inner.actor_id) == ("alice", "job")
    assert entry.context is not None
    assert entry.context.value == {"request_id": "r-81", "ip": "127.0.0.1"}
    assert inner.context is not None
    assert inner.context.value == {"request_id": "r-82", "ip": "127.0.0.1", "step": 1}

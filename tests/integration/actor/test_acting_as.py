"""Frameworks name the actor where applications know their user: dependencies, hooks and middleware, in real servers."""

import asyncio
import logging
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Annotated, Any
from urllib.parse import urlencode

import httpx
import litestar
import pytest
from fastapi import BackgroundTasks, Depends, FastAPI, Header, HTTPException, WebSocket
from fastapi.responses import StreamingResponse
from flask import Flask, Response, g, request
from flask import session as flask_session
from litestar.connection import ASGIConnection
from litestar.middleware import AbstractAuthenticationMiddleware, AuthenticationResult, DefineMiddleware
from litestar.response import Stream
from psycopg.conninfo import conninfo_to_dict
from psycopg_pool import AsyncConnectionPool, ConnectionPool
from sqlalchemy import create_engine
from websockets.sync.client import connect

from svc_pg import audit
from svc_pg.audit import Actor, current_actor
from svc_pg.database import warn_once
from svc_pg.integrations import flask as in_flask
from svc_pg.integrations import litestar as in_litestar
from svc_pg.integrations import sqlalchemy as in_sqlalchemy
from svc_pg.integrations.fastapi import acting_as
from svc_pg.integrations.psycopg import with_audit
from tests.integration.actor.entries import INSERT, actors, entries
from tests.integration.actor.servers import serving_asgi, serving_wsgi
from tests.support.waiting import wait_until


@dataclass
class User:
    id: int


def sync_user(x_user: Annotated[str | None, Header()] = None) -> User | None:
    if x_user == "banned":
        raise HTTPException(403)
    return User(int(x_user)) if x_user else None


async def async_user(x_user: Annotated[str | None, Header()] = None) -> Actor | str | None:
    return Actor(x_user, tenant="acme") if x_user else None


def fastapi_shop(notes: str, dependency: Any) -> FastAPI:
    pool = with_audit(AsyncConnectionPool(notes, min_size=1, max_size=3, open=False))
    sync_pool = with_audit(ConnectionPool(notes, min_size=1, max_size=3, open=False))

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        async with pool:
            with sync_pool:
                yield

    app = FastAPI(lifespan=lifespan)
    acting = [Depends(dependency)]

    async def write(note: int) -> None:
        async with pool.connection() as conn:
            await conn.execute(INSERT, [note])

    @app.post("/notes/{note}", dependencies=acting)
    async def add(note: int) -> None:
        await write(note)

    @app.post("/in-a-thread/{note}", dependencies=acting)
    def add_in_a_thread(note: int) -> None:
        with sync_pool.connection() as conn:
            conn.execute(INSERT, [note])

    @app.post("/later/{note}", dependencies=acting)
    async def later(note: int, tasks: BackgroundTasks) -> StreamingResponse:
        async def parts() -> AsyncIterator[str]:
            await write(note)
            yield "first"
            await write(note + 1)

        tasks.add_task(write, note + 2)
        tasks.add_task(add_in_a_thread, note + 3)
        return StreamingResponse(parts(), background=tasks)

    @app.post("/broken/{note}", dependencies=acting)
    async def broken(note: int) -> None:
        await write(note)
        raise HTTPException(409)

    @app.post("/anybody/{note}")
    async def anybody(note: int) -> None:
        await write(note)

    @app.websocket("/socket", dependencies=acting)
    async def socket(websocket: WebSocket) -> None:
        await websocket.accept()
        await write(int(await websocket.receive_text()))
        await websocket.close()

    return app


@pytest.mark.parametrize("user", [sync_user, async_user])
def test_a_dependency_of_fastapi_names_the_actor_of_all_that_a_request_does(notes: str, user: Any) -> None:
    app = fastapi_shop(notes, acting_as(user, records_request=True))
    with serving_asgi(app, ws="websockets-sansio") as url, httpx.Client(base_url=url) as client:
        headers = {"x-user": "7", "x-request-id": "r-81"}
        client.post("/notes/1", headers=headers)
        client.post("/in-a-thread/2", headers=headers)
        assert client.post("/later/3", headers=headers).text == "first"
        wait_until(lambda: len(actors(notes)) == 6, "the background tasks have written")
        assert client.post("/broken/7", headers=headers).status_code == 409
        client.post("/notes/8")
        client.post("/anybody/9", headers=headers)
        with connect(f"{url.replace('http', 'ws')}/socket", additional_headers={"x-user": "8"}) as socket:
            socket.send("10")
            assert list(socket) == []
    assert actors(notes) == {**dict.fromkeys(range(1, 8), "7"), 8: None, 9: None, 10: "8"}
    first, *_ = entries(notes)
    assert first.context is not None
    assert first.context.value == {"request_id": "r-81", "ip": "127.0.0.1"}
    assert first.tenant_id == (None if user is sync_user else "acme")


def test_a_user_that_the_dependency_refuses_writes_nothing(notes: str) -> None:
    with serving_asgi(fastapi_shop(notes, acting_as(sync_user))) as url:
        assert httpx.post(f"{url}/notes/1", headers={"x-user": "banned"}).status_code == 403
        assert httpx.post(f"{url}/notes/2", headers={"x-user": "7"}).status_code == 200
    assert actors(notes) == {2: "7"}


def test_requests_of_fastapi_at_the_same_time_have_their_own_actors(notes: str) -> None:
    async def send_all(url: str) -> None:
        async with httpx.AsyncClient(base_url=url) as sender:

            async def send(note: int) -> None:
                path = "notes" if note % 2 else "in-a-thread"
                response = await sender.post(f"/{path}/{note}", headers={"x-user": str(note)} if note % 7 else {})
                assert response.status_code == 200

            await asyncio.gather(*map(send, range(40)))

    with serving_asgi(fastapi_shop(notes, acting_as(sync_user))) as url:
        asyncio.run(send_all(url))
    assert actors(notes) == {note: str(note) if note % 7 else None for note in range(40)}


def test_a_block_in_a_sync_dependency_does_not_fail_the_request_and_is_warned_of_once(
    notes: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(warn_once, "_given", set())

    def acting() -> Iterator[None]:
        with audit.acting("alice"):
            yield

    with caplog.at_level(logging.WARNING, "svc_pg"), serving_asgi(fastapi_shop(notes, acting)) as url:
        for note in (1, 2):
            assert httpx.post(f"{url}/notes/{note}").status_code == 200
    assert set(actors(notes)) == {1, 2}
    [warned] = [record.message for record in caplog.records if record.name == "svc_pg"]
    assert "Depends(acting_as(current_user))" in warned
    assert current_actor() is None


def test_a_block_in_an_async_dependency_is_the_actor_of_the_request(notes: str) -> None:
    async def acting() -> AsyncIterator[None]:
        with audit.acting("alice"):
            yield

    with serving_asgi(fastapi_shop(notes, acting)) as url:
        assert httpx.post(f"{url}/notes/1").status_code == 200
        assert httpx.post(f"{url}/in-a-thread/2").status_code == 200
    assert actors(notes) == {1: "alice", 2: "alice"}


def flask_shop(pool: ConnectionPool[Any]) -> Flask:
    app = Flask(__name__)

    @app.before_request
    def authenticate() -> None:
        name = request.headers.get("x-user")
        g.user = User(int(name)) if name else None

    in_flask.acting_as(app, lambda: g.user, records_request=True)

    def write(note: int) -> None:
        with pool.connection() as conn:
            conn.execute(INSERT, [note])

    @app.post("/notes/<int:note>")
    def add(note: int) -> str:
        write(note)
        return ""

    @app.post("/streamed/<int:note>")
    def stream(note: int) -> Response:
        def parts() -> Iterator[str]:
            write(note)
            yield "first"
            write(note + 1)

        return Response(parts())

    @app.post("/broken/<int:note>")
    def broken(note: int) -> str:
        write(note)
        raise RuntimeError

    return app


def test_flask_runs_requests_as_their_user(notes: str) -> None:
    with with_audit(ConnectionPool(notes, min_size=1, max_size=3)) as pool, serving_wsgi(flask_shop(pool)) as url:
        with httpx.Client(base_url=url) as client:
            client.post("/notes/1", headers={"x-user": "7", "x-request-id": "r-81"})
            assert client.post("/streamed/2", headers={"x-user": "8"}).text == "first"
            assert client.post("/broken/4", headers={"x-user": "9"}).status_code == 500
            client.post("/notes/5")

        def send(note: int) -> None:
            httpx.post(f"{url}/notes/{note}", headers={"x-user": str(note)} if note % 7 else {})

        with ThreadPoolExecutor(8) as executor:
            list(executor.map(send, range(10, 40)))
    expected = {note: str(note) if note % 7 else None for note in range(10, 40)}
    assert actors(notes) == {1: "7", 2: "8", 3: "8", 4: "9", 5: None, **expected}
    first, *_ = entries(notes)
    assert first.context is not None
    assert first.context.value == {"request_id": "r-81", "ip": "127.0.0.1"}


def test_flasks_own_session_and_sqlalchemys_own_pool_need_no_settings(notes: str) -> None:
    app = Flask(__name__)
    app.secret_key = "of the test"
    engine = in_sqlalchemy.with_audit(create_engine("postgresql+psycopg://?" + urlencode(conninfo_to_dict(notes))))
    in_flask.acting_as(app, lambda: flask_session.get("user"))

    @app.post("/sign-in/<name>")
    def sign_in(name: str) -> str:
        flask_session["user"] = name
        return ""

    @app.post("/notes/<int:note>")
    def add(note: int) -> str:
        with engine.begin() as conn:
            conn.exec_driver_sql(INSERT, (note,))
        return ""

    with serving_wsgi(app) as url, httpx.Client(base_url=url) as client:
        client.post("/notes/1")
        client.post("/sign-in/mara")
        assert client.post("/notes/2").status_code == 200
        forged = {"Cookie": "session=eyJ1c2VyIjoiYW5uIn0.forged"}
        assert httpx.post(f"{url}/notes/3", headers=forged).status_code == 200
    engine.dispose()
    assert actors(notes) == {1: None, 2: "mara", 3: None}


def test_flask_leaves_no_actor_in_a_thread(notes: str) -> None:
    with with_audit(ConnectionPool(notes, min_size=1, max_size=2)) as pool:
        app = flask_shop(pool)
        client = app.test_client()
        client.post("/notes/1", headers={"x-user": "7"})
        assert current_actor() is None
        client.post("/notes/2")
        with audit.acting("outer"):
            with app.test_request_context(headers={"x-user": "8"}):  # as in a shell
                app.preprocess_request()
                app.view_functions["add"](note=3)
            app.view_functions["add"](note=4)
    assert actors(notes) == {1: "7", 2: None, 3: "8", 4: "outer"}


class Authentication(AbstractAuthenticationMiddleware):
    async def authenticate_request(self, connection: ASGIConnection[Any, Any, Any, Any]) -> AuthenticationResult:
        name = connection.headers.get("x-user")
        return AuthenticationResult(user=User(int(name)) if name else None, auth=None)


def user_of(connection: ASGIConnection[Any, Any, Any, Any]) -> Any:
    return connection.user


async def async_user_of(connection: ASGIConnection[Any, Any, Any, Any]) -> Any:
    return connection.user


@pytest.mark.parametrize("user", [user_of, async_user_of])
def test_litestar_runs_requests_as_their_user(notes: str, user: Any) -> None:
    pool = with_audit(AsyncConnectionPool(notes, min_size=1, max_size=2, open=False))

    @asynccontextmanager
    async def lifespan(_app: litestar.Litestar) -> AsyncIterator[None]:
        async with pool:
            yield

    async def write(note: int) -> None:
        async with pool.connection() as conn:
            await conn.execute(INSERT, [note])

    @litestar.post("/notes")
    async def add(request: litestar.Request[Any, Any, Any]) -> None:
        await write(int(request.query_params["note"]))

    @litestar.post("/streamed")
    async def stream(request: litestar.Request[Any, Any, Any]) -> Stream:
        note = int(request.query_params["note"])

        async def parts() -> AsyncIterator[str]:
            await write(note)
            yield "first"
            await write(note + 1)

        return Stream(parts())

    middleware = [DefineMiddleware(Authentication), in_litestar.acting_as(user)]
    app = litestar.Litestar([add, stream], lifespan=[lifespan], middleware=middleware)
    with serving_asgi(app) as url:
        assert httpx.post(f"{url}/notes?note=1", headers={"x-user": "7"}).status_code == 201
        assert httpx.post(f"{url}/streamed?note=2", headers={"x-user": "8"}).text == "first"
        assert httpx.post(f"{url}/notes?note=4").status_code == 201
    assert actors(notes) == {1: "7", 2: "8", 3: "8", 4: None}


def test_a_user_without_an_id_is_refused_with_what_to_return() -> None:
    from svc_pg.integrations.extractors import actor_of

    with pytest.raises(TypeError, match="object has no id: return an id"):
        actor_of(object(), None)

"""ASGI applications whose requests have actors, served by uvicorn."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import litestar
import pytest
from fastapi import BackgroundTasks, FastAPI, Request, WebSocket
from fastapi.responses import StreamingResponse
from litestar import Litestar, post
from litestar.middleware import DefineMiddleware
from psycopg_pool import AsyncConnectionPool, ConnectionPool
from websockets.sync.client import connect

from svc_pg.audit import Actor, acting, current_actor
from svc_pg.integrations.asgi import ActorMiddleware
from svc_pg.integrations.extractors import ACTOR_HEADER, Extractor, from_bearer, from_header
from svc_pg.integrations.extractors import Request as Seen
from svc_pg.integrations.psycopg import with_audit
from tests.integration.actor.entries import INSERT, actors, entries
from tests.integration.actor.servers import serving_asgi
from tests.integration.actor.tokens import SECRET, bearer, expired
from tests.support.waiting import wait_until


def shop(notes: str, extractor: Extractor, **options: Any) -> FastAPI:
    pool = with_audit(AsyncConnectionPool(notes, min_size=1, max_size=2, open=False))
    sync_pool = with_audit(ConnectionPool(notes, min_size=1, max_size=2, open=False))

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        async with pool:
            with sync_pool:
                yield

    async def write(note: int) -> None:
        async with pool.connection() as conn:
            await conn.execute(INSERT, [note])

    app = FastAPI(lifespan=lifespan)
    app.add_middleware(ActorMiddleware, extractor=extractor, **options)

    @app.post("/notes/{note}")
    async def add(note: int) -> str | None:
        await write(note)
        actor = current_actor()
        return actor.id if actor else None

    @app.post("/nested/{note}")
    async def nested(note: int) -> None:
        with acting("job", context={"step": 1}):
            await write(note)

    @app.post("/in-a-thread/{note}")
    def add_in_a_thread(note: int) -> None:
        with sync_pool.connection() as conn:
            conn.execute(INSERT, [note])

    @app.post("/later/{note}")
    async def add_later(note: int, tasks: BackgroundTasks) -> None:
        tasks.add_task(write, note)
        tasks.add_task(add_in_a_thread, note + 1)

    @app.post("/streamed/{note}")
    async def stream(note: int) -> StreamingResponse:
        async def parts() -> AsyncIterator[str]:
            await write(note)
            yield "first"
            await write(note + 1)

        return StreamingResponse(parts())

    @app.post("/broken/{note}")
    async def broken(note: int) -> None:
        async with pool.connection() as conn:
            await conn.execute(INSERT, [note])
            raise RuntimeError

    @app.get("/actor-headers")
    async def actor_headers(request: Request) -> list[str]:
        return [value for name, value in request.headers.items() if "actor" in name]

    @app.websocket("/socket")
    async def socket(websocket: WebSocket) -> None:
        await websocket.accept()
        await write(int(await websocket.receive_text()))
        await websocket.close()

    return app


@pytest.fixture
def client(notes: str) -> Iterator[httpx.Client]:
    with (
        serving_asgi(shop(notes, from_bearer(verify=SECRET))) as url,
        httpx.Client(base_url=url) as client,
    ):
        yield client


def test_a_request_writes_as_the_subject_of_its_token(client: httpx.Client, notes: str) -> None:
    assert client.post("/notes/1", headers=bearer("alice")).json() == "alice"
    client.post("/in-a-thread/2", headers=bearer("bob"))
    client.post("/notes/3")
    assert actors(notes) == {1: "alice", 2: "bob", 3: None}


def test_requests_at_the_same_time_have_their_own_actors(client: httpx.Client, notes: str) -> None:
    async def send_all() -> None:
        async with httpx.AsyncClient(base_url=client.base_url) as sender:

            async def send(note: int) -> None:
                path = "notes" if note % 2 else "in-a-thread"
                response = await sender.post(f"/{path}/{note}", headers=bearer(f"user:{note}") if note % 7 else {})
                assert response.status_code == 200

            await asyncio.gather(*map(send, range(60)))

    asyncio.run(send_all())
    assert actors(notes) == {note: f"user:{note}" if note % 7 else None for note in range(60)}


def test_streams_and_background_tasks_write_as_the_actor(client: httpx.Client, notes: str) -> None:
    assert client.post("/streamed/1", headers=bearer("alice")).text == "first"
    client.post("/later/3", headers=bearer("bob"))
    wait_until(lambda: len(actors(notes)) == 4, "the background tasks have written")
    client.post("/notes/5")
    assert actors(notes) == {1: "alice", 2: "alice", 3: "bob", 4: "bob", 5: None}


def test_an_exception_in_a_handler_leaves_no_actor_behind(client: httpx.Client, notes: str) -> None:
    headers = bearer("alice") | {"connection": "close"}  # or uvicorn closes it, perhaps under the next request
    assert client.post("/broken/1", headers=headers).status_code == 500
    client.post("/notes/2")
    assert actors(notes) == {2: None}


@pytest.mark.parametrize("headers", [expired(), {"authorization": "Bearer x.y.z"}, {"authorization": "Bearer \xff"}])
def test_a_bad_token_is_nobody_and_the_request_goes_on(
    client: httpx.Client, notes: str, headers: dict[str, str]
) -> None:
    encoded = [(name.encode(), value.encode("latin-1")) for name, value in headers.items()]
    assert client.post("/notes/1", headers=encoded).status_code == 200
    assert actors(notes) == {1: None}


@pytest.mark.parametrize("name", [ACTOR_HEADER, ACTOR_HEADER.title(), ACTOR_HEADER.replace("-", "_")])
def test_a_forged_actor_header_is_dropped(client: httpx.Client, notes: str, name: str) -> None:
    client.post("/notes/1", headers={name: "mallory"})
    assert actors(notes) == {1: None}
    assert client.get("/actor-headers", headers={name: "mallory"}).json() == []


def test_an_actor_header_counts_where_the_host_trusts_it(notes: str) -> None:
    with serving_asgi(shop(notes, from_header(ACTOR_HEADER.title()))) as url:
        httpx.post(f"{url}/notes/1", headers={ACTOR_HEADER: "alice"})
        assert httpx.get(f"{url}/actor-headers", headers={ACTOR_HEADER: "alice"}).json() == ["alice"]
    assert actors(notes) == {1: "alice"}


def test_another_trusted_header_does_not_open_the_actor_header(notes: str) -> None:
    with serving_asgi(shop(notes, from_header("x-user"))) as url:
        httpx.post(f"{url}/notes/1", headers={ACTOR_HEADER: "mallory", "x-user": "alice"})
        assert httpx.get(f"{url}/actor-headers", headers={ACTOR_HEADER: "mallory"}).json() == []
    assert actors(notes) == {1: "alice"}


def test_an_async_extractor_brings_a_whole_actor(notes: str) -> None:
    async def extract(request: Seen) -> Actor | None:
        assert request.scope["path"] in ("/notes/1", "/nested/2")
        return Actor(request.headers["x-user"], "acme")

    with serving_asgi(shop(notes, extract, records_request=True)) as url:
        httpx.post(f"{url}/notes/1", headers={"x-user": "alice", "x-request-id": "r-81"})
        httpx.post(f"{url}/nested/2", headers={"x-user": "alice", "x-request-id": "r-82"})
    entry, inner = entries(notes)
    assert (entry.actor_id, entry.tenant_id) == ("alice", "acme")
    assert entry.context is not None
    assert entry.context.value == {"request_id": "r-81", "ip": "127.0.0.1"}
    assert (inner.actor_id, inner.tenant_id) == ("job", None)
    assert inner.context is not None
    assert inner.context.value == {"request_id": "r-82", "ip": "127.0.0.1", "step": 1}


def test_a_key_function_does_not_hold_up_the_event_loop(notes: str) -> None:
    def fetch(_token: str) -> str:
        with pytest.raises(RuntimeError, match="no running event loop"):
            asyncio.get_running_loop()
        return SECRET

    extractor = from_bearer(verify=fetch, algorithms=["HS256"])
    with serving_asgi(shop(notes, extractor)) as url:
        assert httpx.post(f"{url}/notes/1", headers=bearer("alice")).json() == "alice"


def test_a_websocket_writes_as_the_actor_of_its_handshake(notes: str) -> None:
    with (
        serving_asgi(shop(notes, from_bearer(verify=SECRET)), ws="websockets-sansio") as url,
        connect(f"{url.replace('http', 'ws')}/socket", additional_headers=bearer("alice")) as socket,
    ):
        socket.send("1")
        assert list(socket) == []
    assert actors(notes) == {1: "alice"}


def test_litestar_requests_have_actors(notes: str) -> None:
    pool = with_audit(AsyncConnectionPool(notes, min_size=1, max_size=2, open=False))

    @asynccontextmanager
    async def lifespan(_app: Litestar) -> AsyncIterator[None]:
        async with pool:
            yield

    @post("/notes")
    async def add(request: litestar.Request[Any, Any, Any]) -> None:
        async with pool.connection() as conn:
            await conn.execute(INSERT, [int(request.query_params["note"])])

    middleware_class: Any = ActorMiddleware  # Litestar's types of ASGI are narrower than the specification's
    middleware = DefineMiddleware(middleware_class, extractor=from_bearer(verify=SECRET))
    with serving_asgi(Litestar([add], lifespan=[lifespan], middleware=[middleware])) as url:
        assert httpx.post(f"{url}/notes?note=1", headers=bearer("alice")).status_code == 201
        httpx.post(f"{url}/notes?note=2")
    assert actors(notes) == {1: "alice", 2: None}

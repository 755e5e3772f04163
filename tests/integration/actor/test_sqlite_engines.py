"""SQLAlchemy's engines on SQLite, by themselves and behind FastAPI, Litestar and Flask."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, closing
from typing import Any

import httpx
import litestar
import pytest
import sqlalchemy
from fastapi import BackgroundTasks, FastAPI
from fastapi.responses import StreamingResponse
from flask import Flask, Response
from litestar import Litestar
from litestar.middleware import DefineMiddleware
from sqlalchemy import Engine, create_engine, create_mock_engine, text
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession, async_sessionmaker, create_async_engine
from sqlalchemy.orm import Session, sessionmaker

from svc_pg import audit
from svc_pg.audit import acting
from svc_pg.errors import ConfigError
from svc_pg.integrations.asgi import ActorMiddleware
from svc_pg.integrations.extractors import from_bearer
from svc_pg.integrations.sqlalchemy import with_audit
from svc_pg.integrations.wsgi import WsgiActorMiddleware
from tests.integration.actor.servers import serving_asgi, serving_wsgi
from tests.integration.actor.sqlite_notes import Notes
from tests.integration.actor.tokens import SECRET, bearer, expired
from tests.support.waiting import wait_until

INSERT = text("insert into note (id) values (:note)")
BEARER = from_bearer(verify=SECRET)


@pytest.fixture
def engine(sqlite_notes: Notes) -> Iterator[Engine]:
    """An engine with a pool of one connection, which it had before it was audited."""
    engine = create_engine(f"sqlite:///{sqlite_notes.path}", pool_size=1, max_overflow=0)
    with engine.begin() as conn:
        conn.execute(INSERT, {"note": 0})
    yield with_audit(with_audit(engine))
    engine.dispose()


def async_engine(notes: Notes, **options: Any) -> AsyncEngine:
    return with_audit(create_async_engine(f"sqlite+aiosqlite:///{notes.path}", **options))


def test_a_pool_of_one_connection_leaves_nobody_behind(engine: Engine, sqlite_notes: Notes) -> None:
    def fail() -> None:
        with engine.begin() as conn:
            conn.execute(INSERT, {"note": 99})
            raise ZeroDivisionError

    with acting("alice"), engine.begin() as conn:
        conn.execute(INSERT, {"note": 1})
    with engine.begin() as conn:
        conn.execute(INSERT, {"note": 2})
    with acting("mallory"), pytest.raises(ZeroDivisionError):
        fail()
    with closing(engine.raw_connection()) as raw:
        raw.cursor().execute("insert into note (id) values (3)")
        with audit.actor(raw, "bob"):
            raw.cursor().execute("insert into note (id) values (4)")
        raw.commit()
    with acting("carol"), engine.connect() as conn:
        conn.execution_options(isolation_level="AUTOCOMMIT").execute(INSERT, [{"note": 5}, {"note": 6}])
        conn.invalidate()
    with acting("dan"), engine.begin() as conn:
        with conn.begin_nested() as savepoint:
            conn.execute(INSERT, {"note": 7})
            savepoint.rollback()
        conn.execute(INSERT, {"note": 8})
    assert sqlite_notes.actors() == {
        **dict.fromkeys((0, 2, 3)),
        1: "alice",
        4: "bob",
        **dict.fromkeys((5, 6), "carol"),
        8: "dan",
    }


def test_sessions_factories_and_memory_have_the_actor() -> None:
    engine = create_engine("sqlite://")
    with engine.begin() as conn:
        conn.execute(text("create table told (actor text)"))
    read = text("insert into told select json_extract(printf(), '$.actor_id')")
    with acting("alice"), with_audit(sessionmaker(engine)).begin() as session:
        session.execute(read)
    with acting("bob"), with_audit(Session(engine)) as session, session.begin():
        session.execute(read)
        assert session.scalars(text("select actor from told")).all() == ["alice", "bob"]
    engine.dispose()


def test_threads_that_share_a_pool_write_as_their_own_actors(engine: Engine, sqlite_notes: Notes) -> None:
    def write(note: int) -> None:
        with acting(f"user:{note}"), engine.begin() as conn:
            conn.execute(INSERT, {"note": note})

    with ThreadPoolExecutor(8) as executor:
        list(executor.map(write, range(1, 50)))
    assert sqlite_notes.actors() == {0: None, **{note: f"user:{note}" for note in range(1, 50)}}


def test_tasks_that_share_a_pool_write_as_their_own_actors(sqlite_notes: Notes) -> None:
    async def write_all() -> None:
        engine = async_engine(sqlite_notes, pool_size=1, max_overflow=0)
        factory = with_audit(async_sessionmaker(engine))

        async def write(note: int) -> None:
            with acting(f"user:{note}"):
                async with factory.begin() as session:
                    await session.execute(INSERT, {"note": note})
                    await asyncio.sleep(0)
                    await session.execute(text("update note set body = 'x' where id = :note"), {"note": note})

        await asyncio.gather(*map(write, range(20)))
        async with AsyncSession(engine) as session, session.begin():
            await session.execute(INSERT, {"note": 20})
            with acting("alice"):
                await (await session.connection()).run_sync(lambda conn: conn.execute(INSERT, {"note": 21}))
        await engine.dispose()

    asyncio.run(write_all())
    assert sqlite_notes.actors() == {**{note: f"user:{note}" for note in range(20)}, 20: None, 21: "alice"}
    assert len(sqlite_notes.told()) == 42


def test_an_engine_of_another_database_is_refused() -> None:
    engine: Any = object.__new__(sqlalchemy.Engine)
    engine.dialect = create_mock_engine("oracle+oracledb://", executor=print).dialect
    with pytest.raises(ConfigError, match="an engine of oracle cannot have an actor"):
        with_audit(engine)


def test_fastapi_requests_have_actors(engine: Engine, sqlite_notes: Notes) -> None:
    tasks_engine = async_engine(sqlite_notes)

    async def write(note: int) -> None:
        async with tasks_engine.begin() as conn:
            await conn.execute(INSERT, {"note": note})

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        yield
        await tasks_engine.dispose()

    app = FastAPI(lifespan=lifespan)
    app.add_middleware(ActorMiddleware, extractor=BEARER, records_request=True)
    app.post("/notes/{note}")(write)

    @app.post("/in-a-thread/{note}")
    def add_in_a_thread(note: int) -> None:
        with engine.begin() as conn:
            conn.execute(INSERT, {"note": note})

    @app.post("/streamed/{note}")
    async def stream(note: int, tasks: BackgroundTasks) -> StreamingResponse:
        async def parts() -> AsyncIterator[str]:
            await write(note)
            yield "first"
            await write(note + 1)

        tasks.add_task(write, note + 2)
        return StreamingResponse(parts(), background=tasks)

    async def send_all(url: str) -> None:
        async with httpx.AsyncClient(base_url=url) as client:

            async def send(note: int) -> None:
                path = "notes" if note % 2 else "in-a-thread"
                response = await client.post(f"/{path}/{note}", headers=bearer(f"user:{note}") if note % 7 else {})
                assert response.status_code == 200

            await asyncio.gather(*map(send, range(10, 30)))

    with serving_asgi(app) as url:
        httpx.post(f"{url}/notes/1", headers=bearer("alice") | {"x-request-id": "r-81"})
        httpx.post(f"{url}/notes/2", headers=expired())
        assert httpx.post(f"{url}/streamed/3", headers=bearer("bob")).text == "first"
        wait_until(lambda: 5 in sqlite_notes.actors(), "the background task has written")
        asyncio.run(send_all(url))
    assert sqlite_notes.told()[1] == ("alice", None, {"request_id": "r-81", "ip": "127.0.0.1"})
    assert sqlite_notes.actors() == {
        0: None,
        1: "alice",
        2: None,
        3: "bob",
        4: "bob",
        5: "bob",
        **{note: f"user:{note}" if note % 7 else None for note in range(10, 30)},
    }


def test_litestar_requests_have_actors(sqlite_notes: Notes) -> None:
    engine = async_engine(sqlite_notes)

    @litestar.post("/notes")
    async def add(request: litestar.Request[Any, Any, Any]) -> None:
        async with engine.begin() as conn:
            await conn.execute(INSERT, {"note": int(request.query_params["note"])})

    middleware_class: Any = ActorMiddleware  # Litestar's types of ASGI are narrower than the specification's
    middleware = DefineMiddleware(middleware_class, extractor=BEARER)
    with serving_asgi(Litestar([add], middleware=[middleware], on_shutdown=[engine.dispose])) as url:
        assert httpx.post(f"{url}/notes?note=1", headers=bearer("alice")).status_code == 201
        httpx.post(f"{url}/notes?note=2")
    assert sqlite_notes.actors() == {1: "alice", 2: None}


def test_flask_requests_have_actors(engine: Engine, sqlite_notes: Notes) -> None:
    app = Flask(__name__)
    app.wsgi_app = WsgiActorMiddleware(app.wsgi_app, extractor=BEARER)  # type: ignore[method-assign]

    def write(note: int) -> None:
        with engine.begin() as conn:
            conn.execute(INSERT, {"note": note})

    @app.post("/notes/<int:note>")
    def stream(note: int) -> Response:
        def parts() -> Iterator[str]:
            write(note)
            yield "first"
            write(note + 100)

        return Response(parts())

    def send(note: int) -> None:
        headers = bearer(f"user:{note}") if note % 7 else {}
        assert httpx.post(f"{url}/notes/{note}", headers=headers).text == "first"

    with serving_wsgi(app) as url, ThreadPoolExecutor(4) as executor:
        list(executor.map(send, range(1, 21)))
    own = {note: f"user:{note}" if note % 7 else None for note in range(1, 21)}
    assert sqlite_notes.actors() == {0: None, **own, **{note + 100: actor for note, actor in own.items()}}

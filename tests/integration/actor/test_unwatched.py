"""An actor that never reaches the connection which writes is warned of, once, where it can be known."""

import logging
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import httpx
import psycopg
import pytest
from django.db import connection
from django.db.backends.signals import connection_created
from fastapi import Depends, FastAPI
from flask import Flask
from psycopg.conninfo import conninfo_to_dict
from sqlalchemy import create_engine, event, text
from sqlalchemy.engine import Engine
from sqlalchemy.orm import Session

from svc_pg import audit
from svc_pg.audit import acting
from svc_pg.database import warn_once
from svc_pg.integrations import django as in_django
from svc_pg.integrations import sqlalchemy as integration
from svc_pg.integrations import watching
from svc_pg.integrations.asgi import ActorMiddleware
from svc_pg.integrations.fastapi import acting_as as acting_as_of_fastapi
from svc_pg.integrations.flask import acting_as as acting_as_of_flask
from svc_pg.integrations.psycopg import with_audit as audited_connection
from svc_pg.integrations.sqlalchemy import with_audit
from svc_pg.integrations.wsgi import WsgiActorMiddleware
from tests.integration.actor import django_shop
from tests.integration.actor.entries import actors
from tests.integration.actor.servers import serving_asgi, serving_wsgi
from tests.integration.actor.sqlite_notes import Notes

ADD = text("insert into note values (:note)")


@pytest.fixture(autouse=True)
def _anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warn_once, "_given", set())


@pytest.fixture
def warned(caplog: pytest.LogCaptureFixture) -> Iterator[Any]:
    with caplog.at_level(logging.WARNING, "svc_pg"):
        yield lambda: [record.getMessage() for record in caplog.records if record.name == "svc_pg"]


@pytest.fixture
def engine(notes: str) -> Iterator[Engine]:
    engine = create_engine("postgresql+psycopg://", creator=partial(psycopg.connect, notes))
    watching.watch()  # as whoever finds actors does
    yield engine
    engine.dispose()


def forget_looking() -> None:
    if event.contains(Engine, "before_cursor_execute", integration._look):
        event.remove(Engine, "before_cursor_execute", integration._look)


def test_an_engine_without_with_audit_is_named_once(engine: Engine, notes: str, warned: Any) -> None:
    with Session(engine) as session:
        session.execute(ADD, {"note": 1})
        with acting("alice"):
            session.execute(text("select 1"))
            assert warned() == []
            for note in (2, 3):
                session.execute(ADD, {"note": note})
        session.commit()
    [message] = warned()
    assert "svc_pg.integrations.sqlalchemy.with_audit(engine)" in message
    assert actors(notes) == {1: None, 2: None, 3: None}


def test_whoever_tells_the_connection_is_not_warned(engine: Engine, notes: str, warned: Any) -> None:
    with Session(engine) as session, audit.actor(session, "alice"):
        session.execute(ADD, {"note": 1})
        session.commit()
    with_audit(engine)
    with acting("bob"), Session(engine) as session:
        session.execute(ADD, {"note": 2})
        session.commit()
    own = create_engine("postgresql+psycopg://", creator=lambda: audited_connection(psycopg.connect(notes)))
    with acting("carol"), Session(own) as session:
        session.execute(ADD, {"note": 3})
        session.commit()
    own.dispose()
    assert warned() == []
    assert actors(notes) == {1: "alice", 2: "bob", 3: "carol"}


def test_engines_of_options_are_told_with_the_one_they_are_made_of(
    notes: str, sqlite_notes: Notes, warned: Any
) -> None:
    """One pool tells both, whichever is ``with_audit``; an event of statements is heard by those made of the engine."""
    on_postgres = create_engine("postgresql+psycopg2://", connect_args=conninfo_to_dict(notes))
    on_sqlite = create_engine(f"sqlite:///{sqlite_notes.path}")
    with_audit(on_postgres)
    with_audit(on_sqlite.execution_options(isolation_level="SERIALIZABLE"))
    for engine in (on_postgres, on_sqlite):
        for note, each in enumerate([engine, engine.execution_options(isolation_level="SERIALIZABLE")]):
            with acting("alice"), each.begin() as conn:
                conn.execute(text("insert into note (id) values (:note)"), {"note": note})
        engine.dispose()
    assert warned() == []
    assert actors(notes) == sqlite_notes.actors() == {0: "alice", 1: "alice"}


def of_fastapi() -> Any:
    app = FastAPI(dependencies=[Depends(acting_as_of_fastapi(lambda: None))])
    app.add_api_route("/", lambda: "")
    return serving_asgi(app)


def of_flask() -> Any:
    app = Flask(__name__)
    app.add_url_rule("/", view_func=lambda: "")
    acting_as_of_flask(app, lambda: None)
    return serving_wsgi(app)


def of_asgi() -> Any:
    return serving_asgi(ActorMiddleware(FastAPI(), extractor=lambda _: None))


def of_wsgi() -> Any:
    return serving_wsgi(WsgiActorMiddleware(Flask(__name__), extractor=lambda _: None))


@pytest.mark.parametrize("serving", [of_fastapi, of_flask, of_asgi, of_wsgi])
def test_a_request_begins_to_look_also_if_sqlalchemy_is_loaded_later(serving: Callable[[], Any], warned: Any) -> None:
    engine = create_engine("sqlite://")
    with serving() as url, engine.begin() as conn:
        conn.execute(text("create table note (id integer)"))
        forget_looking()  # as before SQLAlchemy was loaded
        with acting("alice"):
            conn.execute(ADD, {"note": 1})
            assert warned() == []
            httpx.get(url)
            conn.execute(ADD, {"note": 2})
    [message] = warned()
    assert "svc_pg.integrations.sqlalchemy.with_audit(engine)" in message


def test_looking_begins_once(monkeypatch: pytest.MonkeyPatch) -> None:
    forget_looking()
    begun: list[str] = []

    def listen(target: Any, name: str, look: Any) -> None:
        begun.append(name)
        original(target, name, look)

    original = event.listen
    monkeypatch.setattr(event, "listen", listen)
    watching.watch()
    watching.watch()
    assert begun == ["before_cursor_execute"]


def test_a_connection_of_django_that_nobody_audits_is_named_once(notes: str, warned: Any) -> None:
    django_shop.skip_unsupported(notes)
    django_shop.use(notes)
    connection_created.disconnect(dispatch_uid="svc_pg")  # which the middleware of another test has connected
    connection.connect()  # the app in INSTALLED_APPS looks
    with acting("alice"):
        for note in (1, 2):
            django_shop.insert(note)
    [message] = warned()
    assert "audit_connections()" in message
    in_django.audit_connections()
    with acting("bob"):
        django_shop.insert(3)
    connection.close()
    assert actors(notes) == {1: None, 2: None, 3: "bob"}


def test_a_connection_of_django_to_sqlite_that_nobody_audits_is_named_too(sqlite_notes: Notes, warned: Any) -> None:
    django_shop.use_database(ENGINE="django.db.backends.sqlite3", NAME=str(sqlite_notes.path))
    connection_created.disconnect(dispatch_uid="svc_pg")
    connection.connect()
    with acting("alice"):
        django_shop.insert(1)
    [message] = warned()
    assert "audit_connections()" in message
    warn_once._given.clear()
    in_django.audit_connections()
    with acting("bob"):
        django_shop.insert(2)
    connection.close()
    assert len(warned()) == 1
    assert sqlite_notes.actors() == {1: None, 2: "bob"}

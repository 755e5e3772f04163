import asyncio
import sqlite3
from contextlib import closing
from typing import Any

import psycopg
import pytest
import sqlalchemy
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Session, scoped_session, sessionmaker
from sqlalchemy.pool import NullPool

from svc_pg.database.connections import async_connection, dbapi_connection
from svc_pg.database.dialects import dialect_of
from svc_pg.errors import ConfigError


class Subclass(sqlite3.Connection):
    pass


def test_the_class_of_a_connection_tells_its_dialect() -> None:
    with closing(sqlite3.connect(":memory:")) as plain, closing(Subclass(":memory:")) as subclass:
        assert dialect_of(plain) == dialect_of(subclass) == "sqlite"
    assert dialect_of(object.__new__(psycopg.Connection)) == dialect_of(object.__new__(psycopg.AsyncConnection))
    assert dialect_of(object.__new__(psycopg.Connection)) == "postgresql"


def test_sqlalchemys_raw_connection_has_the_dialect_of_the_one_behind_it() -> None:
    engine = sqlalchemy.create_engine("sqlite://", poolclass=NullPool)
    with closing(engine.raw_connection()) as raw:
        assert dialect_of(raw) == "sqlite"
    with engine.connect() as conn:
        assert dialect_of(conn) == "sqlite"


BY_TABLE: Any = {sqlalchemy.Table("note", sqlalchemy.MetaData()): sqlalchemy.create_engine("sqlite://")}


@pytest.mark.parametrize(
    "session", [Session(), scoped_session(sessionmaker()), Session(binds=BY_TABLE), AsyncSession()]
)
def test_a_session_without_one_engine_is_told_to_name_it(session: Any) -> None:
    with pytest.raises(ConfigError, match="not bound to one engine") as error:
        dialect_of(session)
    assert "bind_arguments" in str(error.value.hint)
    with pytest.raises(ConfigError, match="not bound to one engine"):
        asyncio.run(async_connection(session)) if isinstance(session, AsyncSession) else dbapi_connection(session)


@pytest.mark.parametrize("other", [None, "sqlite:///shop.db", object(), 3])
def test_anything_else_is_refused_by_its_name(other: object) -> None:
    with pytest.raises(ConfigError, match=type(other).__name__):
        dialect_of(other)

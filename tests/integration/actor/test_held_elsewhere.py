"""Calls on connections to SQLite and MySQL name the right call for the wrong kind, as those to PostgreSQL do."""

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable
from contextlib import closing
from functools import partial
from typing import Any

import aiomysql
import aiosqlite
import asyncmy
import mysql.connector.aio
import pymysql
import pytest
from sqlalchemy.ext.asyncio import create_async_engine

from svc_pg import Config, schema
from svc_pg.errors import ConfigError
from tests.integration.actor.test_held_connections import ASYNC, SYNC, check_hint

CALLS = ("actor", "list", "last_changes", "export", "follow", "purge")


class OfAiomysql(aiomysql.Connection):  # type: ignore[misc] # published without types
    """A connection that was never opened."""

    def __init__(self) -> None:
        self._writer = None


def unconnected(kind: Any) -> Any:
    """An object of this class: refused by it alone, before anything is sent."""
    return kind.__new__(kind)


@pytest.mark.parametrize("name", CALLS)
def test_a_sync_call_refuses_an_async_connection(name: str) -> None:
    call, twin = SYNC[name]
    file, engine = aiosqlite.connect(":memory:"), create_async_engine("sqlite+aiosqlite://")
    for wrong in (file, engine.connect(), unconnected(asyncmy.Connection), OfAiomysql()):
        with pytest.raises(ConfigError, match="is async, and this call is sync") as error:
            call(wrong)
        check_hint(error.value, twin)


@pytest.mark.parametrize("name", [f"a{name}" for name in CALLS if f"a{name}" in ASYNC])
def test_an_async_call_refuses_a_sync_connection(name: str) -> None:
    call, twin = ASYNC[name]
    with closing(sqlite3.connect(":memory:")) as file:
        for wrong in (file, pymysql.Connection(defer_connect=True), unconnected(mysql.connector.MySQLConnection)):
            with pytest.raises(ConfigError, match="is sync, and this call is async") as error:
                asyncio.run(awaited(call, wrong))
            check_hint(error.value, twin)


async def awaited(call: Callable[..., Awaitable[Any]], conn: Any) -> None:
    await call(conn)


SCHEMA = [
    partial(schema.install, config=Config()),
    partial(schema.status, config=Config()),
    partial(schema.plan, config=Config()),
    partial(schema.backfill, config=Config()),
    schema.uninstall,
]


@pytest.mark.parametrize("call", SCHEMA)
def test_a_schema_is_made_on_sync_connections_alone(call: Callable[..., Any]) -> None:
    for wrong in (aiosqlite.connect(":memory:"), OfAiomysql()):
        with pytest.raises(ConfigError, match="is async, and this call is sync") as error:
            call(wrong)
        check_hint(error.value, "sqlite3, PyMySQL or another sync driver")


@pytest.mark.parametrize("call", [*(SYNC[name][0] for name in CALLS), SCHEMA[0]])
def test_a_driver_that_is_not_known_is_refused_with_those_that_are(call: Callable[..., Any]) -> None:
    with pytest.raises(ConfigError, match=r"mysql\.connector\.aio") as error:
        call(unconnected(mysql.connector.aio.connection.MySQLConnection))
    check_hint(error.value, "Use asyncmy or aiomysql")

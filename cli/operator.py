"""Name the operator in the audit log, and run a change of an endpoint or delivery."""

import getpass
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final, TypeVar

from psycopg import Connection

from svc_pg import audit
from svc_pg.audit.context import Actor, acting_as
from svc_pg.audit.reads.reading import reading_through
from svc_pg.audit.reads.recording import recorded_export
from svc_pg.database.performing import run
from svc_pg.database.query import Query, fetch_one

from . import records
from .database import connect, is_postgresql

Row = TypeVar("Row")

_CONTEXT: Final = {"program": "svc-pg"}
_ACT: Final = "select set_config('svc.actor_id', %s, false), set_config('svc.context', %s, false)"


@contextmanager
def operator(conn: "Connection[Any]") -> Iterator[None]:
    """Name the user of this machine as the actor in the audit log."""
    with audit.actor(conn, _operator_name(), context=_CONTEXT):
        yield


@contextmanager
def acting_as_operator(conn: Any) -> Iterator[None]:
    """Name that actor in all transactions of a connection of any database, for calls with several transactions."""
    if not is_postgresql(conn):
        with audit.actor(conn, _operator_name(), context=_CONTEXT):
            yield
        return
    conn.execute(_ACT, (_operator_name(), json.dumps(_CONTEXT)))
    conn.commit()
    yield


@contextmanager
def reading(command: str) -> Iterator[None]:
    """Name that actor, and the command, in the entries about what the block reads."""
    with acting_as(Actor(_operator_name(), context=_CONTEXT)), reading_through("command", of=command):
        yield


def record_export(conn: Any, query: audit.AuditQuery) -> None:
    """Record an export before it begins: if it is ended half way, it has written records all the same."""
    if is_postgresql(conn):
        run(conn, recorded_export(query))
        conn.commit()


def change(
    query: Query[Row], database_url: str | None, *, as_json: bool, show: Callable[[Row], None] = records.show
) -> None:
    """Make a change and print the result."""
    with connect(database_url) as conn, operator(conn):
        row = fetch_one(conn, query)
    if as_json:
        records.show_json(row)
    else:
        show(row)


def _operator_name() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container may run as a number without a name
        return f"uid {os.getuid()}"

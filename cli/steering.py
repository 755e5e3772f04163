"""What the commands share that change endpoints and deliveries."""

import getpass
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer
from psycopg import Connection

from svc_pg import audit
from svc_pg.query import Query, fetch

from . import output
from .database import connect

EndpointId = Annotated[str, typer.Argument(metavar="ENDPOINT", help="The endpoint's id.", show_default=False)]


def operator_name() -> str:
    """The user of this machine, who is the actor of what commands change."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container may run as a number without a name
        return f"uid {os.getuid()}"


@contextmanager
def operator(conn: "Connection[Any]") -> Iterator[None]:
    """The audit log names the user of this machine as the actor."""
    with audit.actor(conn, operator_name(), context={"program": "svc-pg"}):
        yield


def one(conn: "Connection[Any]", query: Query[Any]) -> Any:
    """The one row of a query."""
    [row] = fetch(conn, query)
    return row


def change(query: Query[Any], database_url: str | None, *, as_json: bool) -> None:
    """Make a change and print what it came to."""
    with connect(database_url) as conn, operator(conn):
        row = one(conn, query)
    if as_json:
        output.json_record(row)
    else:
        output.record(row)

"""The audit log's entries, for assertions."""

from collections.abc import Iterator
from contextlib import contextmanager
from tempfile import TemporaryFile
from typing import Any, LiteralString

import psycopg
from psycopg import BaseConnection

from svc_pg import audit

ACTOR: LiteralString = "select current_setting('svc.actor_id', true)"
INSERT: LiteralString = "insert into note values (%s)"


def entries(conninfo: str) -> list[audit.Entry]:
    """All entries, oldest first."""
    with psycopg.connect(conninfo) as conn:
        return [*reversed(audit.query().limit(1000).list(conn).data)]


def actors(conninfo: str) -> dict[int, str | None]:
    """The actor of the last entry of each note."""
    return {int(entry.record_id or 0): entry.actor_id for entry in entries(conninfo)}


class Trips:
    """A count of the answers that a client waited for."""

    count = 0


@contextmanager
def round_trips(conn: BaseConnection[Any]) -> Iterator[Trips]:
    """Count the round trips of a connection: the server ends each answer with ReadyForQuery."""
    trips = Trips()
    with TemporaryFile("w+") as trace:
        conn.pgconn.trace(trace.fileno())
        try:
            yield trips
        finally:
            conn.pgconn.untrace()
        trace.seek(0)
        trips.count = trace.read().count("ReadyForQuery")

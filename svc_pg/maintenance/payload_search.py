"""Make messages that were sent before a key was searched findable by it."""

import time
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final
from uuid import UUID

from psycopg import Connection

from svc_pg.database.query import Query, fetch_one
from svc_pg.database.statements import statement

_LACKING: Final = statement("queries/maintenance/unsearched_events.sql")
_FILLED: Final = statement("queries/maintenance/searched_events.sql")
_FILL: Final = "select filled, reached from svc.webhook_fill_search(%s, %s)"
LONGEST: Final = timedelta(minutes=10)
"""The time after which a run leaves the rest to the next one."""


@dataclass(frozen=True, slots=True)
class _Lacking:
    events: list[str]
    changed_in: list[int]
    reached: UUID | None


@dataclass(frozen=True, slots=True)
class _Batch:
    filled: int
    reached: UUID | None


def fill_search(conn: Connection[Any], *, longest: timedelta = LONGEST) -> int:
    """Store the values of older messages of each event whose keys have changed; return how many are new.

    An event waits for the end of the transactions that could still send without the new keys. ``conn`` must be in
    autocommit: each batch is a transaction of its own, and the next run goes on with the batch after the last one.
    After ``longest`` no batch begins.
    """
    lacking = fetch_one(conn, Query(_LACKING, (), _Lacking))
    if not lacking.events:
        return 0
    filled, after, ends = 0, lacking.reached or UUID(int=0), time.monotonic() + longest.total_seconds()
    while True:
        batch = fetch_one(conn, Query(_FILL, (lacking.events, after), _Batch))
        filled += batch.filled
        done = {"events": lacking.events, "changed_in": lacking.changed_in, "reached": batch.reached}
        conn.execute(_FILLED, done)
        if batch.reached is None or time.monotonic() >= ends:
            return filled
        after = batch.reached

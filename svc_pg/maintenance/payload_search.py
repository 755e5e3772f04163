"""Make messages that were sent before a key was searched findable by it."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from psycopg import Connection

from svc_pg.database.query import Query, fetch_one
from svc_pg.database.statements import statement
from svc_pg.maintenance.batches import in_stretches

_LACKING: Final = statement("queries/maintenance/unsearched_events.sql")
_FILLED: Final = statement("queries/maintenance/searched_events.sql")
_END: Final = "select id from svc.webhook_messages where id > %s order by id offset %s limit 1"
_FILL: Final = "select svc.webhook_fill_search(%s, %s, %s, %s)"


@dataclass(frozen=True, slots=True)
class _Lacking:
    events: list[str]
    changed_in: list[int]


def fill_search(conn: Connection[Any]) -> int:
    """Store the values of older messages of each event whose keys have changed; return how many are new.

    An event waits for the end of the transactions that could still send without the new keys. ``conn`` must be in
    autocommit: each batch is a transaction of its own, and a run that is broken off begins again.
    """
    lacking = fetch_one(conn, Query(_LACKING, (), _Lacking))
    if not lacking.events:
        return 0
    filled = in_stretches(conn, _END, _FILL, (lacking.events,), kept=timedelta(0))
    conn.execute(_FILLED, [lacking.events, lacking.changed_in])
    return filled

"""The deliveries that wait too long for workers, for the commands ``webhooks health`` and ``status``."""

from datetime import UTC, datetime, timedelta
from typing import Any

from psycopg.errors import QueryCanceled

from svc_pg.formats import durations
from svc_pg.webhooks.traffic import backlog
from svc_pg.webhooks.traffic.backlog import Backlog

from .. import output, records
from ..optional_read import optional_read


def read_backlog(conn: Any) -> Backlog | None:
    """The backlog; None if the role may not read it, or if that takes too long."""
    try:
        return optional_read(conn, backlog.read_backlog, None)
    except QueryCanceled:
        return None


def as_json(found: Backlog | None) -> dict[str, Any] | None:
    """The member of the JSON documents of status and health; None if it is not known."""
    if found is None:
        return None
    return {
        "oldestDueSeconds": found.oldest_due_seconds,
        "isWorkerSeen": found.is_worker_seen,
        "needsAttention": found.needs_attention,
    }


def tell(found: Backlog | None) -> None:
    """Print a line if deliveries are late."""
    if found is None or not found.needs_attention:
        return
    age = timedelta(seconds=found.oldest_due_seconds)
    since = f"since {records.minute(datetime.now(UTC) - age)} ({durations.rounded(found.oldest_due_seconds)})"
    if found.is_worker_seen:
        output.words(f"Deliveries are due {since}, although a worker is seen: the workers cannot keep up, or hang.")
    else:
        output.words(f"No worker is seen, and deliveries are due {since}. They wait until one runs: svc-pg worker")

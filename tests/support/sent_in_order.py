"""Send messages whose ids sort in the order in which they were sent."""

from typing import Any, Final

import psycopg

from svc_pg import webhooks
from svc_pg.database.query import scalar
from tests.support.waiting import wait_until

_MILLISECOND: Final = "select floor(extract(epoch from clock_timestamp()) * 1000)"


def send_in_order(conn: psycopg.Connection[Any], event: str, payload: Any, *, tenant: str | None = None) -> None:
    """Send a message in a millisecond of its own: ids tell no shorter time."""
    began = scalar(conn, _MILLISECOND)
    webhooks.send(conn, event, payload, tenant=tenant)
    wait_until(lambda: scalar(conn, _MILLISECOND) > began, "the next millisecond has begun")

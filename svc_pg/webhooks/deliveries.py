"""Read deliveries: ``deliveries.query().endpoint(id).status("failed").list(conn)``."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, LiteralString
from uuid import UUID

from psycopg import AsyncConnection, Connection

from svc_pg.errors import QueryError
from svc_pg.pages import EVERYTHING, Selection, decode
from svc_pg.query import Query, afetch, fetch

STATUSES: Final = ("pending", "delivered", "failed", "canceled")

_SELECT: Final = """
select id::text, message_id::text, endpoint_id::text, event_name, status, attempts, max_attempts, created_at,
       updated_at, next_attempt_at, finished_at, last_status_code, last_error
  from svc.webhook_deliveries
"""


@dataclass(frozen=True, slots=True)
class Delivery:
    """One message on its way to one endpoint."""

    id: str
    message_id: str
    endpoint_id: str
    event_name: str
    status: str
    attempts: int
    max_attempts: int
    created_at: datetime
    updated_at: datetime
    next_attempt_at: datetime | None
    finished_at: datetime | None
    last_status_code: int | None
    last_error: str | None


@dataclass(frozen=True, slots=True)
class DeliveryPage:
    """Deliveries, newest first, and the cursor of the next page, or None on the last."""

    deliveries: list[Delivery]
    next_cursor: str | None


@dataclass(frozen=True, slots=True)
class DeliveryQuery:
    """A question to the queue. Every method returns a new one; ``list`` or ``alist`` asks it."""

    selection: Selection = EVERYTHING

    def _where(self, condition: LiteralString, *params: object) -> "DeliveryQuery":
        return DeliveryQuery(self.selection.where(condition, *params))

    def endpoint(self, endpoint_id: str) -> "DeliveryQuery":
        """Deliveries to one endpoint."""
        try:
            return self._where("endpoint_id = %s", UUID(endpoint_id))
        except ValueError as error:
            raise QueryError(f"{endpoint_id!r} is not an endpoint's id", hint="Ids are UUIDs.") from error

    def status(self, status: str) -> "DeliveryQuery":
        """Deliveries in one state: pending, delivered, failed or canceled."""
        if status not in STATUSES:
            raise QueryError(f"{status!r} is not a status", hint=f"Write one of {', '.join(STATUSES)}.")
        return self._where("status = %s", status)

    def event(self, name: str) -> "DeliveryQuery":
        """Deliveries of one event."""
        return self._where("event_name = %s", name)

    def since(self, moment: str | timedelta | datetime) -> "DeliveryQuery":
        """Deliveries created from that moment on: an aware datetime, or a duration before now such as ``1h``."""
        return DeliveryQuery(self.selection.when("created_at >=", moment))

    def limit(self, size: int) -> "DeliveryQuery":
        """At most so many deliveries a page: 1 to 1000, 100 unless told."""
        return DeliveryQuery(self.selection.limit(size))

    def after(self, cursor: str) -> "DeliveryQuery":
        """The page after the one whose ``next_cursor`` this is."""
        return self._where("id < %s", *decode(cursor, UUID))

    def list(self, conn: Connection[Any]) -> DeliveryPage:
        """Ask on a sync connection. Never commits."""
        return self._page(fetch(conn, self._query()))

    async def alist(self, conn: AsyncConnection[Any]) -> DeliveryPage:
        """Ask on an async connection. Never commits."""
        return self._page(await afetch(conn, self._query()))

    def _query(self) -> Query[Delivery]:
        return Query(*self.selection.statement(_SELECT, " order by id desc"), Delivery)

    def _page(self, rows: Sequence[Delivery]) -> DeliveryPage:
        return DeliveryPage(*self.selection.cut(rows, lambda delivery: (delivery.id,)))


def query() -> DeliveryQuery:
    """A question to the queue, with no conditions yet."""
    return DeliveryQuery()

"""The deliveries of what transactions sent, of many transactions at once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from psycopg import AsyncConnection

from svc_pg.database.by_indexes import aby_indexes
from svc_pg.database.query import Query, afetch
from svc_pg.database.statements import statement
from svc_pg.webhooks.deliveries.delivery_keysets import COLUMNS
from svc_pg.webhooks.deliveries.delivery_rows import Delivery

MOST_TRANSACTIONS: Final = 100
MOST_DELIVERIES: Final = 20
"""Of one transaction, as in the text below."""
MOST_MESSAGES: Final = 1_000
"""The messages of one transaction that are looked at, as in the text below: some of its last ones."""

_COLUMNS: Final = COLUMNS.replace("id::text, message_id", "d.id::text, message_id").replace("status,", "d.status,", 1)
_TEXT: Final = statement("queries/webhooks/deliveries_of_transactions.sql").replace("{columns}", _COLUMNS)


@dataclass(frozen=True, slots=True)
class Caused:
    """Some deliveries of a transaction, the newest first; ``is_complete`` unless it may have more."""

    deliveries: Sequence[Delivery]
    is_complete: bool


async def acaused_by(
    conn: AsyncConnection[Any], xact_ids: Sequence[int], *, tenant: str | None
) -> Mapping[int, Caused]:
    """Some deliveries of each transaction, 20 at most; of a ``tenant``, those of its messages to its endpoints."""
    async with aby_indexes(conn):  # or with no statistics yet all messages of a transaction would be sorted
        rows = await afetch(conn, Query(_TEXT, ([*xact_ids], *[tenant] * 4), _row))
    found: dict[int, list[Delivery]] = {xact_id: [] for xact_id in xact_ids}
    longer = set()
    for xact_id, has_more, delivery in rows:
        found[xact_id] += [] if delivery is None else [delivery]
        longer |= {xact_id} if has_more or len(found[xact_id]) > MOST_DELIVERIES else set()
    return {
        xact_id: Caused(
            sorted(deliveries, key=lambda each: each.id, reverse=True)[:MOST_DELIVERIES], xact_id not in longer
        )
        for xact_id, deliveries in found.items()
    }


def _row(xact_id: str, *, has_more: bool, **columns: Any) -> tuple[int, bool, Delivery | None]:
    return int(xact_id), has_more, None if columns["id"] is None else Delivery(**columns)

"""The deliveries of what transactions sent, of many transactions at once."""

from collections.abc import Sequence
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


async def acaused_by(
    conn: AsyncConnection[Any], xact_ids: Sequence[int], *, tenant: str | None
) -> list[tuple[str, Delivery]]:
    """Some deliveries of each transaction, 20 at most; of a ``tenant``, those of its messages to its endpoints."""
    async with aby_indexes(conn):  # or with no statistics yet all messages of a transaction would be sorted
        return await afetch(conn, Query(_TEXT, ([*xact_ids], *[tenant] * 4), _caused))


def _caused(xact_id: str, **columns: Any) -> tuple[str, Delivery]:
    return xact_id, Delivery(**columns)

"""The deliveries that a transaction caused are told with a bound, and that there may be more is told too."""

import asyncio

import psycopg
import pytest

from svc_pg import webhooks
from svc_pg.database.query import scalar
from svc_pg.webhooks.deliveries.caused_deliveries import MOST_DELIVERIES, MOST_MESSAGES, acaused_by
from tests.support.hooks import endpoint, hooks_config

CONFIG = hooks_config("order.created")


@pytest.mark.parametrize(
    ("sent", "tenant", "told"),
    [
        ([("acme", MOST_DELIVERIES)], "acme", (MOST_DELIVERIES, True)),
        ([("acme", MOST_DELIVERIES + 1)], "acme", (MOST_DELIVERIES, False)),
        ([("acme", MOST_DELIVERIES)], None, (MOST_DELIVERIES, True)),
        ([("acme", MOST_DELIVERIES + 1)], None, (MOST_DELIVERIES, False)),
        ([("globex", MOST_MESSAGES - 5), ("acme", 5)], "acme", (5, False)),
        ([("globex", MOST_MESSAGES - 6), ("acme", 5)], "acme", (5, True)),
        ([("acme", 5), ("globex", 3 * MOST_MESSAGES)], "acme", (0, True)),  # or it would tell of others' messages
        ([("acme", 5), ("globex", 3 * MOST_MESSAGES)], None, (0, False)),
        ([("globex", 5)], "acme", (0, True)),
        ([], "acme", (0, True)),
    ],
)
def test_a_transaction_that_may_have_more_deliveries_says_so(
    database: str, sent: list[tuple[str, int]], tenant: str | None, told: tuple[int, bool]
) -> None:
    endpoint(database, CONFIG, "https://shop.example/in", tenant="acme")
    with psycopg.connect(database) as conn:
        xact_id = scalar(conn, "select pg_current_xact_id()::text::bigint")
        for of_tenant, number in sent:
            webhooks.send_many(conn, "order.created", [{}] * number, tenant=of_tenant)
        ids = [str(key) for (key,) in conn.execute("select id from svc.webhook_deliveries order by id desc limit 20")]

    async def looked_up() -> tuple[list[str], bool]:
        async with await psycopg.AsyncConnection.connect(database) as conn:
            caused = await acaused_by(conn, [xact_id, xact_id + 1_000], tenant=tenant)
        assert (caused[xact_id + 1_000].deliveries, caused[xact_id + 1_000].is_complete) == ([], True)
        return [each.id for each in caused[xact_id].deliveries], caused[xact_id].is_complete

    assert asyncio.run(looked_up()) == (ids[: told[0]], told[1])

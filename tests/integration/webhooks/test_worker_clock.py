"""A worker whose own clock is wrong delivers as any other: waits and leases go by the database's clock."""

from datetime import UTC, datetime, timedelta

import psycopg
import pytest

from svc_pg import webhooks
from svc_pg.errors import WebhookSignatureError
from tests.support.faked_clock import clock_off_by
from tests.support.hooks import endpoint, hooks_config, rows
from tests.support.receiver import Received, receiving
from tests.support.waiting import wait_until
from tests.support.worker_process import worker_process

CONFIG = hooks_config("order.created")


def signed_at(request: Received) -> datetime:
    return datetime.fromtimestamp(int(request.headers["webhook-timestamp"]), UTC)


@pytest.mark.parametrize("offset", ["+1h", "-1h"])
def test_a_worker_whose_clock_is_an_hour_off_delivers_with_the_waits_that_are_due(database: str, offset: str) -> None:
    hour = timedelta(hours=1 if offset == "+1h" else -1)
    with receiving(lambda number: 500 if number == 1 else 204) as receiver:
        _, secret = endpoint(database, CONFIG, receiver.url)
        with worker_process(database, CONFIG, environment=clock_off_by(offset)), psycopg.connect(database) as conn:
            for number in range(2):
                webhooks.send(conn, "order.created", {"id": number})
                conn.commit()
            wait_until(lambda: all(row["status"] == "delivered" for row in rows(database, "webhook_deliveries")))
        attempts = rows(database, "webhook_delivery_attempts")
        requests = receiver.wait_for(3)
    assert sorted(row["outcome"] for row in attempts) == ["http_error", "success", "success"]
    assert all(abs(signed_at(request) - hour - datetime.now(UTC)) < timedelta(minutes=5) for request in requests)
    with pytest.raises(WebhookSignatureError, match="timestamp"):
        webhooks.assert_webhook_signature(headers=requests[0].headers, body=requests[0].body, secret=secret)

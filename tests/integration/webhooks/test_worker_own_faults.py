"""A bug of ours costs a lease at most: no worker, no slot, and nothing silently."""

from collections.abc import Callable
from pkgutil import resolve_name
from typing import Any

import psycopg
import pytest

from svc_pg import webhooks
from tests.support.hooks import endpoint, hooks_config, rows, working
from tests.support.leases import shorten_leases
from tests.support.receiver import receiving
from tests.support.waiting import wait_until

CONFIG = hooks_config("order.created")
PLACES = {
    "before the request": ("svc_pg.webhooks.worker.attempts.sign_with", "lost"),
    "in the transport, at the start": ("svc_pg.webhooks.http.route.Route.write", "connect_error"),
    "in the transport, at the end": ("svc_pg.webhooks.http.exchange._judgement", "connect_error"),
    "keeping the response": ("svc_pg.webhooks.http.exchange.Exchange._result", "connect_error"),
    "after the response": ("svc_pg.webhooks.worker.attempts._judged", "lost"),
}


class Bug:
    """A function of ours that fails when it is called for the first time."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.is_met = False

    def __get__(self, instance: object, owner: type) -> Callable[..., Any]:
        return lambda *arguments, **options: self(instance, *arguments, **options)

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        if not self.is_met:
            self.is_met = True
            raise ZeroDivisionError
        return self.function(*arguments, **options)


@pytest.mark.parametrize("place", PLACES)
def test_a_bug_is_logged_and_everything_is_delivered_with_the_only_slot(
    database: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    path, outcome = PLACES[place]
    with receiving() as receiver:
        endpoint(database, CONFIG, receiver.url)
        shorten_leases(database)
        with psycopg.connect(database) as conn:
            webhooks.send_many(conn, "order.created", [{"id": number} for number in range(3)])
        with monkeypatch.context() as patch:
            patch.setattr(path, Bug(resolve_name(path)))
            with working(database, CONFIG, concurrency=1) as worker:
                wait_until(
                    lambda: [row["status"] for row in rows(database, "webhook_deliveries")] == ["delivered"] * 3,
                    "all are delivered",
                )
                assert worker.statistics.in_flight == 0
    outcomes = sorted(row["outcome"] for row in rows(database, "webhook_delivery_attempts"))
    assert outcomes == sorted([outcome, "success", "success", "success"])
    assert caplog.text.count("\nZeroDivisionError\n") == 1

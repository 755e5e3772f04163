"""The log of a worker tells of failed attempts, in few lines."""

import psycopg
import pytest

from svc_pg import webhooks
from svc_pg.webhooks.worker import failed_attempts
from tests.support.hooks import endpoint, hooks_config, rows, working
from tests.support.receiver import receiving
from tests.support.waiting import wait_until

CONFIG = hooks_config("order.created")
LOGGER = failed_attempts.__name__


def lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.name == LOGGER]


def send_to_five(database: str, url: str) -> list[str]:
    ids = [endpoint(database, CONFIG, url)[0] for _ in range(5)]
    with psycopg.connect(database) as conn:
        webhooks.send(conn, "order.created", {"id": 1})
    return ids


def wait_until_all_failed(database: str) -> None:
    wait_until(lambda: {row["status"] for row in rows(database, "webhook_deliveries")} == {"failed"}, "all failed")


def test_failed_attempts_are_logged_at_once_and_then_in_one_line_for_all(
    database: str, caplog: pytest.LogCaptureFixture
) -> None:
    with receiving(lambda _: 500) as receiver, working(database, CONFIG):
        ids = send_to_five(database, receiver.url)
        wait_until_all_failed(database)
        assert len(lines(caplog)) == 1
    first, rest = lines(caplog)
    assert first in [f"1 attempt failed: 1 at endpoint {each} (500)" for each in ids]
    assert rest.startswith("24 attempts failed: 5 at endpoint ")
    assert rest.endswith(" (500), 9 others")


def test_a_failure_that_goes_on_is_logged_again_after_a_while(
    database: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(failed_attempts, "_EVERY", 0.01)
    with receiving() as receiver:
        gone = receiver.url
    with working(database, CONFIG):
        send_to_five(database, gone)
        wait_until_all_failed(database)
        wait_until(lambda: sum(int(line.split()[0]) for line in lines(caplog)) == 25, "all are logged")
    assert 1 < len(lines(caplog)) <= 25
    assert "(connect_error)" in lines(caplog)[0]

"""A fault that goes on is logged when its message changes, and otherwise once a minute."""

import psycopg
import pytest

from svc_pg.webhooks.worker import reminders
from svc_pg.webhooks.worker.local_faults import LocalFaults
from svc_pg.webhooks.worker.reminders import Reminders, reason


def test_each_new_message_is_due_at_once_and_the_same_one_a_minute_later(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1000.0
    monkeypatch.setattr("svc_pg.webhooks.worker.reminders.time.monotonic", lambda: now)
    due = Reminders()
    assert [due.is_due(message) for message in ("down", "down", "refused", "down", "refused")] == [True, False] * 2 + [
        False
    ]
    now += 61
    assert due.is_due("down")
    due.clear()
    assert due.is_due("down")


def test_messages_that_always_change_do_not_fill_the_log() -> None:
    due = Reminders()
    assert sum(due.is_due(f"pid {number}") for number in range(1000)) == reminders._MOST


def test_another_fault_of_this_machine_is_logged_while_the_first_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    faults = LocalFaults()
    for fault in ("no name server answers", "Too many open files", "no name server answers"):
        faults.note(fault)
    assert [record.args for record in caplog.records] == [("no name server answers",), ("Too many open files",)]


def test_the_reason_names_the_failure_of_each_host_in_one_line() -> None:
    with pytest.raises(psycopg.OperationalError) as failed:
        psycopg.connect("host=127.0.0.1,127.0.0.2,127.0.0.1 port=1")
    first, second = reason(failed.value).split("; ")
    assert '"127.0.0.1", port 1 failed: Connection refused' in first
    assert '"127.0.0.2", port 1 failed: Connection refused' in second
    assert reason(psycopg.OperationalError("gone\n\tIs it there?")) == "gone"

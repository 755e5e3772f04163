"""A plugin of pytest that records the outcomes of a suite, and if it is Django's pytest, the entries."""

import sys
from collections.abc import Iterator
from typing import Any

import pytest
from foreign_suite import count_capture, is_captured, record, record_counts

_asked = 0


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Record the phase that decides: the call, or what went wrong around it."""
    if report.when == "call" or report.outcome != "passed":
        record(report.nodeid, "expected failure" if hasattr(report, "wasxfail") else report.outcome)


def pytest_configure() -> None:
    """Count the entries of SQLite: each asks the connection once for its actor, by a function that is replaced."""
    if is_captured() and "django" in sys.modules:
        from django.db.backends.signals import connection_created

        connection_created.connect(_replace_actor, weak=False)


def _replace_actor(connection: Any, **_signal: object) -> None:
    if connection.vendor == "sqlite":
        connection.connection.create_function("printf", 0, _tell)


def _tell() -> None:
    global _asked
    _asked += 1


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(nextitem: pytest.Item | None) -> Iterator[None]:
    """Count the entries before the database of the tests is dropped."""
    if nextitem is None and is_captured() and "django" in sys.modules:
        from django.db import connection

        if connection.vendor == "sqlite":
            record_counts(entries=_asked)
        else:  # on a connection of its own, as the suite has closed that of its last test
            own = connection.get_new_connection(connection.get_connection_params())
            count_capture(own.cursor(), connection.vendor, is_over=True)
            own.close()
    return (yield)

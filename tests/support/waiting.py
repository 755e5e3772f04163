"""Wait in tests for a condition, never for a time."""

import time
from collections.abc import Callable
from datetime import timedelta
from typing import TypeVar

Found = TypeVar("Found")

POLL_SECONDS = 0.02


def wait_until(
    condition: Callable[[], Found | None],
    description: str = "the condition is true",
    *,
    limit: timedelta = timedelta(seconds=30),
) -> Found:
    """Call the condition until its result is true, and return it. Raises AssertionError after the limit."""
    deadline = time.monotonic() + limit.total_seconds()
    while not (found := condition()):
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {limit.total_seconds():g} s until {description}; last answer: {found!r}")
        time.sleep(POLL_SECONDS)
    return found

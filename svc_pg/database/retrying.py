"""Retry a query while other sessions hold its locks."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any, Final

from psycopg.errors import LockNotAvailable

from svc_pg.database.effects import Effects

_PAUSE: Final = timedelta(milliseconds=250)


def patiently(effect: Any, tries: int, is_over: Callable[[], bool] = lambda: False) -> Effects[Any]:
    """The only row of an effect, retried while other sessions hold its locks; None after the last try."""
    for number in range(tries):
        if number:
            yield _PAUSE
        if is_over():
            break
        try:
            [row] = yield effect
        except LockNotAvailable:
            continue
        return row
    return None

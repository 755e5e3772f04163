"""Wait a limited time for calls that may hang for ever, such as those of a folder on another machine."""

import threading
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from functools import partial
from itertools import islice
from typing import Final, TypeVar

from svc_pg.errors import SvcError

_LONGEST: Final = timedelta(seconds=30)
_LOOK_EVERY: Final = 0.2  # seconds
_PAGE: Final = 100
_LONGEST_PAGE: Final = 1.0  # seconds after which a page ends with what it has

Value = TypeVar("Value")


def never() -> bool:
    """False: nobody asks to stop."""
    return False


class Patience:
    """Makes calls in a thread, one at a time. While one hangs, the next is refused; the thread ends with the program.

    ``name`` begins the message of the error.
    """

    def __init__(self, name: str, *, longest: timedelta = _LONGEST) -> None:
        self._name = name
        self._longest = longest
        self._thread: threading.Thread | None = None

    def call(self, work: Callable[[], Value], is_stopping: Callable[[], bool] = never) -> Value:
        """The value of the call, or its error. Raises SvcError if it takes too long, or an earlier one still does.

        Raises InterruptedError if ``is_stopping`` meanwhile: then the call is left alone as well.
        """
        if self._thread is not None and self._thread.is_alive():
            raise SvcError(f"{self._name} does not answer: an earlier call hangs")
        values: list[Value] = []
        errors: list[BaseException] = []

        def run() -> None:
            try:
                values.append(work())
            except BaseException as error:  # noqa: BLE001 - it is raised below
                errors.append(error)

        self._thread = threading.Thread(target=run, daemon=True, name="patience")
        self._thread.start()
        end = time.monotonic() + self._longest.total_seconds()
        while self._thread.is_alive() and (left := end - time.monotonic()) > 0:
            if is_stopping():
                raise InterruptedError
            self._thread.join(min(left, _LOOK_EVERY))
        if self._thread.is_alive():
            raise SvcError(f"{self._name} does not answer within {self._longest.total_seconds():g} s")
        if errors:
            raise errors[0]
        return values[0]


def patiently(name: str, items: Iterator[Value]) -> Iterator[Value]:
    """The items, read by a thread, up to a hundred ahead. Raises SvcError if the next one takes too long.

    ``name`` begins the message of the error.
    """
    patience = Patience(name, longest=_LONGEST)
    while page := patience.call(partial(_page, items)):
        yield from page


def _page(items: Iterator[Value]) -> list[Value]:
    end = time.monotonic() + _LONGEST_PAGE
    page: list[Value] = []
    for item in islice(items, _PAGE):
        page.append(item)
        if time.monotonic() >= end:
            break
    return page

"""Progress on a terminal."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta

from rich.console import Console

from svc_pg.formats.plurals import counted


def is_shown() -> bool:
    """True if a person at a terminal sees standard error, and it does not mix with the data."""
    return sys.stderr.isatty() and not sys.stdout.isatty()


@contextmanager
def progress() -> Iterator[Callable[[str], None]]:
    """Show progress to a person at a terminal, unless it would mix with the data."""
    if not is_shown():
        yield lambda _: None
        return
    with Console(stderr=True).status("") as status:
        yield lambda text: status.update(text)


@contextmanager
def entries_so_far(expected: Callable[[], int | None]) -> Iterator[Callable[[int], None]]:
    """Show the number of entries, the rate and the remaining time; ``expected`` is called only if it is shown."""
    total = expected() if is_shown() else None
    start = time.monotonic()
    with progress() as show:
        yield lambda entries: show(words(entries, seconds=time.monotonic() - start, expected=total))


def words(entries: int, *, seconds: float, expected: int | None = None) -> str:
    """The progress: the remaining time only if the estimate of all entries is higher than their number so far."""
    rate = entries / seconds if seconds >= 1 else 0
    if not rate:
        return counted(entries, "entry")
    if expected is None or expected <= entries:
        return f"{counted(entries, 'entry')}, {rate:,.0f} a second"
    left = timedelta(seconds=max(round((expected - entries) / rate), 1))
    return f"{entries:,} of about {expected:,} entries, {rate:,.0f} a second, {left} left"

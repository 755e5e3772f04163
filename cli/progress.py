"""Progress on a terminal."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console


@contextmanager
def progress() -> Iterator[Callable[[str], None]]:
    """Show progress to a person at a terminal, unless it would mix with the data."""
    console = Console(stderr=True)
    if not console.is_terminal or sys.stdout.isatty():
        yield lambda _: None
        return
    with console.status("") as status:
        yield lambda text: status.update(text)

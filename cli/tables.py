"""Print tables for people."""

from collections.abc import Collection

from rich.console import Console
from rich.table import Table

from . import output
from .json_text import printable

# names that people chose may look like markup or an emoji: a:b:c
_console = Console(highlight=False, markup=False, emoji=False)


def show(title: str, columns: list[str], rows: list[list[str]], *, folding: Collection[str] = ()) -> None:
    """Print a table; columns named in ``folding`` take several lines if the terminal is narrow.

    Nothing in it can control the terminal.
    """
    output.data(drawn(title, columns, rows, folding=folding))


def drawn(title: str, columns: list[str], rows: list[list[str]], *, folding: Collection[str] = ()) -> str:
    """The text of ``show``."""
    table = Table(title=f"\n{title}" if title else None, title_justify="left", show_edge=False, pad_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold", no_wrap=column not in folding)
    for row in rows:
        table.add_row(*map(printable, row))
    with _console.capture() as text:
        _console.print(table)
    return text.get().removesuffix("\n")

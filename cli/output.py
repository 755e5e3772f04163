"""What commands print: data on standard output, words on standard error."""

import json
import sys
from collections.abc import Collection
from typing import Any

from rich.console import Console
from rich.table import Table

from svc_pg.errors import SvcError

debug = False
"""Whether errors keep their traceback; set by --debug."""

_words = Console(stderr=True, highlight=False)
_data = Console(highlight=False)


def data(text: str) -> None:
    """Print one line of data."""
    sys.stdout.write(text + "\n")


def json_data(value: Any) -> None:
    """Print one JSON value; Decimal becomes a number."""
    data(json.dumps(value, indent=2, ensure_ascii=False, default=float))


def table(title: str, columns: list[str], rows: list[list[str]], *, folding: Collection[str] = ()) -> None:
    """Print a table; columns named in ``folding`` take several lines where the terminal is narrow."""
    result = Table(title=f"\n{title}" if title else None, title_justify="left", show_edge=False, pad_edge=False)
    for column in columns:
        result.add_column(column, overflow="fold", no_wrap=column not in folding)
    for row in rows:
        result.add_row(*row)
    _data.print(result)


def words(text: str) -> None:
    """Tell a person how it goes."""
    _words.print(text, markup=False, soft_wrap=True)


def fail(error: Exception) -> None:
    """Tell a person what went wrong and, where it is known, what to do."""
    words(f"error: {str(error).strip() or type(error).__name__}")
    if isinstance(error, SvcError) and error.hint:
        words(f"hint: {error.hint}")

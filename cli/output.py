"""What commands print: data on standard output, words on standard error."""

import json
import sys
from collections.abc import Collection
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from rich.console import Console
from rich.table import Table

from svc_pg import durations
from svc_pg.encoding import encode
from svc_pg.errors import ConsoleAutoApproveInProductionError, ConsoleWeakSecretError, SvcError

from . import json_text

debug = False
"""Whether errors keep their traceback; set by --debug."""

# The specification names these errors, so people look for their names
_NAMED = (ConsoleAutoApproveInProductionError, ConsoleWeakSecretError)
# what people named may look like markup or an emoji: a:b:c
_words = Console(stderr=True, highlight=False, markup=False, emoji=False)
_data = Console(highlight=False, markup=False, emoji=False)


def data(text: str) -> None:
    """Print one line of data."""
    sys.stdout.write(text + "\n")


def json_data(value: Any) -> None:
    """Print one JSON value; Decimal becomes a number."""
    data(json.dumps(value, indent=2, ensure_ascii=False, default=float))


def json_record(value: object) -> None:
    """Print a dataclass, a mapping or a list of them as the API would write it."""
    data(json_text.indented(encode(value).decode()))


def record(value: Any) -> None:
    """Print the fields of a dataclass or a mapping, one a line; those without a value are left out."""
    members = {field.name: getattr(value, field.name) for field in fields(value)} if is_dataclass(value) else value
    shown = {name.replace("_", " "): _text(member) for name, member in members.items() if member not in (None, "")}
    width = max(map(len, shown), default=0)
    for name, text in shown.items():
        data(f"{name.ljust(width)}  {text}")


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
    _words.print(text, soft_wrap=True)


def more(cursor: str | None) -> None:
    """Tell a person that a list goes on, where it does."""
    if cursor is not None:
        words(f"There are more: --limit N, or --after {cursor}")


def _text(value: object) -> str:
    match value:
        case datetime():
            return f"{value.astimezone(UTC):%Y-%m-%d %H:%M:%S}Z"
        case timedelta():
            return durations.text(value)
        case bool():
            return "yes" if value else "no"
        case list():
            return ", ".join(map(_text, value))
    return json_text.printable(str(value))


def fail(error: Exception) -> None:
    """Tell a person what went wrong and, where it is known, what to do."""
    name = f"{type(error).__name__}: " if isinstance(error, _NAMED) else ""
    # PostgreSQL's errors go on with a line of our SQL
    message = getattr(getattr(error, "diag", None), "message_primary", None) or str(error).strip()
    words(f"error: {name}{message or type(error).__name__}")
    if isinstance(error, SvcError) and error.hint:
        words(f"hint: {error.hint}")

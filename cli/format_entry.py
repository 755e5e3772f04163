"""An entry of the audit log as one line for people."""

from typing import Final

import typer

from svc_pg.audit.log.entry import Entry
from svc_pg.formats import human_times

from .format_difference import differences, who_text
from .json_text import printable
from .output import spaced

_COLOURS: Final = {
    "INSERT": "green",
    "UPDATE": "yellow",
    "DELETE": "red",
    "TRUNCATE": "red",
    "GONE": "red",
    "DDL": "magenta",
    "READ": "blue",
}


def line(entry: Entry) -> str:
    """The time, actor and operation, and the old and new values of an update. Nothing in it can control a terminal."""
    operation = typer.style(entry.operation.ljust(8), fg=_COLOURS.get(entry.operation))
    return spaced(
        human_times.second(entry.timestamp),
        who_text(entry),
        operation,
        table_text(entry),
        printable(entry.record_id or ""),
        *(f"[{printable(text)}]" for text in (entry.severity, entry.label) if text),
        _told(entry),
    )


def table_text(entry: Entry) -> str:
    """The table; with the partition if a TRUNCATE emptied only that."""
    is_of_part = entry.operation == "TRUNCATE" and entry.partition is not None
    return printable(entry.table_name) + (f" (only {printable(entry.partition or '')})" if is_of_part else "")


def _told(entry: Entry) -> str:
    """The description, or else the fields that an update changed."""
    if entry.description:
        return printable(entry.description)
    return "" if entry.before_data is None or entry.after_data is None else differences(entry)

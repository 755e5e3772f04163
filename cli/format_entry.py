"""An entry of the audit log as one line for people."""

import json
from datetime import UTC
from decimal import Decimal
from typing import Final

import typer

from svc_pg.audit.entry import Entry

from .json_text import printable

_COLOURS: Final = {"INSERT": "green", "UPDATE": "yellow", "DELETE": "red", "TRUNCATE": "red"}
_LONGEST: Final = 60  # characters of a value


def line(entry: Entry) -> str:
    """The time, actor and operation, and the old and new values of an update. Nothing in it can control a terminal."""
    operation = typer.style(entry.operation.ljust(8), fg=_COLOURS.get(entry.operation))
    parts = [
        f"{entry.timestamp.astimezone(UTC):%Y-%m-%d %H:%M:%S}Z",
        printable(entry.actor_id or (f"({entry.db_user})" if entry.db_user else "(nobody named)")),
        operation,
        printable(entry.table_name),
        printable(entry.record_id or ""),
        *(f"[{printable(text)}]" for text in (entry.severity, entry.label) if text),
        printable(entry.description) if entry.description else _changes(entry),
    ]
    return "  ".join(part for part in parts if part)


def _changes(entry: Entry) -> str:
    if entry.before_data is None or entry.after_data is None:
        return ""
    before, after = entry.before_data.value, entry.after_data.value
    return ", ".join(
        f"{printable(field)}: (redacted)"
        if field in (entry.redacted_fields or ())
        else f"{printable(field)}: {_shown(before.get(field))} -> {_shown(after.get(field))}"
        for field in entry.changed_fields or ()
    )


def _shown(value: object) -> str:
    text = str(value) if isinstance(value, Decimal) else json.dumps(value, ensure_ascii=False, default=str)
    return printable(text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…")

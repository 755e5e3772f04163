"""Print dataclasses and mappings, for people or as JSON."""

from dataclasses import fields, is_dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from svc_pg.database.pagination import Page
from svc_pg.formats import durations, human_times
from svc_pg.formats.json_writer import encode

from . import json_text, output


def show_json(value: object) -> None:
    """Print a dataclass, a mapping or a list of them as the API would write it."""
    output.data(json_text.indented(encode(value).decode()))


def show_page(page: Page[Any]) -> None:
    """Print the rows of a page as the API would write it, and the cursor for the next."""
    show_json({"data": page.data, "nextCursor": page.next_cursor})


def show(value: Any) -> None:
    """Print the fields of a dataclass or a mapping, one a line; those without a value are left out."""
    members = {field.name: getattr(value, field.name) for field in fields(value)} if is_dataclass(value) else value
    shown = {text(name).replace("_", " "): text(member) for name, member in members.items() if member not in (None, "")}
    width = max(map(len, shown), default=0)
    for name, member in shown.items():
        output.data(f"{name.ljust(width)}  {member}")


def text(value: object) -> str:
    """A value as text for people."""
    match value:
        case datetime():
            return human_times.second(value)
        case timedelta():
            return durations.text(value)
        case bool():
            return "yes" if value else "no"
        case list():
            return ", ".join(map(text, value))
    return json_text.printable(str(value))


def minute(time: datetime) -> str:
    """A time to the minute, for the end or the use of something."""
    return f"{time.astimezone(UTC):%Y-%m-%d %H:%M}Z"

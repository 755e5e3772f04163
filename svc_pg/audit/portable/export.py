"""Export entries as JSON, NDJSON or CSV, in parts that are bounded in entries and bytes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import BinaryIO, Final

from svc_pg.audit.entry import Entry
from svc_pg.audit.export_fields import FIELDS, HEADS, PROGRESS_EVERY, TAILS, ExportReport, Format
from svc_pg.audit.portable.entries import entries_of, wanted
from svc_pg.audit.portable.export_lines import LINES
from svc_pg.audit.portable.horizon import horizon
from svc_pg.audit.portable.keys import beyond, in_order, within
from svc_pg.audit.portable.phrases import Phrases
from svc_pg.audit.portable.statements import Statement, Steps
from svc_pg.audit.selection import Selection
from svc_pg.pagination import Filter

PART_ENTRIES: Final = 1000
PART_BYTES: Final = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Part:
    """Some entries, and the time and id of the last one that was looked at; None if there was none."""

    entries: Sequence[Entry]
    edge: tuple[datetime, int] | None


def exporting(
    phrases: Phrases,
    selection: Selection,
    form: Format,
    out: BinaryIO,
    *,
    after: str | None,
    is_settled: bool,
    progress: Callable[[int], None],
) -> Steps[ExportReport]:
    """Write the selected entries to ``out``, the oldest first: see ``svc_pg.audit.export``."""
    found = yield from wanted(phrases, selection.conditions)
    reach = None
    held_back = 0
    if is_settled or after is not None:
        reach = yield from horizon(phrases, after)
        found = reach.since(phrases, found)
    if is_settled and reach is not None:
        held_back = yield from _count(phrases, reach.held_back(phrases, found))
        found = reach.settled(phrases, found)
    out.write(HEADS[form] if form != "csv" else ",".join(FIELDS).encode() + b"\r\n")
    number = 0
    part = yield from part_after(phrases, found, None)
    while part.edge is not None:
        for entry in part.entries:
            if number % PROGRESS_EVERY == 0:
                progress(number)
            out.write(line(entry, form, is_first=number == 0))
            number += 1
        part = yield from part_after(phrases, found, part.edge)
    out.write(TAILS[form])
    return ExportReport(number, held_back, "" if reach is None else reach.cursor)


def part_after(phrases: Phrases, found: Filter, edge: tuple[datetime, int] | None) -> Steps[Part]:
    """The next entries, the oldest first: up to 1,000 and 4 MiB, but at least one."""
    later = beyond(phrases, found, edge, is_falling=False)
    keys = within((yield from in_order(phrases, later, is_falling=False, limit=PART_ENTRIES)), PART_BYTES)
    entries = yield from entries_of(phrases, keys)
    return Part(entries, (keys[-1].timestamp, keys[-1].id) if keys else None)


def line(entry: Entry, form: Format, *, is_first: bool) -> bytes:
    """An entry as it stands in the file."""
    text = LINES[form](entry)
    match form:
        case "json":
            return f"{chr(10) if is_first else ','}{text}\n".encode()
        case "ndjson":
            return f"{text}\n".encode()
        case "csv":
            return f"{text}\r\n".encode()


def _count(phrases: Phrases, found: Filter) -> Steps[int]:
    [[count]] = yield Statement("select count(*) from " + phrases.log + found.clause, found.params)  # noqa: S608
    return int(count)

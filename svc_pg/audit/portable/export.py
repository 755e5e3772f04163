"""Export entries as JSON, NDJSON, CSV or Parquet, in parts that are bounded in entries and bytes."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from svc_pg.audit.export.export_file import ExportFile
from svc_pg.audit.log.entry import Entry
from svc_pg.audit.log.export_fields import ExportReport, Format
from svc_pg.audit.log.selection import Selection
from svc_pg.audit.portable.entries import entries_of, wanted
from svc_pg.audit.portable.export_records import RECORDS
from svc_pg.audit.portable.horizon import horizon
from svc_pg.audit.portable.keys import beyond, in_order, within
from svc_pg.audit.portable.phrases import Phrases
from svc_pg.audit.portable.statements import Statement, Steps
from svc_pg.database.pagination import Filter

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
    file: ExportFile,
    *,
    after: str | None,
    is_settled: bool,
) -> Steps[ExportReport]:
    """Write the selected entries to ``file``, the oldest first: see ``svc_pg.audit.export.exporting``."""
    found = yield from wanted(phrases, selection.conditions)
    reach = None
    held_back = 0
    if is_settled or after is not None:
        reach = yield from horizon(phrases, after)
        found = reach.since(phrases, found)
    if is_settled and reach is not None:
        held_back = yield from _count(phrases, reach.held_back(phrases, found))
        found = reach.settled(phrases, found)
    number = 0
    part = yield from part_after(phrases, found, None)
    while part.edge is not None:
        for entry in part.entries:
            file.add(RECORDS[form](entry))
        number += len(part.entries)
        part = yield from part_after(phrases, found, part.edge)
    return ExportReport(number, held_back, "" if reach is None else reach.cursor)


def part_after(phrases: Phrases, found: Filter, edge: tuple[datetime, int] | None) -> Steps[Part]:
    """The next entries, the oldest first: up to 1,000 and 4 MiB, but at least one."""
    later = beyond(phrases, found, edge, is_falling=False)
    keys = within((yield from in_order(phrases, later, is_falling=False, limit=PART_ENTRIES)), PART_BYTES)
    entries = yield from entries_of(phrases, keys)
    return Part(entries, (keys[-1].timestamp, keys[-1].id) if keys else None)


def _count(phrases: Phrases, found: Filter) -> Steps[int]:
    [[count]] = yield Statement("select count(*) from " + phrases.log + found.clause, found.params)  # noqa: S608
    return int(count)

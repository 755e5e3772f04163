"""Export entries as JSON, NDJSON, CSV or Parquet, in parts that are bounded in entries and bytes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from svc_pg.audit.log.entry import Entry
from svc_pg.audit.log.export_fields import ExportReport, Format
from svc_pg.audit.log.selection import Selection
from svc_pg.database.effects import Effects, Statement
from svc_pg.database.pagination import Filter
from svc_pg.other_databases.log.entries import entries_of, wanted
from svc_pg.other_databases.log.export_records import RECORDS
from svc_pg.other_databases.log.horizon import horizon
from svc_pg.other_databases.log.keys import beyond, in_order, within
from svc_pg.other_databases.log.log_dialects import LogDialect

PART_ENTRIES: Final = 1000
PART_BYTES: Final = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Part:
    """Some entries, and the time and id of the last one read; None if there was none."""

    entries: Sequence[Entry]
    edge: tuple[datetime, int] | None


def exporting(
    dialect: LogDialect,
    selection: Selection,
    form: Format,
    add: Callable[[bytes], None],
    *,
    after: str | None,
    is_settled: bool,
) -> Effects[ExportReport]:
    """Give the selected entries to ``add``, the oldest first: see ``svc_pg.audit.exports.exporting``."""
    found = yield from wanted(dialect, selection.conditions)
    reach = None
    held_back = 0
    if is_settled or after is not None:
        reach = yield from horizon(dialect, after)
        found = reach.since(dialect, found)
    if is_settled and reach is not None:
        held_back = yield from _count(dialect, reach.held_back(dialect, found))
        found = reach.settled(dialect, found)
    number = 0
    part = yield from part_after(dialect, found, None)
    while part.edge is not None:
        for entry in part.entries:
            add(RECORDS[form](entry))
        number += len(part.entries)
        part = yield from part_after(dialect, found, part.edge)
    return ExportReport(number, held_back, "" if reach is None else reach.position)


def part_after(dialect: LogDialect, found: Filter, edge: tuple[datetime, int] | None) -> Effects[Part]:
    """The next entries, the oldest first: up to 1,000 and 4 MiB, but at least one."""
    later = beyond(dialect, found, edge, is_falling=False)
    keys = within((yield from in_order(dialect, later, is_falling=False, limit=PART_ENTRIES)), PART_BYTES)
    entries = yield from entries_of(dialect, keys)
    return Part(entries, (keys[-1].timestamp, keys[-1].id) if keys else None)


def _count(dialect: LogDialect, found: Filter) -> Effects[int]:
    [[count]] = yield Statement("select count(*) from " + dialect.log + found.clause, found.params)  # noqa: S608
    return int(count)

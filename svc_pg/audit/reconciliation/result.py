"""The report about a table, and the facts of its entry in the log."""

import json
from collections import Counter
from collections.abc import Collection, Iterable
from datetime import datetime
from typing import Any, Final

from svc_pg.audit.log.reconciliation import Pace, TableReport
from svc_pg.audit.reconciliation.findings import Count, Findings
from svc_pg.formats.plurals import counted

LABEL: Final = "audit log reconciled"
"""The label of the entry about a table that was compared."""
FOUND: Final = "found by reconciliation"
"""The label of entries that a repair writes."""

_LEFT: Final[tuple[Count, ...]] = ("missing", "unrecorded", "differing", "gone")
_FACTS: Final = (
    "since",
    "until",
    "rows",
    "missing",
    "unrecorded",
    "differing",
    "gone",
    "unknown",
    "erased",
    "repaired",
    "unrepaired",
    "purged_before",
    "notes",
)


def report_of(
    table: str,
    findings: Findings,
    pace: Pace,
    *,
    since: datetime,
    until: datetime,
    purged_before: datetime | None,
    postponed: Collection[str],
    notes: Iterable[str],
    is_compared: bool,
    is_complete: bool,
    problem: str | None,
) -> TableReport:
    """The report about a table, not yet recorded."""
    counts: Counter[Count] = findings.counts
    return TableReport(
        table=table,
        since=since,
        until=until,
        rows=counts["rows"],
        unrecorded=counts["unrecorded"],
        missing=counts["missing"] + counts["unrecorded"],
        differing=counts["differing"],
        gone=counts["gone"],
        unknown=counts["unknown"] + counts["lost"],
        erased=counts["erased"],
        repaired=counts["repaired"] if pace.repairs else None,
        unrepaired=sum(findings.left[name] for name in _LEFT),
        postponed=sorted(postponed),
        purged_before=purged_before,
        notes=list(notes),
        is_compared=is_compared,
        is_complete=is_complete,
        is_recorded=False,
        problem=problem,
    )


def facts_of(report: TableReport) -> dict[str, Any]:
    """The facts of a report that its entry has, as values of JSON."""
    facts = {name: getattr(report, name) for name in _FACTS}
    return json.loads(json.dumps(facts, default=datetime.isoformat))  # type: ignore[no-any-return] # an object


def words_of(report: TableReport) -> str:
    """The description of that entry."""
    return (
        f"Compared {counted(report.rows, 'row')} of {report.table} with the log:"
        f" {counted(report.differences, 'difference')}"
    )

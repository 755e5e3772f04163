"""Judge a row by the last state of its record, and a record by the table's lack of it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal

from svc_pg.audit.log.reconciliation import Difference
from svc_pg.audit.reconciliation.findings import Count
from svc_pg.database.effects import Effects
from svc_pg.other_databases.capture.entry_sql import json_list
from svc_pg.other_databases.reconciliation.images import Image, changed_redactions, differing
from svc_pg.other_databases.reconciliation.side import Row, RowKey, State, TableSide

Kind = Literal["same", "unkeyed", "unrecorded", "missing", "differs", "gone"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """The kind of a difference, if there is one; ``known`` is the id of the entry by which the log knows the record.

    It ``is_unknown`` if entries of the record may have been purged since that state.
    """

    kind: Kind
    record: str
    key: RowKey | None = None
    known: int | None = None
    fields: Sequence[str] = ()
    otherwise: Sequence[str] = ()
    is_unknown: bool = False

    @property
    def is_faulty(self) -> bool:
        """True if a repair writes an entry."""
        return self.kind not in ("same", "unkeyed")

    @property
    def count(self) -> Count | None:
        """The number that it counts for."""
        match self.kind:
            case "same":
                return None
            case "gone":
                return "lost" if self.is_unknown else "gone"
            case "unkeyed":
                return "unkeyed"
            case _ if self.is_unknown:
                return "unknown"
            case "differs":
                return "differing"
            case "unrecorded" | "missing":
                return self.kind

    def difference(self, table: str) -> Difference | None:
        """As a report names it; None if it is none, or nothing tells."""
        match self.kind:
            case "same" | "unkeyed":
                return None
            case _ if self.is_unknown:
                return None
            case "unrecorded" | "missing":
                return Difference(table, self.record, "missing", [])
            case "differs" | "gone":
                return Difference(table, self.record, self.kind, [*self.fields])


def verdict_of_row(
    table: TableSide, row: Row, purged_before: datetime | None, *, image: str | None = None
) -> Effects[Verdict]:
    """Compare a row with the last states of its record: it is as the log knows it if one of them says so."""
    if row.record is None:
        return Verdict("unkeyed", "")
    states = yield from table.states(row.record)
    if not states:
        return Verdict("unrecorded", row.record, row.key, is_unknown=purged_before is not None)
    compares = table.rules.audited.record_when is None
    if compares and image is None and any(state.image is not None for state in states):
        found = yield from table.row(row.key)
        if found is None:  # in one transaction it is there
            return Verdict("same", row.record)
        image = found[1]
    verdicts = [_compared(table, row, state, image, compares=compares) for state in states]
    verdict = next((each for each in verdicts if each.kind == "same"), verdicts[0])
    if verdict.kind != "same" and purged_before is not None and states[0].at < purged_before:
        return replace(verdict, is_unknown=True)
    return verdict


def verdict_of_record(table: TableSide, record: str, purged_before: datetime | None) -> Effects[Verdict | None]:
    """Tell that a record which the table lacks has not ended; None if it has, or was never one of the table's."""
    states = yield from table.states(record)
    if not states or any(state.image is None for state in states):
        return None
    image = Image.read(states[0].image or "", states[0].redacted)
    recorded = [name for name in table.rules.key if table.rules.redactions.get(name) != "remove"]
    if image is None or not all(name in image.members for name in recorded):  # as of audit.capture_log
        return None
    is_unknown = purged_before is not None and states[0].at < purged_before
    return Verdict("gone", record, known=states[0].id, is_unknown=is_unknown)


def _compared(table: TableSide, row: Row, state: State, image: str | None, *, compares: bool) -> Verdict:
    record = row.record or ""
    if state.image is None:
        return Verdict("missing", record, row.key, state.id)
    if not compares or image is None:
        return Verdict("same", record)
    known = Image.read(state.image, state.redacted)
    present = Image.read(image, json_list(sorted(table.rules.redactions)))
    if known is None or present is None:  # somebody forged the entry, or the row has JSON that Python does not read
        is_same = getattr(state.image, "original", state.image) == getattr(image, "original", image)
        return Verdict("same" if is_same else "differs", record, row.key, state.id)
    fields = differing(known, present, table.rules.ignored)
    otherwise = changed_redactions(known, present)
    return Verdict("differs" if fields else "same", record, row.key, state.id, fields, otherwise)

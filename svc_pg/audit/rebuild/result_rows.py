"""The rows of the result as JSON objects, without the columns whose values the log does not have."""

import sqlite3
from collections.abc import Collection, Iterator
from typing import Any, Final, NamedTuple

from svc_pg.audit.log.entry import ERASED
from svc_pg.audit.rebuild.file_entry import MOST_COLUMNS
from svc_pg.audit.rebuild.findings import Findings
from svc_pg.audit.rebuild.json_members import is_storable, members, names_of, object_of, values_of

_ROWS: Final = """
select e.record, case when r.is_before then e.before else e.after end, e.redacted
  from result r join entry e on e.id = r.entry order by r.number"""
_MOST_NAME_BYTES: Final = 63
_MOST_SHOWN: Final = 100
"""The characters of a column's name that are kept for a note."""
_ALL: Final = "*"


class ResultRow(NamedTuple):
    """The names of the columns in their order, and an object with their values."""

    columns: tuple[str, ...]
    text: str


def result_rows(conn: sqlite3.Connection, findings: Findings, *, without: Collection[str]) -> Iterator[ResultRow]:
    """The rows, with what they lack added to the findings."""
    shape: tuple[str, ...] | None = None
    shapes: set[int] = set()
    for record, image, redacted in conn.execute(_ROWS):
        hidden = frozenset[str]() if redacted is None else names_of(redacted)
        if image == ERASED or _ALL in hidden:
            findings.erased.add(record)
            continue
        if not is_storable(image):
            findings.unstorable.add(record)
            continue
        row = _row(image, hidden, findings, without)
        findings.rows += 1
        if row.columns != shape and len(shapes) < 1000:
            shape = row.columns
            shapes.add(hash(shape))
            findings.shapes = len(shapes)
        yield row


def _row(image: str, hidden: Collection[str], findings: Findings, without: Collection[str]) -> ResultRow:
    for name in sorted(hidden):
        _count(findings.redacted, name)
    found = values_of(image)
    columns = tuple(name for name in found if name not in hidden and name not in without)
    lacking = dict.fromkeys(
        name for name in columns if _is_marker(found[name]) or not 0 < len(name.encode()) <= _MOST_NAME_BYTES
    )
    for name in lacking:
        _count(findings.unrecorded, name)
    if lacking:
        columns = tuple(name for name in columns if name not in lacking)
    if len(columns) == len(found):
        return ResultRow(columns, image)
    texts = members(image)
    return ResultRow(columns, object_of({name: texts[name] for name in columns}))


def _is_marker(value: Any) -> bool:
    """True if it stands for a value of which the log has the size and the SHA-256 alone."""
    return (
        isinstance(value, dict)
        and {"bytes", "sha256"} <= value.keys()
        and not value.keys().isdisjoint({"oversized", "unsupported"})
    )


def _count(columns: dict[str, int], name: str) -> None:
    shown = name[:_MOST_SHOWN]
    if shown in columns or len(columns) < MOST_COLUMNS:
        columns[shown] = columns.get(shown, 0) + 1

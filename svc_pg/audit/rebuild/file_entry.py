"""An entry as a line of an export has it."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final, NamedTuple

from svc_pg.audit.log.entry import OPERATIONS
from svc_pg.audit.rebuild.export_lines import Line
from svc_pg.audit.rebuild.json_members import Member, members
from svc_pg.errors import SvcError

_EPOCH: Final = datetime(2000, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
_MOST_ID: Final = 2**63 - 1
MOST_COLUMNS: Final = 1600
"""The columns of an image: no table of PostgreSQL has more."""
MAX_NAME: Final = 1024
"""The characters of a name, as of a table, its quotes included."""
MAX_RECORD: Final = 65_536
"""The characters of a record's key."""


class FileEntry(NamedTuple):
    """An entry: ``at`` in microseconds since 2000, ``before``, ``after`` and ``redacted`` as the file has them."""

    id: int
    at: int
    table: str
    operation: str
    record: str | None
    moved_from: str | None
    before: str | None
    after: str | None
    redacted: str | None
    xact: str | None
    partition: str | None
    image: dict[str, Any] | None
    """The parsed ``after``, else ``before``, in which numbers are texts."""


def microseconds(time: datetime) -> int:
    """The number of microseconds since 2000."""
    return (time - _EPOCH) // _MICROSECOND


def time_of(at: int) -> str:
    """The time as exports write it."""
    return (_EPOCH + at * _MICROSECOND).isoformat(timespec="microseconds").replace("+00:00", "Z")


def file_entry(line: Line) -> FileEntry:
    """Read a line. Raises SvcError if it is no entry."""
    try:
        found = members(line.text)
        return _entry(found)
    except (ValueError, OverflowError) as error:
        if not line.is_ended:
            raise SvcError(
                f"the export is cut: it ends within line {line.number}", hint="Copy or export it again."
            ) from error
        raise SvcError(
            f"line {line.number} is no entry of an export: {error}",
            hint="svc-pg export --format ndjson writes one entry a line.",
        ) from error


def _entry(found: Mapping[str, Member]) -> FileEntry:
    number = _text(found, "id", is_needed=True) or ""
    operation = _text(found, "operation", is_needed=True) or ""
    if not (number.isascii() and number.isdigit()) or len(number) > 19 or int(number) > _MOST_ID:
        raise ValueError("its id is no number")
    if operation not in OPERATIONS:
        raise ValueError("its operation is unknown")
    before, after = _image(found, "beforeData"), _image(found, "afterData")
    redacted = _redacted(found)
    shown = after or before
    return FileEntry(
        id=int(number),
        at=microseconds(_time(_text(found, "timestamp", is_needed=True) or "")),
        table=_text(found, "tableName", is_needed=True) or "",
        operation=operation,
        record=_text(found, "recordId", is_needed=True, is_null=True, most=MAX_RECORD),
        moved_from=_text(found, "movedFrom", most=MAX_RECORD),
        before=None if before is None else before.text,
        after=None if after is None else after.text,
        redacted=None if redacted is None else redacted.text,
        xact=_text(found, "xactId", is_needed=True, is_null=True),
        partition=_text(found, "partition"),
        image=None if shown is None else shown.value,
    )


def _time(text: str) -> datetime:
    time = datetime.fromisoformat(text)
    if time.tzinfo is None:
        raise ValueError("its timestamp has no time zone")
    return time.astimezone(UTC)  # raises an OverflowError for one that has no year there


def _text(
    found: Mapping[str, Member], name: str, *, is_needed: bool = False, is_null: bool = False, most: int = MAX_NAME
) -> str | None:
    member = found.get(name)
    if member is None:
        if is_needed:
            raise ValueError(f"it has no {name}")
        return None
    if member.value is None and (is_null or not is_needed):
        return None
    if not isinstance(member.value, str):
        raise ValueError(f"its {name} is no text")
    if len(member.value) > most:
        raise ValueError(f"its {name} has more than {most:,} characters")
    member.value.encode()  # raises a ValueError for a lone surrogate
    return member.value


def _image(found: Mapping[str, Member], name: str) -> Member | None:
    member = found.get(name)
    if member is None:
        raise ValueError(f"it has no {name}")
    if member.value is None:
        return None
    if not isinstance(member.value, dict):
        raise ValueError(f"its {name} is no object")
    if len(member.value) > MOST_COLUMNS:
        raise ValueError(f"its {name} has more than {MOST_COLUMNS:,} columns")
    return member


def _redacted(found: Mapping[str, Member]) -> Member | None:
    member = found.get("redactedFields")
    if member is None or member.value is None:
        return None
    if not isinstance(member.value, list) or not all(isinstance(name, str) for name in member.value):
        raise ValueError("its redactedFields are no names")
    return member

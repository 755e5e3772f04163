"""The file of an export: its records, and the bytes around them."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import BinaryIO, Final, Protocol

from svc_pg.audit.exports.parquet import RowGroups
from svc_pg.audit.log.export_fields import FORMATS, SHAPES, Format, TextFormat
from svc_pg.errors import QueryError

PART_BYTES: Final = 256 * 1024
PART_RECORDS: Final = 1000

Progress = Callable[[int], None]
"""Takes the number of entries so far."""


class Parts(Protocol):
    """The parts of a file: of up to ``max_bytes`` and one record more, and of up to ``max_records``."""

    max_bytes: int
    max_records: int

    def write(self, records: Sequence[bytes], *, is_first: bool) -> None:
        """One more part; without records if it is the only one."""

    def end(self) -> None:
        """Write the end of the file."""

    def abandon(self) -> None:
        """Leave the written parts, without an end."""


class ExportFile:
    """The file of an export. Nothing is written before its first part is complete, or the end."""

    def __init__(self, parts: Parts, progress: Progress) -> None:
        self._parts = parts
        self._progress = progress
        self._records: list[bytes] = []
        self._bytes = 0
        self._entries = 0

    def add(self, record: bytes) -> None:
        """One more entry: a line of JSON, or a record of CSV, without its end."""
        self._records.append(record)
        self._bytes += len(record)
        if self._bytes >= self._parts.max_bytes or len(self._records) == self._parts.max_records:
            self._write()

    def end(self) -> None:
        """Write the rest."""
        if self._records or not self._entries:
            self._write()
        self._parts.end()

    def abandon(self) -> None:
        """Leave the written parts, without an end."""
        self._parts.abandon()

    def _write(self) -> None:
        self._parts.write(self._records, is_first=not self._entries)
        self._entries += len(self._records)
        self._records.clear()
        self._bytes = 0
        self._progress(self._entries)


class _TextParts:
    """Records of JSON or CSV, written in groups: a call for each would cost more than its bytes."""

    max_bytes = PART_BYTES
    max_records = PART_RECORDS

    def __init__(self, out: BinaryIO, form: TextFormat) -> None:
        self._out = out
        self._shape = SHAPES[form]

    def write(self, records: Sequence[bytes], *, is_first: bool) -> None:
        self._out.write(self._shape.part(records, is_first=is_first))

    def end(self) -> None:
        self._out.write(self._shape.tail)

    def abandon(self) -> None:
        """Do nothing: only the tail is missing."""


@contextmanager
def export_file(form: Format, out: BinaryIO, progress: Progress) -> Iterator[ExportFile]:
    """A file of this format, which ends with the block, and is abandoned if the block raises.

    Raises QueryError for an unknown format, and ConfigError without its package.
    """
    if form not in FORMATS:
        raise QueryError(f"{form!r} is not a format", hint=f"Write one of {', '.join(FORMATS)}.")
    file = ExportFile(RowGroups(out) if form == "parquet" else _TextParts(out, form), progress)
    try:
        yield file
        file.end()
    except BaseException:
        file.abandon()
        raise

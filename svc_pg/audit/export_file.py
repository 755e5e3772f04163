"""The file of an export: its records, and what stands around them."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import BinaryIO, Final, Protocol

from svc_pg.audit.export_fields import FORMATS, SHAPES, Format, TextFormat
from svc_pg.audit.parquet import ParquetFile
from svc_pg.errors import QueryError

PART_BYTES: Final = 256 * 1024
PART_RECORDS: Final = 1000

Progress = Callable[[int], None]
"""Takes the number of entries so far."""


class ExportFile(Protocol):
    """The file of an export. Nothing is written before the first record, or the end."""

    def add(self, record: bytes) -> None:
        """One more entry: a line of JSON, or a record of CSV, without its end."""

    def end(self) -> None:
        """Write what is left."""

    def abandon(self) -> None:
        """Leave what was written, without an end."""


class TextFile:
    """Records of JSON or CSV, of which some are written together: a call for each would cost more than its bytes."""

    def __init__(self, out: BinaryIO, form: TextFormat, progress: Progress) -> None:
        self._out = out
        self._shape = SHAPES[form]
        self._progress = progress
        self._records: list[bytes] = []
        self._bytes = 0
        self._entries = 0

    def add(self, record: bytes) -> None:
        """One more entry."""
        self._records.append(record)
        self._bytes += len(record)
        if self._bytes >= PART_BYTES or len(self._records) == PART_RECORDS:
            self._write()

    def end(self) -> None:
        """Write what is left, and the tail."""
        if self._records or not self._entries:
            self._write()
        self._out.write(self._shape.tail)

    def abandon(self) -> None:
        """Leave what was written, without the tail."""

    def _write(self) -> None:
        self._out.write(self._shape.part(self._records, is_first=not self._entries))
        self._entries += len(self._records)
        self._records.clear()
        self._bytes = 0
        self._progress(self._entries)


@contextmanager
def export_file(form: Format, out: BinaryIO, progress: Progress) -> Iterator[ExportFile]:
    """A file of this format, which ends with the block, and is abandoned if the block raises.

    Raises QueryError if there is no such format, and ConfigError without its package.
    """
    if form not in FORMATS:
        raise QueryError(f"{form!r} is not a format", hint=f"Write one of {', '.join(FORMATS)}.")
    file: ExportFile = ParquetFile(out, progress) if form == "parquet" else TextFile(out, form, progress)
    try:
        yield file
        file.end()
    except BaseException:
        file.abandon()
        raise

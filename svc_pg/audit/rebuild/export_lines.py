"""Read an export as lines: NDJSON, or the array that ``--format json`` writes, also compressed by gzip."""

import gzip
import zlib
from collections.abc import Iterator
from typing import BinaryIO, Final, NamedTuple, cast

from svc_pg.errors import SvcError

MAX_LINE_BYTES: Final = 64 * 1024 * 1024
"""The longest line that is read, which is the most of the file that is in memory."""
_GZIP: Final = b"\x1f\x8b"
_PARQUET: Final = b"PAR1"
_CSV: Final = b"id,timestamp,"
_AGAIN: Final = "Export it as svc-pg export --format ndjson, which has all that is needed."


class Line(NamedTuple):
    """A line with its number in the file; ``is_ended`` is false if the file ends within it."""

    number: int
    text: str
    is_ended: bool


def read_lines(file: BinaryIO) -> Iterator[Line]:
    """The lines that should be entries. Raises SvcError if it is no such file, is cut, or has a line that is too long.

    ``file`` is buffered and begins at the head of the export; at most one line of it is in memory.
    """
    head = file.peek(len(_PARQUET))[: len(_PARQUET)] if hasattr(file, "peek") else b""
    source = cast(BinaryIO, gzip.GzipFile(fileobj=file)) if head.startswith(_GZIP) else file
    try:
        yield from _entries(source)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise SvcError("the compressed export is cut or damaged", hint="Copy it again.") from error


def _entries(file: BinaryIO) -> Iterator[Line]:
    is_array = is_closed = False
    number = 0
    for raw in _raw_lines(file):
        number += 1
        if number == 1:
            _refuse_others(raw)
        is_ended = raw.endswith(b"\n")
        line = raw.strip()
        if number == 1 and line in (b"[", b"[]"):
            is_array, is_closed = True, line == b"[]"
            continue
        if not line:
            continue
        if is_closed:
            raise SvcError(f"line {number} comes after the end of the array", hint="Rebuild from one export at a time.")
        if is_array:
            if line == b"]":
                is_closed = True
                continue
            line = line.removeprefix(b",")
        yield Line(number, _decoded(number, line), is_ended)
    if not number:
        raise SvcError("the export is empty", hint="An export of a log without entries rebuilds nothing.")
    if is_array and not is_closed:
        raise SvcError(f"the export is cut: its array has no end after line {number}", hint="Copy or export it again.")


def _raw_lines(file: BinaryIO) -> Iterator[bytes]:
    number = 0
    while line := file.readline(MAX_LINE_BYTES + 1):
        number += 1
        if len(line) > MAX_LINE_BYTES:
            raise SvcError(
                f"line {number} has more than {MAX_LINE_BYTES // 1024 // 1024} MiB",
                hint="Such an entry is not read, so the rows would not be complete.",
            )
        yield line


def _refuse_others(head: bytes) -> None:
    if head.startswith(_PARQUET):
        raise SvcError("an export in Parquet is not read", hint=_AGAIN)
    if head.removeprefix(b"\xef\xbb\xbf").startswith(_CSV):
        raise SvcError(
            "an export in CSV does not tell an empty text from a missing one, nor texts from what was put before them",
            hint=_AGAIN,
        )


def _decoded(number: int, line: bytes) -> str:
    try:
        return line.decode()
    except UnicodeDecodeError as error:
        raise SvcError(f"line {number} is not UTF-8", hint=_AGAIN) from error

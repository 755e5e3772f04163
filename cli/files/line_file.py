"""An append-only file of whole lines, or standard output."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Protocol

from svc_pg.errors import SvcError

from .disk import write_all
from .file_lock import MADE, open_locked
from .output_file import STANDARD_OUTPUT, explained, is_special

_BLOCK: Final = 65_536


class Lines(Protocol):
    """A target of whole lines."""

    def write(self, text: bytes) -> None:
        """Write some lines, each with its end."""

    def sync(self) -> None:
        """Flush the written lines to the disk."""


class LineFile:
    """An append-only file of whole lines; the next run truncates a partial last line."""

    def __init__(self, path: Path, *, is_resumed: bool) -> None:
        self._path = path
        self._descriptor = open_locked(path, MADE | os.O_APPEND)
        try:
            self._end_with_a_line(is_resumed=is_resumed)
        except BaseException:
            self.close()
            raise

    def write(self, text: bytes) -> None:
        """Append some lines: all of them or, if the disk is full, none."""
        size = os.fstat(self._descriptor).st_size
        try:
            write_all(self._descriptor, text)
        except OSError:
            os.ftruncate(self._descriptor, size)
            raise

    def sync(self) -> None:
        """Flush the written lines to the disk."""
        os.fsync(self._descriptor)

    def close(self) -> None:
        """Close the file."""
        os.close(self._descriptor)

    def _end_with_a_line(self, *, is_resumed: bool) -> None:
        size = os.fstat(self._descriptor).st_size
        end = self._end_of_lines(size)
        if end == size:
            return
        if not is_resumed:
            raise SvcError(
                f"{self._path} does not end with a whole line",
                hint="Name a new file, or with --cursor the one that belongs to this file.",
            )
        os.ftruncate(self._descriptor, end)

    def _end_of_lines(self, size: int) -> int:
        while size:
            start = max(size - _BLOCK, 0)
            found = os.pread(self._descriptor, size - start, start).rfind(b"\n")
            if found >= 0:
                return start + found + 1
            size = start
        return 0


class _Stream:
    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def write(self, text: bytes) -> None:
        write_all(self._descriptor, text)

    def sync(self) -> None:
        """Do nothing: lines in a pipe are its reader's."""


@contextmanager
def appended(path: Path, *, is_resumed: bool) -> Iterator[Lines]:
    """Open the file for more lines. If ``is_resumed``, truncate a partial last line. Raises SvcError."""
    with explained(path):
        if path == STANDARD_OUTPUT:
            sys.stdout.flush()
            yield _Stream(sys.stdout.fileno())
        elif is_special(path):
            with path.open("wb", buffering=0) as out:
                yield _Stream(out.fileno())
        else:
            file = LineFile(path, is_resumed=is_resumed)
            try:
                yield file
            finally:
                file.close()

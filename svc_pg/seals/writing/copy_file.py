"""Append copies of the seals to a file outside the database."""

import fcntl
import os
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import BinaryIO, Final

from svc_pg.errors import ConflictError, ProofError
from svc_pg.seals.verification.copies import seals_of
from svc_pg.seals.verification.seal import Seal
from svc_pg.seals.writing.copy_line import Lack, line_of

_END: Final = 65_536
"""The bytes at the end of a file in which its last seal is looked for: some of the longest lines."""


@contextmanager
def opened_file(path: Path, *, before: "CopyFile | None" = None, creates: bool = True) -> Iterator["CopyFile"]:
    """Open a file of copies to append to it, locked against other writers; it ``creates`` one that was never there.

    Only its end is read, to find its last seal: the rest is left to a verification. ``before`` is the file as it was
    closed last: it is read again only if it has changed since.

    Raises ConflictError if another process appends to it, ProofError if its end is cut or damaged, and OSError.
    """
    with open(path, "a+b", opener=None if creates and before is None else _existing) as opened:
        try:
            fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise ConflictError(f"another process is writing to {path}", hint="Try again when it has ended.") from error
        if before is not None and before.state == _state(opened):
            yield CopyFile(before.last, opened)
            return
        yield CopyFile(_last(opened, path), opened)


class CopyFile:
    """An open file of copies; ``last`` is its last seal, and ``state`` tells if it has changed since."""

    def __init__(self, last: Seal | None, file: BinaryIO) -> None:
        self.last = last
        self.state = _state(file)
        self._file = file

    @property
    def lacks(self) -> list[Lack]:
        """The seals that it lacks: all after its last one."""
        return [Lack(self.last.number + 1 if self.last else 1, None)]

    def append(self, seals: Iterable[Seal]) -> int:
        """Add seals behind the last, and return how many. If a write fails, the file is as before. Raises OSError."""
        size = os.fstat(self._file.fileno()).st_size
        written, last = 0, self.last
        try:
            for seal in seals:
                if last is not None and seal.number <= last.number:
                    continue  # somebody else has added it meanwhile
                self._write(line_of(seal))
                written, last = written + 1, seal
            os.fsync(self._file.fileno())
        except BaseException:
            os.ftruncate(self._file.fileno(), size)
            raise
        self.last, self.state = last, _state(self._file)
        return written

    def timestamps(self) -> None:
        """None: a file has no timestamps."""

    def append_timestamps(self, stamps: Iterable[tuple[int, bytes]]) -> None:
        """Add nothing: a file has no timestamps."""

    def _write(self, line: bytes) -> None:
        left = memoryview(line)
        while left:
            left = left[os.write(self._file.fileno(), left) :]


def _existing(path: str, flags: int) -> int:
    return os.open(path, flags & ~os.O_CREAT)


def _last(opened: BinaryIO, path: Path) -> Seal | None:
    """The last seal of an open file; None if it is empty."""
    begin = max(opened.seek(0, os.SEEK_END) - _END, 0)
    opened.seek(begin)
    end, name = opened.read(_END), str(path)
    if begin:  # within a line
        end, name = end.partition(b"\n")[2], f"the end of {path}"
        if not end:
            raise ProofError(f"{path} is damaged: its end has no whole line", hint="Restore the file.")
    newest = deque(seals_of(BytesIO(end), name), maxlen=1)
    return newest[0] if newest else None


def _state(file: BinaryIO) -> tuple[int, ...]:
    found = os.fstat(file.fileno())
    return (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)

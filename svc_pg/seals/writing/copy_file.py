"""Append copies of the seals to a file outside the database."""

import fcntl
import os
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from svc_pg.errors import ConflictError
from svc_pg.seals.verification.copies import seals_of
from svc_pg.seals.verification.seal import Seal
from svc_pg.seals.writing.copy_line import Lack, line_of


@contextmanager
def opened_file(path: Path, *, before: "CopyFile | None" = None) -> Iterator["CopyFile"]:
    """Open a file of copies to append to it, locked against other writers; create it if there is none.

    ``before`` is the file as it was closed last: it is read again only if it has changed since.

    Raises ConflictError if another process appends to it, ProofError as ``read_copies``, and OSError.
    """
    with path.open("a+b") as opened:
        try:
            fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise ConflictError(f"another process is writing to {path}", hint="Try again when it has ended.") from error
        if before is not None and before.state == _state(opened):
            yield CopyFile(before.last, opened)
            return
        opened.seek(0)
        newest = deque(seals_of(opened, str(path)), maxlen=1)
        yield CopyFile(newest[0] if newest else None, opened)


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

    def _write(self, line: bytes) -> None:
        left = memoryview(line)
        while left:
            left = left[os.write(self._file.fileno(), left) :]


def _state(file: BinaryIO) -> tuple[int, ...]:
    found = os.fstat(file.fileno())
    return (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)

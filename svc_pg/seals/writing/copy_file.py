"""Append copies of the seals to a file outside the database."""

import fcntl
import json
import os
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Final

from psycopg import Connection

from svc_pg.database.effects import Effects
from svc_pg.database.performing import take
from svc_pg.database.query import Query
from svc_pg.errors import ConflictError, ProofError, SvcError
from svc_pg.seals.database.stored_seals import following, numbered
from svc_pg.seals.verification.copies import seals_of
from svc_pg.seals.verification.seal import Seal

_PAGE: Final = 1000


def line_of(seal: Seal) -> bytes:
    """The line of a seal."""
    return json.dumps(seal.copy).encode() + b"\n"


@contextmanager
def naming(file: Path | None) -> Iterator[None]:
    """Name the file in an error of the operating system, which becomes an SvcError."""
    try:
        yield
    except OSError as error:
        if file is None:
            raise
        raise SvcError(f"{file} cannot be read or written: {error.strerror}") from error


@contextmanager
def appending(file: Path, *, before: "CopyFile | None" = None) -> Iterator["CopyFile"]:
    """Open a file of copies to append to it, locked against other writers; create it if there is none.

    ``before`` is the file as it was closed last: it is read again only if it has changed since.

    Raises ConflictError if another process appends to it, ProofError as ``read_copies``, and OSError.
    """
    with file.open("a+b") as opened:
        try:
            fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise ConflictError(f"another process is writing to {file}", hint="Try again when it has ended.") from error
        if before is not None and before.state == _state(opened):
            yield CopyFile(before.last, opened)
            return
        opened.seek(0)
        newest = deque(seals_of(opened, str(file)), maxlen=1)
        yield CopyFile(newest[0] if newest else None, opened)


def check_copies(conn: Connection[Any], copies: "CopyFile") -> None:
    """Raise ProofError if the file's last seal is not one of this log."""
    last = copies.last
    if last is not None and [seal.text for seal in take(conn, _one(numbered(last.number)))] != [last.text]:
        raise ProofError(
            f"seal {last.number} of the file is not in this log",
            hint="The file is of another database, or seals were removed or replaced: svc-pg verify --seals FILE",
        )


def append_new(conn: Connection[Any], copies: "CopyFile") -> int:
    """Append all seals of the log that the file does not have, and return how many.

    Raises ProofError if the file's last seal is not one of this log, and OSError.
    """
    check_copies(conn, copies)
    return copies.append(_new(conn, copies.last.number if copies.last else 0))


def _new(conn: Connection[Any], number: int) -> Iterator[Seal]:
    while page := take(conn, _one(following(number, _PAGE))):
        yield from page
        number = page[-1].number


def _one(query: Query[Seal]) -> Effects[list[Seal]]:
    seals: list[Seal] = yield query
    return seals


class CopyFile:
    """An open file of copies; ``last`` is its last seal, and ``state`` tells if it has changed since."""

    def __init__(self, last: Seal | None, file: BinaryIO) -> None:
        self.last = last
        self.state = _state(file)
        self._file = file

    def append(self, seals: Iterable[Seal]) -> int:
        """Add seals, and return how many. If a write fails, the file is as it was before. Raises OSError."""
        size = os.fstat(self._file.fileno()).st_size
        written, last = 0, self.last
        try:
            for seal in seals:
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

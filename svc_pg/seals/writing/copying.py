"""Keep copies of the seals outside the database: in a file, or in a folder with a file for each."""

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, Final, Protocol

from psycopg import Connection

from svc_pg.database.effects import Effects
from svc_pg.database.performing import take
from svc_pg.database.query import Query, Row
from svc_pg.errors import ProofError, SvcError
from svc_pg.seals.database.stored_seals import following, numbered
from svc_pg.seals.database.stored_timestamps import PAGE as STAMPS
from svc_pg.seals.database.stored_timestamps import numbers_after, timestamps_of
from svc_pg.seals.verification.seal import Seal
from svc_pg.seals.writing.copy_file import CopyFile, opened_file
from svc_pg.seals.writing.copy_folder import CopyFolder, opened_folder
from svc_pg.seals.writing.copy_line import Lack

_PAGE: Final = 100


class Copies(Protocol):
    """Open copies: ``last`` is the last seal, ``lacks`` are the numbers without a copy, the oldest first."""

    last: Seal | None

    @property
    def lacks(self) -> list[Lack]:
        """The first and the last number of each stretch of seals without a copy."""

    def append(self, seals: Iterable[Seal]) -> int:
        """Add seals, and return how many were not there. Raises ProofError and OSError."""

    def timestamps(self) -> set[int] | None:
        """The numbers of the seals whose timestamps are there; None if there can be none."""

    def append_timestamps(self, stamps: Iterable[tuple[int, bytes]]) -> None:
        """Add timestamps, each after the number of its seal. Raises ProofError and OSError."""


def appending(
    path: Path, *, before: Copies | None = None, creates: bool = True
) -> AbstractContextManager[CopyFile | CopyFolder]:
    """Open copies to add to them: a folder if there is one at ``path``, else a file, which it ``creates`` if missing.

    ``before`` are the copies as they were closed last: what is gone since is not created, and what was a folder is one.
    Raises as ``opened_folder`` and ``opened_file``.
    """
    if isinstance(before, CopyFolder) or (before is None and path.is_dir()):
        return opened_folder(path, before=before)
    return opened_file(path, before=before if isinstance(before, CopyFile) else None, creates=creates)


@contextmanager
def naming(path: Path | None) -> Iterator[None]:
    """Name the file or folder in an error of the operating system, which becomes an SvcError."""
    try:
        yield
    except OSError as error:
        if path is None:
            raise
        raise SvcError(f"{path} cannot be read or written: {error.strerror or error}") from error


def check_copies(conn: Connection[Any], copies: Copies) -> None:
    """Raise ProofError if the last copy is not of a seal of this log."""
    last = copies.last
    if last is not None and [seal.text for seal in take(conn, _one(numbered(last.number)))] != [last.text]:
        raise ProofError(
            f"seal {last.number} of the copies is not in this log",
            hint="They are of another database, or seals were removed or replaced: svc-pg verify --seals PATH",
        )


def append_new(conn: Connection[Any], copies: Copies) -> int:
    """Add all seals of the log that the copies lack, and return how many.

    Raises ProofError if the last copy is not of a seal of this log, or another than the log's, and OSError.
    """
    check_copies(conn, copies)
    return sum(copies.append(page) for page in lacking(conn, copies.lacks))


def lacking(conn: Connection[Any], lacks: Iterable[Lack]) -> Iterator[list[Seal]]:
    """The seals of the log with these numbers, the oldest first, some at a time."""
    for first, last in lacks:
        number = first - 1
        while page := [
            seal for seal in take(conn, _one(following(number, _PAGE))) if last is None or seal.number <= last
        ]:
            yield page
            number = page[-1].number


def lacking_timestamps(
    conn: Connection[Any], present: set[int] | None, until: int
) -> Iterator[list[tuple[int, bytes]]]:
    """The timestamps of the seals up to one that copies lack, which have those of ``present``; some at a time."""
    if present is None:
        return
    number = 0
    while page := take(conn, _one(numbers_after(number, until))):
        number = page[-1].seal
        lacked = [each.seal for each in page if each.seal not in present]
        for begin in range(0, len(lacked), STAMPS):
            found = take(conn, _one(timestamps_of(lacked[begin : begin + STAMPS])))
            yield [(each.seal, each.answer) for each in found]


def _one(query: Query[Row]) -> Effects[list[Row]]:
    rows: list[Row] = yield query
    return rows

"""Write copies of the seals into a folder outside the database: a file for each, which is never written again."""

import errno
import os
import re
import secrets
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Final

from svc_pg.errors import ProofError
from svc_pg.seals.timestamp_files import timestamp_in, timestamp_name_of, timestamp_numbers_in
from svc_pg.seals.verification.copies import copy_in, name_of, numbers_in
from svc_pg.seals.verification.seal import Seal
from svc_pg.seals.writing.copy_line import Lack, line_of

MOST_GAPS: Final = 1000
_TEMPORARY: Final = re.compile(r"\.[0-9]{19}\.(?:json|tsr)\.[0-9a-f]{16}")
_STALE: Final = 3600.0  # seconds after which a temporary file has no writer any more
_NO_LINKS: Final = frozenset({errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK})


@contextmanager
def opened_folder(path: Path, *, before: "CopyFolder | None" = None) -> Iterator["CopyFolder"]:
    """Open a folder of copies, which must be there. Several may write to it at once.

    ``before`` is the folder as it was closed last: its names are read again only if its last copy has changed since.

    Raises ProofError if its last copy is damaged, and OSError.
    """
    opened = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        if before is not None and before.is_in(opened):
            yield CopyFolder(path, opened, before.last, before.gaps)
            return
        _remove_stale(opened)
        numbers = numbers_in(opened)
        last = copy_in(opened, numbers[-1], str(path)) if numbers else None
        yield CopyFolder(path, opened, last, [*islice(_gaps(numbers), MOST_GAPS)])
    finally:
        os.close(opened)


class CopyFolder:
    """An open folder of copies; ``last`` is its last seal.

    ``gaps`` are the numbers that it lacked before that when its names were read: the first thousand stretches.
    """

    def __init__(self, path: Path, opened: int, last: Seal | None, gaps: list[Lack]) -> None:
        self.last = last
        self.gaps = gaps
        self._path = path
        self._folder = opened

    @property
    def lacks(self) -> list[Lack]:
        """The first and the last number of each stretch of seals that it lacks, the oldest first."""
        return [*self.gaps, Lack(self.last.number + 1 if self.last else 1, None)]

    def is_in(self, opened: int) -> bool:
        """True if an open folder has the last copy of this one."""
        if self.last is None:
            return False
        with suppress(OSError, ProofError):
            return copy_in(opened, self.last.number, str(self._path)) == self.last
        return False

    def append(self, seals: Iterable[Seal]) -> int:
        """Add seals, the oldest first, and return how many were not there. Each is there wholly or not at all.

        Raises ProofError if there is another copy of one, which stays as it is, and OSError.
        """
        added, newest = 0, self.last
        for seal in seals:
            added += self._add(seal)
            newest = seal if newest is None or seal.number > newest.number else newest
        _sync(self._folder)
        self.last = newest
        return added

    def timestamps(self) -> set[int]:
        """The numbers of the seals whose timestamps are there. Raises OSError."""
        return {*timestamp_numbers_in(self._folder)}

    def append_timestamps(self, stamps: Iterable[tuple[int, bytes]]) -> None:
        """Add timestamps, each after the number of its seal. Raises as ``append``."""
        for number, answer in stamps:
            self._write(timestamp_name_of(number), answer, partial(self._has_timestamp, number, answer))
        _sync(self._folder)

    def _add(self, seal: Seal) -> bool:
        return self._write(name_of(seal.number), line_of(seal), lambda: self._has(seal))

    def _write(self, name: str, content: bytes, has: Callable[[], bool]) -> bool:
        """Write a file, unless the folder ``has`` it; false if it did. It is there wholly or not at all."""
        if has():
            return False
        temporary = f".{name}.{secrets.token_hex(8)}"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
        opened = os.open(temporary, flags, 0o444, dir_fd=self._folder)
        try:
            try:
                left = memoryview(content)
                while left:
                    left = left[os.write(opened, left) :]
                os.fsync(opened)
            finally:
                os.close(opened)
            return self._name(temporary, name, has)
        finally:
            with suppress(FileNotFoundError):
                os.unlink(temporary, dir_fd=self._folder)

    def _name(self, temporary: str, name: str, has: Callable[[], bool]) -> bool:
        """Give the file its name, unless that exists: a link never replaces another file."""
        folder = self._folder
        try:
            os.link(temporary, name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
        except FileExistsError:
            return not has()  # by another writer, meanwhile
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            if has():
                return False
            os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
        return True

    def _has_timestamp(self, number: int, answer: bytes) -> bool:
        """True if the timestamp is there. Raises ProofError if there is another one."""
        try:
            found = timestamp_in(self._folder, number, str(self._path))
        except FileNotFoundError:
            return False
        if found != answer:
            raise ProofError(
                f"{self._path}/{timestamp_name_of(number)} is not the timestamp of seal {number}, and was not"
                " overwritten",
                hint=f"One of them was changed: svc-pg verify --seals {self._path}",
            )
        return True

    def _has(self, seal: Seal) -> bool:
        """True if the copy is there. Raises ProofError if there is another one."""
        try:
            found = copy_in(self._folder, seal.number, str(self._path))
        except FileNotFoundError:
            return False
        if line_of(found) != line_of(seal):
            raise ProofError(
                f"{self._path}/{name_of(seal.number)} is not the copy of seal {seal.number}, and was not overwritten",
                hint=f"One of them was changed, or it is of another database: svc-pg verify --seals {self._path}",
            )
        return True


def _sync(folder: int) -> None:
    """Sync the names of an open folder, if its file system can."""
    try:
        os.fsync(folder)
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise


def _gaps(numbers: Iterable[int]) -> Iterator[Lack]:
    before = 0
    for number in numbers:
        if number > before + 1:
            yield Lack(before + 1, number - 1)
        before = number


def _remove_stale(opened: int) -> None:
    """Remove files that writers left behind which were killed."""
    with os.scandir(opened) as files:
        names = [file.name for file in files if _TEMPORARY.fullmatch(file.name)]
    for name in names:
        with suppress(OSError):
            if time.time() - os.stat(name, dir_fd=opened, follow_symlinks=False).st_mtime > _STALE:
                os.unlink(name, dir_fd=opened)

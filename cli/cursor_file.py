"""The file that keeps how far an export has followed the log."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from svc_pg.errors import SvcError

from .file_lock import lock
from .output_file import explained, sync_folder

_LONGEST: Final = 4096


class CursorFile:
    """A file with one line, the cursor. The next one is written beside it and renamed, so a kill leaves one of both.

    It stays locked: a second export that moved the cursor would make a gap in what the first one writes.
    """

    def __init__(self, path: Path) -> None:
        self._path = path.resolve()
        with explained(path):
            self._descriptor = _locked(self._path)

    def read(self) -> str | None:
        """The cursor; None if there is none yet. Raises SvcError."""
        with explained(self._path):
            content = os.pread(self._descriptor, _LONGEST, 0)
        try:
            return content.decode("ascii").removesuffix("\n") or None
        except UnicodeDecodeError as error:
            raise SvcError(
                f"{self._path} has no cursor in it", hint="Name a file that export --follow wrote, or a new one."
            ) from error

    def save(self, cursor: str) -> None:
        """Replace the cursor; it is on the disk when this returns. Raises SvcError."""
        part = self._path.with_name(f".{self._path.name[:200]}.part")
        with explained(self._path):
            descriptor = os.open(part, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o666)
            try:
                lock(descriptor, part)
                os.write(descriptor, f"{cursor}\n".encode("ascii"))
                os.fsync(descriptor)
                part.replace(self._path)
                sync_folder(self._path)
            except BaseException:
                os.close(descriptor)
                raise
        self.close()
        self._descriptor = descriptor

    def close(self) -> None:
        """Give up the lock."""
        os.close(self._descriptor)


@contextmanager
def opened(path: Path) -> Iterator[CursorFile]:
    """The file, made if there is none. Raises SvcError if it cannot be written, or if another export uses it."""
    file = CursorFile(path)
    try:
        yield file
    finally:
        file.close()


def _locked(path: Path) -> int:
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            lock(descriptor, path)
            if os.fstat(descriptor).st_ino == path.stat().st_ino:
                return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)  # another export has replaced it between the two calls

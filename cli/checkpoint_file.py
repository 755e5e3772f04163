"""The file that keeps the position of an export that follows the log, with its options."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from svc_pg.errors import SvcError

from . import checkpoint
from .checkpoint import Checkpoint
from .files import file_lock
from .files.disk import sync_folder, write_all
from .files.file_lock import MADE
from .files.output_file import explained, is_special

_LONGEST: Final = 1024 * 1024


class CheckpointFile:
    """A file with one line, the checkpoint. It is replaced by a rename, so a kill leaves the old or the new one.

    It stays locked, because a second export would move the cursor and make a gap in the output of the first.
    """

    def __init__(self, path: Path) -> None:
        self._path = path.resolve()
        if is_special(path):
            raise SvcError(f"{path} is not a file and keeps no cursor", hint="Name a file, or leave out --cursor.")
        with explained(path):
            self._descriptor = file_lock.open_locked(self._path, MADE)

    def read(self) -> Checkpoint | None:
        """The checkpoint; None if there is none yet. Raises SvcError."""
        with explained(self._path):
            content = os.pread(self._descriptor, _LONGEST, 0)
        try:
            return checkpoint.parsed(content.decode()) if content else None
        except (ValueError, RecursionError) as error:
            raise SvcError(
                f"{self._path} has no cursor in it", hint="Name a file that export --follow wrote, or a new one."
            ) from error

    def save(self, reached: Checkpoint) -> None:
        """Replace the checkpoint; it is on the disk when this returns. Raises SvcError."""
        part = self._path.with_name(f".{self._path.name[:200]}.part")
        with explained(self._path):
            descriptor = file_lock.open_locked(part, MADE | os.O_NOFOLLOW, name=self._path)
            try:
                os.ftruncate(descriptor, 0)
                write_all(descriptor, reached.text.encode())
                os.fsync(descriptor)
                part.replace(self._path)
                sync_folder(self._path)
            except BaseException:
                if file_lock.is_at(part, descriptor):
                    part.unlink()
                os.close(descriptor)
                raise
        self.close()
        self._descriptor = descriptor

    def close(self) -> None:
        """Release the lock."""
        os.close(self._descriptor)


@contextmanager
def opened_checkpoint(path: Path) -> Iterator[CheckpointFile]:
    """Open the file, or create it. Raises SvcError if it cannot be written, or if another export uses it."""
    file = CheckpointFile(path)
    try:
        yield file
    finally:
        file.close()

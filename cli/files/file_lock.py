"""Files that only one export at a time writes. The lock of a file ends with its descriptor, also by a kill."""

import fcntl
import os
from pathlib import Path
from typing import Final

from svc_pg.errors import SvcError

MADE: Final = os.O_RDWR | os.O_CREAT
"""Flags for ``open_locked``: create the file if it is missing."""


def _lock(descriptor: int, path: Path) -> None:
    """Lock an open file for this process. Raises SvcError if another export has locked it."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise SvcError(f"{path} is used by another export", hint="Give each export a file of its own.") from error


def open_locked(path: Path, flags: int, *, name: Path | None = None) -> int:
    """Open the file at a path and lock it. Raises OSError, and SvcError if another export has locked it.

    The error shows ``name`` in place of the path, if it is given.
    """
    while True:
        descriptor = os.open(path, flags, 0o666)
        try:
            _lock(descriptor, name or path)
            if is_at(path, descriptor):
                return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)  # another export has replaced or removed it between the two calls


def is_at(path: Path, descriptor: int) -> bool:
    """True if the path still leads to the open file."""
    try:
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False

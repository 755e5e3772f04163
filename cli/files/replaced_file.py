"""A file that replaces an old one when it is complete."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from ..signals import ending_tidily
from .disk import sync_folder
from .file_lock import MADE, is_at, open_locked


@contextmanager
def replaced(file: Path) -> Iterator[BinaryIO]:
    """A new file that replaces the old one at the end, so that a failure leaves the old one unchanged.

    It is written beside the old one, over the rest of a killed run, and removed if a signal ends the program. Raises
    OSError, and SvcError if another export uses the file, at the beginning or at the end.
    """
    part = file.with_name(f".{file.name[:200]}.part")
    with ending_tidily():
        descriptor = open_locked(part, MADE | os.O_NOFOLLOW, name=file)
        with os.fdopen(descriptor, "wb") as out:
            try:
                out.truncate()
                with _locked(file):
                    if file.exists():
                        shutil.copymode(file, part)
                yield out
                out.flush()
                os.fsync(descriptor)
                with _locked(file):
                    part.replace(file)
                sync_folder(file)
            finally:
                if is_at(part, descriptor):
                    part.unlink()


@contextmanager
def _locked(file: Path) -> Iterator[None]:
    """Lock the old file, if it exists and is writable: export --follow may be appending to it."""
    try:
        descriptor = open_locked(file, os.O_RDWR)
    except (FileNotFoundError, PermissionError):
        yield
        return
    try:
        yield
    finally:
        os.close(descriptor)

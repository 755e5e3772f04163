"""Flush bytes, and names of files, to the disk."""

import os
from pathlib import Path


def write_all(descriptor: int, content: bytes) -> None:
    """Write all bytes, in several calls if need be. Raises OSError."""
    rest = memoryview(content)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def sync_folder(file: Path) -> None:
    """Flush the names of a folder's files to the disk."""
    folder = os.open(file.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)

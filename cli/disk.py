"""Bring bytes, and names of files, to the disk."""

import os
from pathlib import Path


def write_all(descriptor: int, content: bytes) -> None:
    """Write all of it, which one call need not do. Raises OSError."""
    rest = memoryview(content)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def sync_folder(file: Path) -> None:
    """Bring the name of a file to the disk."""
    folder = os.open(file.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)

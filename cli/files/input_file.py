"""The input of a command: a file, or standard input."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Final

from svc_pg.errors import SvcError

STANDARD_INPUT: Final = Path("-")
_BUFFER_BYTES: Final = 1024 * 1024


@contextmanager
def opened_input(file: Path) -> Iterator[BinaryIO]:
    """The file, open for reading. Raises SvcError if it cannot be opened."""
    if file == STANDARD_INPUT:
        yield sys.stdin.buffer
        return
    try:
        opened = file.open("rb", buffering=_BUFFER_BYTES)
    except OSError as error:
        raise SvcError(f"{file} cannot be read: {error.strerror or error}") from error
    with opened:
        yield opened

"""The output of a command: a file, or standard output."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Final

from svc_pg.errors import SvcError

STANDARD_OUTPUT: Final = Path("-")


@contextmanager
def opened_output(file: Path) -> Iterator[BinaryIO]:
    """The file, open for writing: a new one takes the place of the old one at the end. Raises SvcError."""
    with explained(file):
        if file == STANDARD_OUTPUT:
            yield sys.stdout.buffer
            sys.stdout.flush()
        elif is_special(file):
            with file.open("wb") as out:
                yield out
        else:
            from .replaced_file import replaced  # it needs a system that locks files

            with replaced(file.resolve()) as out:
                yield out


def is_special(file: Path) -> bool:
    """True if it is a device or a pipe, or a folder, which cannot be written."""
    return file.exists() and not file.is_file()


@contextmanager
def explained(file: Path) -> Iterator[None]:
    """Put an error of the system into our words, except that of a reader that has left. Raises SvcError."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        name = "standard output" if file == STANDARD_OUTPUT else str(file)
        raise SvcError(f"{name} cannot be written: {error.strerror or error}") from error


@contextmanager
def until_the_reader_leaves() -> Iterator[None]:
    """End without an error if the reader, for example head, closes our standard output."""
    try:
        yield
    except BrokenPipeError:
        discard()
        sys.exit(0)


def discard() -> None:
    """Discard the buffer of standard output, which the interpreter would fail to write at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

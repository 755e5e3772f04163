"""The file that a command writes, or standard output."""

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Final

import typer

from svc_pg.errors import SvcError

STANDARD_OUTPUT: Final = Path("-")


@contextmanager
def opened(file: Path) -> Iterator[BinaryIO]:
    """The file, open for writing: a new one takes the place of the old one at the end. Raises SvcError."""
    try:
        if file == STANDARD_OUTPUT:
            yield sys.stdout.buffer
            sys.stdout.flush()
        elif file.exists() and not file.is_file():  # a device or a pipe
            with file.open("wb") as out:
                yield out
        else:
            with _replaced(file.resolve()) as out:
                yield out
    except BrokenPipeError:
        raise
    except OSError as error:
        name = "standard output" if file == STANDARD_OUTPUT else str(file)
        raise SvcError(f"{name} cannot be written: {error.strerror}") from error


@contextmanager
def _replaced(file: Path) -> Iterator[BinaryIO]:
    """A new file that takes the place of the old one at the end, so that a failure leaves the old one as it was."""
    part = file.with_name(f".{file.name[:200]}.{os.getpid()}.part")
    try:
        with part.open("wb") as out:
            yield out
        if file.exists():
            shutil.copymode(file, part)
        part.replace(file)
    finally:
        part.unlink(missing_ok=True)


@contextmanager
def until_the_reader_leaves() -> Iterator[None]:
    """End without an error if the reader, for example head, closes our standard output."""
    try:
        yield
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # buffered output goes nowhere
        raise typer.Exit from None

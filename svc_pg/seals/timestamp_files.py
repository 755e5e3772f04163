"""The files of timestamps in a folder of copies, beside those of the seals."""

import os
import re
from array import array
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from svc_pg.errors import ProofError
from svc_pg.seals.timestamps import MOST_BYTES
from svc_pg.seals.verification.copies import content_of, numbers_in

TIMESTAMP_NAME: Final = re.compile(r"([0-9]{19})\.tsr")
"""The name of such a file, with the number of its seal."""


def timestamp_name_of(number: int) -> str:
    """The name of the file that has the timestamp of a seal."""
    return f"{number:019d}.tsr"


def read_timestamps(path: Path) -> Iterator[tuple[int, bytes]]:
    """The timestamps of a folder of copies, each after the number of its seal, in their order; a file has none.

    Raises ProofError that names a file that is none or too long, and OSError.
    """
    if not path.is_dir():
        return
    folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for number in timestamp_numbers_in(folder):
            yield number, timestamp_in(folder, number, str(path))
    finally:
        os.close(folder)


def timestamp_numbers_in(folder: int) -> "array[int]":
    """The numbers of the seals that an open folder has timestamps of, in their order. Raises OSError."""
    return numbers_in(folder, TIMESTAMP_NAME)


def timestamp_in(folder: int, number: int, name: str) -> bytes:
    """The timestamp of a seal in an open folder of this name. Raises ProofError and OSError."""
    file = timestamp_name_of(number)
    answer = content_of(folder, file, MOST_BYTES + 1)
    if not 0 < len(answer) <= MOST_BYTES:
        raise ProofError(f"{name}/{file} is damaged: it is no timestamp", hint="Restore the file.")
    return answer

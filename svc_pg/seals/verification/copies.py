"""Copies of seals outside the database: a file with a line of JSON for each, or a folder with a file of one line."""

import json
import os
import re
import stat
from array import array
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final

from svc_pg.errors import ProofError
from svc_pg.seals.verification.seal import Seal

_LONGEST_LINE: Final = 16_384
_NAME: Final = re.compile(r"([0-9]{19})\.json")
_NUMBERS: Final = range(1, 2**63)


def name_of(number: int) -> str:
    """The name of a seal's file in a folder of copies: names are in the order of the seals."""
    return f"{number:019d}.json"


def read_copies(path: Path) -> Iterator[Seal]:
    """The seals of a file or a folder, one at a time, in their order.

    Raises ProofError that names the line or the file that is cut or damaged, or a folder that has none, and OSError.
    """
    if not path.is_dir():
        with path.open("rb") as lines:
            yield from seals_of(lines, str(path))
        return
    folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        numbers = numbers_in(folder)
        if not numbers:
            raise ProofError(f"{path} has no copies of seals", hint="Is its disk mounted?")
        for number in numbers:
            yield copy_in(folder, number, str(path))
    finally:
        os.close(folder)


def numbers_in(folder: int, names: "re.Pattern[str]" = _NAME) -> "array[int]":
    """The numbers in such names of files in an open folder, by default of seals, in their order. Raises OSError."""
    with os.scandir(folder) as files:
        numbers = (int(name[1]) for file in files if (name := names.fullmatch(file.name)))
        return array("q", sorted(number for number in numbers if number in _NUMBERS))


def copy_in(folder: int, number: int, name: str) -> Seal:
    """The seal of a number in an open folder of this name. Raises ProofError that names a bad file, and OSError."""
    line = content_of(folder, file := name_of(number), _LONGEST_LINE)
    seal = _seal_of(line, f"{name}/{file} is damaged: it is no seal")
    if seal.number != number or not line.endswith(b"\n"):
        raise ProofError(f"{name}/{file} is damaged: it is not the line of seal {number}", hint="Restore the file.")
    return seal


def content_of(folder: int, file: str, most: int) -> bytes:
    """The first bytes of a file in an open folder; none of what is no file. Raises OSError."""
    opened = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
    try:
        return os.read(opened, most) if stat.S_ISREG(os.fstat(opened).st_mode) else b""
    finally:
        os.close(opened)


def seals_of(lines: BinaryIO, name: str) -> Iterator[Seal]:
    """The seals of an open file with this name, one at a time. Raises ProofError as ``read_copies``."""
    number, before = 0, 0
    while line := lines.readline(_LONGEST_LINE):
        number += 1
        if not line.endswith(b"\n"):
            raise ProofError(
                f"{name} is cut: its line {number} does not end",
                hint="Restore the file; or remove that line, if the database still has its seal.",
            )
        seal = _seal_of(line, f"{name} is damaged: line {number} is no seal")
        if seal.number <= before:
            raise ProofError(f"{name} is damaged: seal {seal.number} in line {number} comes after seal {before}")
        before = seal.number
        yield seal


def _seal_of(line: bytes, problem: str) -> Seal:
    try:
        seal = Seal.of_copy(json.loads(line))
        _NUMBERS.index(seal.number)  # ValueError beyond them
        return seal
    except (ValueError, ProofError, RecursionError) as error:
        raise ProofError(problem, hint="Restore the file.") from error

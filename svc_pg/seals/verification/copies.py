"""Copies of seals outside the database: a file with a line of JSON for each, in their order."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final

from svc_pg.errors import ProofError
from svc_pg.seals.verification.seal import Seal

_LONGEST_LINE: Final = 16_384


def read_copies(file: Path) -> Iterator[Seal]:
    """The seals of a file, one at a time. Raises ProofError that names the line that is cut or damaged, and OSError."""
    with file.open("rb") as lines:
        yield from seals_of(lines, str(file))


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
        try:
            seal = Seal.of_copy(json.loads(line))
        except (ValueError, ProofError, RecursionError) as error:
            raise ProofError(f"{name} is damaged: line {number} is no seal", hint="Restore the file.") from error
        if seal.number <= before:
            raise ProofError(f"{name} is damaged: seal {seal.number} in line {number} comes after seal {before}")
        before = seal.number
        yield seal

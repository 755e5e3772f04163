"""Mutants: the program with one small fault in one line."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import sqrt
from pathlib import Path
from random import Random
from typing import Final

_LEFT_OUT: Final = ("svc_pg/client/generated/", "sql/demo/")
"""Code that is generated, and data of the demo."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """The bytes from ``start`` to ``end`` of a ``file``, relative to the project, are replaced.

    The ``context`` is the part of the line around them, if they do not speak for themselves.
    """

    file: str
    line: int
    start: int
    end: int
    before: str
    after: str
    context: str = ""

    def applied(self, source: bytes) -> bytes:
        """The file with the fault."""
        return source[: self.start] + self.after.encode() + source[self.end :]

    def __str__(self) -> str:
        before, after = (" ".join(text.split()) for text in (self.before, self.after))
        context = f", in: {self.context}" if self.context else ""
        return f"{self.file}:{self.line}: {before} -> {after or 'nothing'}{context}"


def room_of(file: str) -> str:
    """The room of a file: ``svc_pg/audit``, ``sql/queries``, ``cli``."""
    folders = Path(file).parts[:-1]
    return "/".join(folders[:1] if folders[0] == "cli" else folders[:2])


def is_broken(file: str) -> bool:
    """True if a file of the project gets faults."""
    is_code = file.endswith((".py", ".sql", ".j2"))
    return is_code and file.startswith(("svc_pg/", "cli/", "sql/")) and not file.startswith(_LEFT_OUT)


def sample(mutants: Iterable[Mutant], seed: int) -> list[Mutant]:
    """All mutants in an order of which each beginning is a sample.

    Each room has a part in it that grows with the square root of its size, so that small rooms have one too. A file
    has one mutant a line at a time: others of that line come after those of all lines.
    """
    by_room: dict[str, list[Mutant]] = {}
    for mutant in mutants:
        by_room.setdefault(room_of(mutant.file), []).append(mutant)
    chances = Random(seed)
    placed = []
    for room in sorted(by_room):
        weight = sqrt(len(by_room[room]))
        for number, mutant in enumerate(_by_line(by_room[room], chances)):
            placed.append(((number + chances.random()) / weight, mutant))
    return [mutant for _, mutant in sorted(placed, key=lambda each: each[0])]


def _by_line(mutants: Sequence[Mutant], chances: Random) -> list[Mutant]:
    mixed = chances.sample(mutants, len(mutants))
    seen: dict[tuple[str, int], int] = {}
    turns: list[tuple[int, Mutant]] = []
    for mutant in mixed:
        line = (mutant.file, mutant.line)
        turns.append((seen.get(line, 0), mutant))
        seen[line] = seen.get(line, 0) + 1
    return [mutant for _, mutant in sorted(turns, key=lambda each: each[0])]

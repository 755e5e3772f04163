"""The threats of docs/explanation/protection.md, each with the modules of tests that show its promise."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

PAGE: Final = Path(__file__).parents[2] / "docs" / "explanation" / "protection.md"
TESTS: Final = Path(__file__).parents[1]

_HEADING: Final = "| Who | wants to | is stopped by | remains | shown by |"
_NAME: Final = re.compile(r"`((?:\w+/)*test_\w+)`")


@dataclass(frozen=True, slots=True)
class Threat:
    """A row of the page."""

    attacker: str
    intent: str
    modules: Sequence[str]

    @property
    def name(self) -> str:
        """A line that tells it from others."""
        return f"{self.attacker}: {self.intent}"


def threats(page: str | None = None) -> list[Threat]:
    """The rows of the page's table, except those where nothing is promised.

    Raises ValueError for a row whose promise has no test, for a row beside the table, and without a table.
    """
    _, _, rest = (PAGE.read_text(encoding="utf-8") if page is None else page).partition(f"{_HEADING}\n")
    table, _, after = rest.partition("\n\n")
    if beside := [line for line in after.splitlines() if line.lstrip().startswith("|")]:
        raise ValueError(f"this row is not in the table: {beside[0]}")
    found = list(_rows(table))
    if not found:
        raise ValueError(f"the page has no table with the columns {_HEADING}")
    return found


def _rows(table: str) -> Iterator[Threat]:
    attacker = ""
    for line in table.splitlines()[1:]:
        if not line.startswith("|") or line.count("|") != _HEADING.count("|"):
            raise ValueError(f"this row has not the columns {_HEADING}: {line}")
        who, intent, promise, _, shown = (cell.strip() for cell in line.strip("|").split("|"))
        attacker = attacker if who == "the same" else who
        modules = _NAME.findall(shown)
        if promise == shown == "nothing":
            continue
        if not modules:
            raise ValueError(f"no test shows how {attacker} is kept from this: {intent}")
        yield Threat(attacker, intent, modules)


def file_of(module: str) -> Path:
    """The file of tests of that name, which has as many folders as tell it from others. Raises ValueError."""
    match sorted(TESTS.rglob(f"{module}.py")):
        case [file]:
            return file
        case []:
            raise ValueError(f"tests/ has no file {module}.py")
        case several:
            names = ", ".join(str(file.relative_to(TESTS)) for file in several)
            raise ValueError(f"{module}.py is one of several: {names}")

"""Compare the outcomes of a foreign suite without capture and with it, test by test."""

import tomllib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

from tests.proof.foreign.running import Run

KNOWN: Final = Path(__file__).with_name("differences.toml")


@dataclass(slots=True)
class Counts:
    """The tests of a suite: ``same`` with and without capture, ``explained`` if the difference has a known reason.

    ``failed`` are those of ``same`` that fail either way. ``tables`` had capture at a time, and ``bare`` had none: the
    most of any unit; those of SQLite are not counted. ``units`` of ``all_units`` were run.
    """

    tests: int = 0
    same: int = 0
    failed: int = 0
    skipped: int = 0
    explained: int = 0
    entries: int = 0
    tables: int = 0
    bare: int = 0
    units: int = 0
    all_units: int = 0
    seconds: float = 0.0
    different: list[str] = field(default_factory=list)


def compare(without: Run, with_it: Run, counts: Counts, explained: Sequence[str]) -> None:
    """Add a unit that ran both ways. A test that one way did not reach differs, unless a pattern explains it."""
    kinds = Counter[str]()
    for test in {**without.outcomes, **with_it.outcomes}:
        before, after = (each.outcomes.get(test, "no outcome") for each in (without, with_it))
        counts.tests += 1
        if before == after:
            counts.same += 1
            kinds[before] += 1
        elif any(fnmatchcase(test, pattern) for pattern in explained):
            counts.explained += 1
        else:
            counts.different.append(f"{test}: {before}, {after}")
    counts.failed += kinds["failed"]
    counts.skipped += kinds["skipped"]
    counts.entries += with_it.entries
    counts.tables = max(counts.tables, with_it.tables)
    counts.bare = max(counts.bare, with_it.bare)
    counts.units += 1


def holds(counts: Counts) -> bool:
    """True if tests passed both ways, something was recorded, and no difference is without a known reason."""
    passed = counts.same - counts.failed - counts.skipped
    return passed > 0 and counts.entries > 0 and not counts.different


def known_differences(suite: str, text: str | None = None) -> list[str]:
    """The patterns of a suite's tests that may differ. One without a reason is an error."""
    found = tomllib.loads(KNOWN.read_text(encoding="utf-8") if text is None else text).get(suite, [])
    if without := [each["test"] for each in found if not each.get("reason", "").strip()]:
        raise ValueError(f"{KNOWN.name} gives no reason for {', '.join(without)}")
    return [each["test"] for each in found]

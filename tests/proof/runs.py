"""Run tests, and count what they tried."""

import base64
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from xml.etree import ElementTree

from tests.support.chance import SEED

ROOT: Final = Path(__file__).parents[2]

_EXAMPLES: Final = re.compile(r"(\d+) passing(?: examples?)?, (\d+) failing")
_LONGEST_TEST: Final = 1800  # seconds; a property has twenty times as many examples as in a usual run
_NONE_COLLECTED: Final = 5


@dataclass(slots=True)
class Counts:
    """``examples`` are those of properties, beside the ``passed`` tests that have none."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0
    examples: int = 0
    seconds: float = 0.0
    failures: list[str] = field(default_factory=list)

    def add(self, other: "Counts") -> None:
        """Count the other's as well."""
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped
        self.examples += other.examples
        self.seconds += other.seconds
        self.failures += other.failures


def total(several: Iterable[Counts]) -> Counts:
    """The counts of all together."""
    found = Counts()
    for counts in several:
        found.add(counts)
    return found


def run(file: Path, *, seed: int, options: Sequence[str] = ()) -> Counts:
    """Run all tests of a file with many examples. Raises RuntimeError if pytest did not get as far as a result."""
    many = ("--hypothesis-profile=thorough", f"--hypothesis-seed={seed}", f"--timeout={_LONGEST_TEST}", "-n", "0")
    return run_tests(file, options=(*many, *options), environment={SEED: str(seed)})


def run_tests(tests: Path, *, options: Sequence[str], environment: Mapping[str, str] | None = None) -> Counts:
    """Run the tests of a file or a folder. Raises RuntimeError if pytest did not get as far as a result."""
    with tempfile.TemporaryDirectory() as folder:
        results = Path(folder, "results.xml")
        pytest = (sys.executable, "-m", "pytest", "-q", "-c", "pyproject.toml", f"--junitxml={results}")
        command = [*pytest, *options, str(tests)]
        variables = {**os.environ, **(environment or {})}
        done = subprocess.run(command, cwd=ROOT, env=variables, capture_output=True, text=True, check=False)
        if done.returncode not in (0, 1, _NONE_COLLECTED) or not results.exists():
            raise RuntimeError(f"{tests.name}: pytest ended with {done.returncode}:\n{done.stdout}{done.stderr}")
        counts = counted(results.read_text(encoding="utf-8"))
        if counts.failed:
            sys.stderr.write(done.stdout)  # which says why
        return counts


def counted(results: str) -> Counts:
    """The counts in pytest's JUnit XML."""
    [suite] = ElementTree.fromstring(results).iter("testsuite")
    number = {name: int(suite.get(name, "0")) for name in ("tests", "failures", "errors", "skipped")}
    failed = number["failures"] + number["errors"]
    return Counts(
        passed=number["tests"] - failed - number["skipped"],
        failed=failed,
        skipped=number["skipped"],
        examples=sum(_examples(suite)),
        seconds=float(suite.get("time", "0")),
        failures=[
            f"{case.get('classname')}::{case.get('name')}"
            for case in suite.iter("testcase")
            if case.find("failure") is not None or case.find("error") is not None
        ],
    )


def _examples(suite: ElementTree.Element) -> Iterator[int]:
    """The examples of each property, which Hypothesis adds to the results as text."""
    for each in suite.iter("property"):
        if each.get("name", "").startswith("hypothesis-statistics-"):
            text = base64.b64decode(each.get("value", "")).decode()
            yield sum(int(passing) + int(failing) for passing, failing in _EXAMPLES.findall(text))

"""The tests that are run by default and for each commit: the first case of each, without the slow ones.

``python -m tests.quick REPORT...`` chooses the slow ones anew, by the times in reports of ``pytest --whole
--junit-xml=REPORT`` and ``pytest tests/e2e --junit-xml=REPORT``: from the quickest on, each test is run as long as
there is time for it. The quickest one of a module is always run, and so are those that read the source, and each that
the file does not name yet. A test that no report has stays as it is, so a report of the quick tests alone makes some of
them slow.
"""

import argparse
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final
from xml.etree import ElementTree

SLOW: Final = Path(__file__).with_name("slow.txt")
"""The names of tests, as in ``tests/unit/test_ids.py::test_an_id``, that are run only with all others."""
GUARDS: Final = ("tests/unit/test_closed_sets.py", "tests/unit/test_sql_style.py")
"""The modules that read the source, which any change may break: all of their tests are run."""
_ROOT: Final = Path(__file__).parent.parent


def first_cases(cases: Iterable[str]) -> dict[str, str]:
    """The first case of each test, by the name of the test. The cases are named as pytest does, and in its order."""
    return {_without_case(case): case for case in reversed(list(cases))}


def quick_cases(cases: Iterable[str]) -> frozenset[str]:
    """Those of the cases that are run by default."""
    slow = frozenset(SLOW.read_text().splitlines())
    return frozenset(case for test, case in first_cases(cases).items() if test not in slow)


def slow_tests(seconds_of: Mapping[str, float], budget: float) -> Iterator[str]:
    """The tests for which the budget, in seconds, leaves no time, if each takes the seconds that are given."""
    in_order = sorted(seconds_of, key=lambda test: (seconds_of[test], test))
    by_module = defaultdict[str, list[str]](list)
    for test in in_order:
        by_module[test.partition("::")[0]].append(test)
    kept = {tests[0] for tests in by_module.values()}
    kept.update(*(by_module[module] for module in GUARDS))
    left = budget - sum(seconds_of[test] for test in kept)
    for test in in_order:
        if test not in kept:
            left -= seconds_of[test]
            if left < 0:
                yield test


def _without_case(name: str) -> str:
    return name.partition("[")[0]


def _seconds(report: Path) -> dict[str, float]:
    """The time that the first case of each test took, by the name of the test."""
    seconds_of: dict[str, float] = {}
    for case in ElementTree.parse(report).iter("testcase"):
        module = case.attrib["classname"].replace(".", "/") + ".py"
        if (_ROOT / module).is_file():
            seconds_of.setdefault(f"{module}::{_without_case(case.attrib['name'])}", float(case.attrib["time"]))
    return seconds_of


def main() -> None:
    """Write the names of the slow tests."""
    parser = argparse.ArgumentParser(prog="python -m tests.quick", description="Choose the tests that are slow.")
    parser.add_argument("reports", nargs="+", type=Path, metavar="REPORT", help="of pytest --junit-xml")
    parser.add_argument("--minutes", type=float, default=13, help="for the quick tests of a report, on one core")
    given = parser.parse_args()
    timed = [_seconds(report) for report in given.reports]
    untimed = set(SLOW.read_text().splitlines()).difference(*timed)
    slow = untimed.union(*(slow_tests(seconds_of, given.minutes * 60) for seconds_of in timed))
    SLOW.write_text("".join(f"{test}\n" for test in sorted(slow)))
    print(f"{len(slow)} slow tests")  # noqa: T201 - what the program is for


if __name__ == "__main__":
    main()

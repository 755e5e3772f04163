"""Run the suite on other versions: ``python -m tests.proof.versions 13 14 15 16 17 18``, with the Python that runs it.

Of each test that has several cases it runs the first, as a version breaks them alike.
"""

import argparse
import sys
from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from platform import python_version, python_version_tuple
from typing import Any, Final

from svc_pg import __version__
from tests.benchmarks import saved
from tests.matrix import MatrixError, fetch, known
from tests.proof.runs import ROOT, Counts, run_tests

NAME: Final = "versions"
"""The name of the saved file: its figures are the last run of each pair of versions."""


def main() -> int:
    """Run the suite on each version in turn. The exit code is 1 if a test failed, or if none ran."""
    options = _options()
    held = [_run(major, options) for major in options.majors]
    return 0 if all(held) else 1


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.proof.versions", description=__doc__)
    parser.add_argument("majors", nargs="+", type=int, choices=known(), metavar="MAJOR", help="versions of PostgreSQL")
    parser.add_argument("--folder", default="integration", help="of tests; default: integration")
    saved.add_option(parser)
    return parser.parse_args()


def _run(major: int, options: argparse.Namespace) -> bool:
    try:
        programs = fetch(major)
    except MatrixError as error:
        sys.stderr.write(f"error: {error}\n")
        return False
    chosen = ("-W", "error", "-n", "auto", "-m", "postgres", "--first-cases", f"--postgres={programs}")
    counts = run_tests(ROOT / "tests" / options.folder, options=chosen)
    for failure in counts.failures:
        sys.stdout.write(f"failed: {failure}\n")
    words = f"{counts.passed:,} tests passed, {counts.failed} failed, {counts.skipped} skipped"
    sys.stdout.write(f"PostgreSQL {major}, Python {python_version()}: {words}, {counts.seconds:.0f} s\n")
    figures = {**_before(options), pair(major, ".".join(python_version_tuple()[:2])): _figures(counts)}
    saved.save(options.save, NAME, figures, {"svc-pg": __version__}, module="tests.proof.versions")
    return bool(counts.passed) and not counts.failed


def pair(major: int, python: str) -> str:
    """The key of a run among the figures: ``13 3.11``."""
    return f"{major} {python}"


def _before(options: argparse.Namespace) -> Mapping[str, Any]:
    """The runs of other pairs, which stay."""
    is_there = options.save is not None and (options.save / f"{NAME}.json").exists()
    return saved.load(NAME, options.save)["figures"] if is_there else {}


def _figures(counts: Counts) -> Mapping[str, Any]:
    return {**asdict(counts), "date": datetime.now(UTC).date().isoformat()}


if __name__ == "__main__":
    sys.exit(main())

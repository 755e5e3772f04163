"""Run the test suites of others without capture and with it on every table: ``python -m tests.proof.foreign``.

Recording may make no change of an application fail, or look different to it. Sources come from PyPI into the cache
folder. The exit code is 1 if the outcome of a test differs for a reason that differences.toml does not name, or if
nothing was recorded.
"""

import argparse
import sys
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any, Final

from svc_pg import __version__
from tests.benchmarks import command, saved
from tests.matrix import known
from tests.proof.foreign.comparing import Counts, compare, holds, known_differences
from tests.proof.foreign.running import Place, place
from tests.proof.foreign.suites import NAME, SUITES, Suite

_SHOWN: Final = 40  # differences of a suite in the saved file


def main() -> int:
    """Run the suites in turn."""
    command.end_on_sigterm()
    options = _options()
    held = [_prove(suite, options) for suite in SUITES if not options.names or suite.name in options.names]
    return 0 if all(held) else 1


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.proof.foreign", description=__doc__)
    names = [suite.name for suite in SUITES]
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of a suite: {', '.join(names)}; default: all")
    parser.add_argument("--minutes", type=float, help="of each suite: begin no more of its tests after these")
    parser.add_argument("--only", action="append", metavar="PART", help="run these files or folders of a suite")
    parser.add_argument("--major", type=int, default=max(known()), choices=known(), help="version of PostgreSQL")
    saved.add_option(parser)
    options = parser.parse_args()
    if unknown := [name for name in options.names if name not in names]:
        parser.error(f"no suite has the name {', '.join(unknown)}; there are {', '.join(names)}")
    return options


def _prove(suite: Suite, options: argparse.Namespace) -> bool:
    began = time.monotonic()
    ends = began + 60 * options.minutes if options.minutes else None
    with (
        place(suite, is_captured=False, major=options.major) as plain,
        place(suite, is_captured=True, major=options.major) as captured,
    ):
        units = [options.only] if options.only else suite.units(plain.source)
        counts = Counts(all_units=len(units))
        for unit in units:
            if ends is not None and time.monotonic() > ends:
                break
            _run(plain, captured, unit, counts)
            counts.seconds = time.monotonic() - began
            _save(suite, counts, options)
            sys.stderr.write(f"{suite.name}: {counts.units} of {len(units)}, {counts.tests:,} tests\n")
    for each in counts.different:
        sys.stdout.write(f"differs: {each}\n")
    words = (
        f"{counts.tests:,} tests, {counts.same:,} the same ({counts.failed} fail and {counts.skipped} are skipped"
        f" either way), {counts.explained} explained, {len(counts.different)} different, {counts.entries:,} entries of"
        f" {counts.tables:,} tables ({counts.bare} without capture), {counts.units} of {counts.all_units} parts"
    )
    sys.stdout.write(f"{suite.name} ({suite.release}): {words}\n")
    return holds(counts)


def _save(suite: Suite, counts: Counts, options: argparse.Namespace) -> None:
    """Save what was counted so far, beside the runs of other suites."""
    figures = {**asdict(counts), "different": counts.different[:_SHOWN], "differing": len(counts.different)}
    figures |= {"release": suite.release, "kind": suite.kind, "date": datetime.now(UTC).date().isoformat()}
    saved.save(options.save, NAME, {**_before(options), suite.name: figures}, _VERSIONS, module="tests.proof.foreign")


_VERSIONS: Final = {"svc-pg": __version__}


def _before(options: argparse.Namespace) -> Mapping[str, Any]:
    """The runs of other suites, which stay."""
    is_there = options.save is not None and (options.save / f"{NAME}.json").exists()
    return saved.load(NAME, options.save)["figures"] if is_there else {}


def _run(plain: Place, captured: Place, unit: Sequence[str], counts: Counts) -> None:
    """Run a unit both ways at a time, and count."""
    with ThreadPoolExecutor(2) as both:
        without, with_it = both.map(lambda each: each.run(unit), (plain, captured))
    for ran, way in ((without, "without capture"), (with_it, "with capture")):
        if ran.output:
            sys.stderr.write(f"no test ran {way}:\n{ran.output}\n")
    compare(without, with_it, counts, known_differences(plain.suite.name))


if __name__ == "__main__":
    sys.exit(main())

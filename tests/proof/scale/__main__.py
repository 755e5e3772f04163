"""Check promises on a large database, which is made once and kept in a cache folder: ``python -m tests.proof.scale``.

What is read and held has a bound in pages, MiB and statements, whatever the size and the planner's statistics; times
are reported beside. The exit code is 1 if a bound is broken. An interrupted making goes on with the next run, and the
same sizes are found again. 20 million entries take half an hour and 20 GB.
"""

import argparse
import sys
import time
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from tests.benchmarks import command, saved
from tests.proof.scale import kept
from tests.proof.scale.measuring import Checked, Subject
from tests.proof.scale.names import NAME, SUBJECTS
from tests.proof.scale.sizes import Sizes
from tests.proof.scale.stage import Stage, prepared
from tests.proof.scale.subjects import IN_ALL_STATES, ONCE


def main() -> int:
    """Make the database unless it is there, check, print what was found, and save it."""
    command.end_on_sigterm()
    options = _options()
    sizes = Sizes(options.entries, options.deliveries, options.endpoints, options.tables)
    try:
        with prepared(sizes) as stage:
            versions = command.versions(stage.server)
            subjects = _checked(stage, options.only or SUBJECTS, ends=_end(options.minutes))
    except kept.BusyError as error:
        sys.stderr.write(f"error: {error}\n")
        return 2
    for line in _lines(subjects):
        sys.stdout.write(f"{line}\n")
    now = {subject.name: _figures(subject) for subject in subjects}
    figures = {**asdict(sizes), "subjects": {**_before(options, sizes), **now}}
    saved.save(options.save, NAME, figures, versions, module="tests.proof.scale")
    return 1 if any(subject.broken for subject in subjects) else 0


def _before(options: argparse.Namespace, sizes: Sizes) -> Mapping[str, Any]:
    """The figures of other subjects at these sizes, which stay."""
    if options.save is None or not (options.save / f"{NAME}.json").exists():
        return {}
    found = saved.load(NAME, options.save)["figures"]
    kept_figures: Mapping[str, Any] = found.pop("subjects")
    return kept_figures if found == asdict(sizes) else {}


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.proof.scale", description=__doc__)
    parser.add_argument("--entries", type=int, default=20_000_000, help="of the log; default: %(default)s")
    parser.add_argument("--deliveries", type=int, default=2_000_000, help="old ones; default: %(default)s")
    parser.add_argument("--endpoints", type=int, default=10_000, help="each of a tenant; default: %(default)s")
    parser.add_argument("--tables", type=int, default=3_000, help="that are audited; default: %(default)s")
    parser.add_argument(
        "--only", action="append", choices=SUBJECTS, metavar="SUBJECT", help=f"of {'; '.join(SUBJECTS)}"
    )
    parser.add_argument("--minutes", type=float, help="begin no subject after these; default: no end")
    saved.add_option(parser)
    options = parser.parse_args()
    least = {"entries": 20_000, "deliveries": 1_000, "endpoints": 20, "tables": 40}
    for name, most in least.items():
        if getattr(options, name) < most:
            parser.error(f"--{name} must be at least {most:,}")
    return options


def _end(minutes: float | None) -> float:
    return float("inf") if minutes is None else time.monotonic() + 60 * minutes


def _checked(stage: Stage, names: Iterable[str], *, ends: float) -> list[Subject]:
    """The subjects that were checked in time; with statistics of one kind less, if the time was over before."""
    wanted = set(names)
    found: dict[str, Subject] = {}

    def note(name: str, checks: Iterable[Checked]) -> None:
        began = time.monotonic()
        subject = found.setdefault(name, Subject(name))
        for checked in checks:
            subject.note(checked)
        command.words.print(f"{name}: {len(subject.checks)} checks, {time.monotonic() - began:.0f} s")

    for state in stage.states():
        for each in IN_ALL_STATES:
            if each.name in wanted and time.monotonic() < ends:
                note(each.name, each.check(stage, state))
    for once in ONCE:
        if once.name in wanted and time.monotonic() < ends:
            note(once.name, once.check(stage))
    return list(found.values())


def _lines(subjects: Iterable[Subject]) -> Iterable[str]:
    for subject in subjects:
        for checked in subject.broken:
            yield f"broken: {subject.name}: {checked}, {checked.milliseconds:.0f} ms"
    for subject in subjects:
        nearest = max(subject.checks.values(), key=lambda each: each.share)
        slowest = max(each.milliseconds for each in subject.checks.values())
        words = f"{len(subject.checks)} checks, {len(subject.broken)} broken; nearest to its bound: {nearest}"
        yield f"{subject.name}: {words}; slowest {slowest:,.0f} ms"


def _figures(subject: Subject) -> dict[str, Any]:
    """The number of checks; of each unit the figure that is nearest to its bound; and the bounds that were broken."""
    nearest: dict[str, Checked] = {}
    for checked in subject.checks.values():
        if checked.unit not in nearest or checked.share > nearest[checked.unit].share:
            nearest[checked.unit] = checked
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "checks": len(subject.checks),
        "slowestMs": max(each.milliseconds for each in subject.checks.values()),
        "nearest": {
            unit: {"name": each.name, "value": each.value, "bound": each.bound} for unit, each in nearest.items()
        },
        "broken": [str(each) for each in subject.broken][:_SAVED],
        "brokenCount": len(subject.broken),
    }


_SAVED = 20
"""The broken bounds of a subject that are saved with their names."""

if __name__ == "__main__":
    sys.exit(main())

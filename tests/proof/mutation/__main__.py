"""Break lines, and count how many of the faults a test notices: ``python -m tests.proof.mutation --minutes 60``.

Faults are a sample over the whole, the same for a seed. Each is put into a private copy of the project, where the tests
run that reach its line, until one fails. The exit code is 1 if fewer than 95 of 100 are noticed.

mutmut leaves functions with decorators out, such as routes and commands; cosmic-ray runs all tests for each fault, and
changes the checkout; neither breaks SQL, in which the rules of this project are written.
"""

import argparse
import random
import sys
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from itertools import islice
from typing import Any

from svc_pg import __version__
from tests.benchmarks import command, saved
from tests.proof.mutation.mutants import room_of, sample
from tests.proof.mutation.outcomes import NAME, Outcomes
from tests.proof.mutation.reach import Reach, kept_folder, unknown_rooms
from tests.proof.mutation.trials import all_mutants, try_all


def main() -> int:
    """Try mutants until the time is over, print what became of them, and save it."""
    command.end_on_sigterm()
    options = _options()
    reach = Reach(kept_folder())
    if not options.kept:
        reach.renew(options.processes)
    seed = random.randrange(2**32) if options.seed is None else options.seed
    sys.stderr.write(f"seed {seed}\n")
    mutants = (each for each in sample(all_mutants(), seed) if not options.room or room_of(each.file) in options.room)
    outcomes = Outcomes()
    began = time.monotonic()
    try_all(
        islice(mutants, options.most),
        reach.tests,
        outcomes,
        processes=options.processes,
        ends=began + 60 * options.minutes,
        seconds=options.seconds,
    )
    sys.stdout.write(f"{outcomes.words()}\n")
    run = {"seed": seed, "date": datetime.now(UTC).date().isoformat()}
    figures = {**_before(options), **{room: {**counts, **run} for room, counts in outcomes.figures().items()}}
    saved.save(options.save, NAME, figures, {"svc-pg": __version__}, module="tests.proof.mutation")
    return 0 if outcomes.is_enough else 1


def _before(options: argparse.Namespace) -> Mapping[str, Any]:
    """The runs of other rooms, which stay."""
    is_there = options.save is not None and (options.save / f"{NAME}.json").exists()
    return saved.load(NAME, options.save)["figures"] if is_there else {}


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.proof.mutation", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10, help="begin no mutant after these; default: 10")
    parser.add_argument("--seed", type=int, help="of the sample; default: a random one, which is printed")
    parser.add_argument("--room", action="append", metavar="FOLDER", help="such as svc_pg/webhooks; default: all")
    parser.add_argument("--most", type=int, metavar="N", help="mutants; the first of the sample are taken")
    parser.add_argument("--seconds", type=float, default=180, help="on the processor, of one mutant; default: 180")
    parser.add_argument("--kept", action="store_true", help="trace no tests before the first, not even changed ones")
    parser.add_argument("--processes", type=int, default=2, help="mutants at a time; default: 2")
    saved.add_option(parser)
    options = parser.parse_args()
    if unknown := unknown_rooms(options.room or ()):
        parser.error(f"no room has the name {', '.join(unknown)}; rooms are svc_pg/audit, sql/webhooks, cli, ...")
    return options


if __name__ == "__main__":
    sys.exit(main())

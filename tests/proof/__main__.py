"""Prove what the documentation promises: ``python -m tests.proof`` lists the proofs, and runs those that are named."""

import argparse
import random
import sys
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict
from itertools import count
from pathlib import Path

from svc_pg import __version__
from tests.benchmarks import saved
from tests.proof.proofs import PROOFS, Proof
from tests.proof.runs import Counts, run, total
from tests.proof.threats import file_of, threats


def main() -> int:
    """Run the proofs. The exit code is 1 if a test failed, or if a module ran none."""
    options = _options()
    if not options.names:
        for proof in PROOFS:
            sys.stdout.write(f"python -m tests.proof {proof.name}\n    {proof.sentence}\n")
        sys.stdout.write("python -m tests.proof.versions MAJOR\n    the suite passes on each version of PostgreSQL\n")
        sys.stdout.write("python -m tests.proof.foreign\n    suites of others pass alike with capture and without\n")
        sys.stdout.write("python -m tests.proof.mutation\n    tests notice a line that is broken\n")
        sys.stdout.write("python -m tests.proof.scale\n    bounds are kept on a database that is very large\n")
        sys.stdout.write("\n--minutes repeats each with other seeds, and --save docs/figures keeps its counts.\n")
        return 0
    chosen = [proof for proof in PROOFS if proof.name in options.names]
    held = [_prove(proof, options) for proof in chosen]
    return 0 if all(held) else 1


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.proof", description=__doc__)
    names = [proof.name for proof in PROOFS]
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one or more of {', '.join(names)}")
    parser.add_argument("--minutes", type=float, default=0, help="begin no module after these; each runs once at least")
    parser.add_argument("--seed", type=int, help="of the first round; default: a random one, which is printed")
    parser.add_argument("--postgres", metavar="DIR", help="folder with initdb and postgres; else as the tests")
    saved.add_option(parser)
    options = parser.parse_args()
    if unknown := [name for name in options.names if name not in names]:
        parser.error(f"no proof has the name {', '.join(unknown)}; there are {', '.join(names)}")
    return options


def _prove(proof: Proof, options: argparse.Namespace) -> bool:
    """Run the modules in turn until the time is over, print what they did, and save it."""
    files = list(dict.fromkeys(map(file_of, proof.modules)))
    found, rounds = _rounds(proof, files, options)
    whole = total(found.values())
    silent = [file.stem for file, counts in found.items() if not counts.passed and not counts.failed]
    for failure in whole.failures:
        sys.stdout.write(f"failed: {failure}\n")
    for name in silent:
        sys.stdout.write(f"no test ran: {name}\n")
    words = f"{whole.passed:,} tests passed, {whole.failed} failed, {whole.skipped:,} skipped"
    sys.stdout.write(f"{proof.name}: {words}, {whole.examples:,} examples, {rounds} rounds, {whole.seconds:.0f} s\n")
    figures = {"sentence": proof.sentence, "rounds": rounds, **asdict(whole), "silent": silent}
    if proof.name == "threats":
        figures["threats"] = {each.name: _counts(each.modules, found) for each in threats()}
    saved.save(options.save, f"proof-{proof.name}", figures, {"svc-pg": __version__}, module="tests.proof")
    return not whole.failed and not silent


def _rounds(proof: Proof, files: Sequence[Path], options: argparse.Namespace) -> tuple[dict[Path, Counts], int]:
    """The counts of each file, and the number of rounds, of which the last one may have been broken off."""
    first = random.randrange(2**32) if options.seed is None else options.seed
    ends = time.monotonic() + 60 * options.minutes
    server = [] if options.postgres is None else [f"--postgres={options.postgres}"]
    found: dict[Path, Counts] = defaultdict(Counts)
    for number in count():
        for file in files:
            if number and time.monotonic() > ends:
                return found, number
            counts = run(file, seed=first + number, options=server)
            sys.stderr.write(f"{proof.name}: {file.stem}, seed {first + number}: {counts.passed} passed\n")
            found[file].add(counts)
        if time.monotonic() > ends:
            return found, number + 1
    raise AssertionError


def _counts(modules: Sequence[str], found: dict[Path, Counts]) -> dict[str, int]:
    whole = total(found[file] for file in {file_of(module) for module in modules})
    return {"passed": whole.passed, "failed": whole.failed, "examples": whole.examples}


if __name__ == "__main__":
    sys.exit(main())

"""Try mutants, several at a time, each in a copy of the project that is free."""

import sys
import time
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Final

from tests.proof.mutation import python_faults, sql_faults
from tests.proof.mutation.copies import Copy, copied, project_files
from tests.proof.mutation.mutants import Mutant, is_broken
from tests.proof.mutation.outcomes import Outcomes
from tests.proof.runs import ROOT

_EQUIVALENT: Final = Path(__file__).with_name("equivalent.toml")


def all_mutants() -> Iterator[Mutant]:
    """Those of the whole project, without the ones that equivalent.toml names."""
    known = {(each["file"], each["line"], each["after"]) for each in equivalent()}
    for file in filter(is_broken, project_files()):
        source = (ROOT / file).read_bytes()
        lines = source.decode().splitlines()
        for mutant in mutants_of(file, source):
            if (file, lines[mutant.line - 1].strip(), mutant.after) not in known:
                yield mutant


def mutants_of(file: str, source: bytes) -> Iterator[Mutant]:
    """The mutants of a file."""
    return python_faults.faults(file, source) if file.endswith(".py") else sql_faults.faults(file, source)


def equivalent() -> Sequence[Mapping[str, str]]:
    """The faults that change nothing that a test could see: file, text of the line, text after it, reason."""
    found: dict[str, Any] = tomllib.loads(_EQUIVALENT.read_text(encoding="utf-8"))
    return [dict(each) for each in found["mutant"]]


def try_all(
    mutants: Iterable[Mutant],
    tests_of: Callable[[Mutant], Sequence[str]],
    outcomes: Outcomes,
    *,
    processes: int,
    ends: float,
    seconds: float,
) -> None:
    """Try mutants until the time ``ends``, which is of the monotonic clock, each for so many ``seconds`` at most."""
    with ExitStack() as copies, ThreadPoolExecutor(processes) as threads:
        free: SimpleQueue[Copy] = SimpleQueue()
        for _ in range(processes):
            free.put(copies.enter_context(copied()))

        def attempt(mutant: Mutant, tests: Sequence[str]) -> None:
            copy = free.get()
            try:
                outcome, reason = copy.try_out(mutant, tests, seconds)
            finally:
                free.put(copy)
            outcomes.note(mutant, outcome)
            sys.stderr.write(f"{outcome}: {mutant} ({reason or f'{len(tests)} tests'})\n")

        running: list[Future[None]] = []
        for mutant in mutants:
            if time.monotonic() > ends:
                break
            running.append(threads.submit(attempt, mutant, tests_of(mutant)))
            if len(running) >= processes:
                running.pop(0).result()
        for each in running:
            each.result()

"""Private copies of the project, in which a fault does no harm, and the tests that run in them."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from tests.proof.mutation.mutants import Mutant
from tests.proof.mutation.outcomes import Outcome
from tests.proof.mutation.processor import wait_for
from tests.proof.runs import ROOT

_INSIDE: Final = Path(__file__).with_name("inside")
_PASSED: Final = 0
_NONE_CHOSEN: Final = 5
_FIRST_FILES: Final = 2  # in a part of their own: most faults are noticed there, and each file takes time to be read
_LONGEST_TEST: Final = 90  # seconds, after which a test fails: a fault may make it wait forever
_TO_CLEAN_UP: Final = 30  # seconds for the server to be stopped
_PYTEST: Final = (sys.executable, "-m", "pytest", "-q", "-c", "pyproject.toml", "-p", "mutation_pytest")


def project_files() -> list[str]:
    """The files of the working tree, with those that are not committed yet, relative to the project."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return sorted(name for name in listed.split("\0") if name and (ROOT / name).is_file())


@dataclass(slots=True)
class Copy:
    """A copy of the project in ``folder``. One mutant at a time is tried in it."""

    folder: Path
    tried: int = 0

    def environment(self, **more: str) -> dict[str, str]:
        """The variables with which Python imports the copy, wherever it runs, without options for other tests."""
        outer = {name: value for name, value in os.environ.items() if not name.startswith(("MUTATION_", "PYTEST_"))}
        return {**outer, "PYTHONPATH": str(_INSIDE), "MUTATION_COPY": str(self.folder), **more}

    def run(self, tests: Sequence[str], options: Sequence[str], environment: Mapping[str, str], log: Path) -> int:
        """Run tests to their end, and return pytest's exit code; the output is in the file ``log``."""
        with self._started(tests, options, environment, log) as process:
            return process.wait()

    def try_out(self, mutant: Mutant, tests: Sequence[str], seconds: float) -> tuple[Outcome, str]:
        """Run the tests on a mutant, until one fails or has no time, with a line that tells which one failed.

        They have so many ``seconds`` of the processor, with their servers and programs, whatever else the machine does.
        """
        if not tests:
            return "survived", "no test reaches it"
        with self._broken(mutant):
            for part in _parts(tests):
                outcome, reason, used = self._tried(part, seconds)
                if outcome != "survived":
                    return outcome, reason
                seconds -= used
        return "survived", ""

    @contextmanager
    def _broken(self, mutant: Mutant) -> Iterator[None]:
        file = self.folder / mutant.file
        source, times = file.read_bytes(), file.stat()
        self.tried += 1
        later = times.st_mtime_ns + self.tried * 10**9  # a second of its own: bytecode is kept by time and size
        try:
            file.write_bytes(mutant.applied(source))
            os.utime(file, ns=(times.st_atime_ns, later))
            yield
        finally:
            file.write_bytes(source)
            os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))

    def _tried(self, tests: Sequence[str], seconds: float) -> tuple[Outcome, str, float]:
        """The outcome, its reason, and the seconds that it took."""
        chosen, log = self.folder / ".chosen", self.folder / ".log"
        chosen.write_text("".join(f"{test}\n" for test in tests), encoding="utf-8")
        options = ("-x", "-n", "0", f"--timeout={_LONGEST_TEST}", "-p", "no:cacheprovider")
        environment = self.environment(MUTATION_TESTS=str(chosen))
        with self._started(_files(tests), options, environment, log) as process:
            used = wait_for(process, seconds)
            code = process.returncode
        if code is None or code < 0:  # somebody else has ended it
            return "unfinished", "", used
        return ("survived" if code in (_PASSED, _NONE_CHOSEN) else "noticed"), _reason(log, code), used

    @contextmanager
    def _started(
        self, tests: Sequence[str], options: Sequence[str], environment: Mapping[str, str], log: Path
    ) -> Iterator["subprocess.Popen[bytes]"]:
        with log.open("wb") as output:
            process = subprocess.Popen(
                [*_PYTEST, *options, *tests],
                cwd=self.folder,
                env=dict(environment),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        try:
            yield process
        finally:
            _end(process)


def _end(process: "subprocess.Popen[bytes]") -> None:
    """End a run, and what it has started; it stops its server itself, if it can."""
    if process.poll() is None:
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(_TO_CLEAN_UP)
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return
    process.wait()


def _files(tests: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(test.partition("::")[0] for test in tests))


def _parts(tests: Sequence[str]) -> Iterator[Sequence[str]]:
    """The tests of the first files, then all others."""
    first = _files(tests)[:_FIRST_FILES]
    parts: tuple[list[str], list[str]] = ([], [])
    for test in tests:
        parts[test.partition("::")[0] not in first].append(test)
    yield from filter(None, parts)


def _reason(log: Path, code: int) -> str:
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    found = [line for line in lines if line.startswith(("FAILED ", "ERROR tests/"))] or lines[-1:]
    return "" if code in (_PASSED, _NONE_CHOSEN) else found[0] if found else f"exit code {code}"


@contextmanager
def copied() -> Iterator[Copy]:
    """Copy the project; leaving removes the copy."""
    with TemporaryDirectory(prefix="svc-pg-") as name:
        folder = Path(name)
        for file in project_files():
            target = folder / file
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / file, target)
        folder.chmod(0o755)  # servers have an account of their own
        yield Copy(folder)

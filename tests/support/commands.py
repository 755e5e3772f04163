"""Run the command line as a user does: as a process of its own, in an empty folder."""

import atexit
import importlib
import json
import os
import pkgutil
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any, Final

PROGRAM = Path(sys.executable).with_name("svc-pg")
FORKING: Final = Path(__file__).with_name("forking.py")
LATE: Final = ("jsonschema", "typer._adapters", "typer.rich_utils", str(Path(__file__).with_name("compiling.py")))
"""Modules that most commands import when they run, and a file that compiles the templates."""
LIMIT_SECONDS: Final = 60


def environment(**variables: str) -> dict[str, str]:
    """This process's environment with these variables, but without those that name a database or configure svc-pg.

    Programs keep their bytecode, also if the tests themselves keep none: compiling takes a fifth of a start.
    """
    foreign = ("SVC_", "PG", "DATABASE_URL", "PYTHONDONTWRITEBYTECODE")
    own = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
    return own | {"COLUMNS": "120"} | variables


def heed_hangups() -> None:
    """For ``preexec_fn``: make a program heed SIGHUP, also if the tests themselves ignore it, as under nohup."""
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def program(
    *arguments: str, folder: Path, variables: Mapping[str, str] | None = None
) -> "subprocess.CompletedProcess[str]":
    """Run one command to its end, as a shell starts it."""
    return subprocess.run(
        [PROGRAM, *arguments],
        cwd=folder,
        env=environment(**(variables or {})),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=LIMIT_SECONDS,
        check=False,
    )


def svc_pg(
    *arguments: str, folder: Path, variables: Mapping[str, str] | None = None, read: bytes = b""
) -> "subprocess.CompletedProcess[str]":
    """Run one command to its end, in a process forked from one that has imported the command line.

    Values fixed at an import, for example the width of a terminal, are fixed already: use ``program`` to vary them.
    """
    command = [str(PROGRAM), *arguments]
    return forked("svc_pg.cli:main", command, _modules(), folder=folder, variables=variables, read=read)


def forked(
    function: str,
    command: Sequence[str],
    modules: Sequence[str],
    *,
    folder: Path,
    variables: Mapping[str, str] | None = None,
    read: bytes = b"",
) -> "subprocess.CompletedProcess[str]":
    """Run ``module:function``, or without one a script, in a process forked from one that has imported the modules."""
    with (
        TemporaryFile() as given,
        TemporaryFile("w+", encoding="utf-8") as output,
        TemporaryFile("w+", encoding="utf-8") as errors,
    ):
        given.write(read)
        given.seek(0)
        files = [file.fileno() for file in (given, output, errors)]
        with _forked(function, command, modules, folder=folder, variables=variables, files=files) as process:
            code = process.wait()
        output.seek(0)
        errors.seek(0)
        return subprocess.CompletedProcess(command, code, output.read(), errors.read())


class Process:
    """A forked process, with the part of ``subprocess.Popen`` that tests use."""

    def __init__(self, report: IO[bytes], arguments: Sequence[str]) -> None:
        self.pid = int(report.readline())
        self.stdout: IO[Any] | None = None
        self.stderr: IO[Any] | None = None
        self.returncode: int | None = None
        self._report = report
        self._arguments = arguments

    def poll(self) -> int | None:
        if self.returncode is None and select.select([self._report], [], [], 0)[0]:
            self.returncode = int(self._report.readline())
        return self.returncode

    def wait(self, timeout: float = LIMIT_SECONDS) -> int:
        select.select([self._report], [], [], timeout)
        code = self.poll()
        if code is None:
            raise subprocess.TimeoutExpired(self._arguments, timeout)
        return code

    def send_signal(self, number: signal.Signals) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


@contextmanager
def running(
    *arguments: str,
    folder: Path,
    variables: Mapping[str, str] | None = None,
    stdout: IO[Any] | int | None = None,
    stderr: IO[Any] | int | None = None,
    text: bool = False,
) -> Iterator[Process]:
    """Enter to start a command, in a process as of ``svc_pg``; leaving kills it.

    Its outputs are those of ``subprocess.Popen``.
    """
    with ExitStack() as ours, ExitStack() as theirs:
        pipes: list[IO[Any] | None] = []
        files = [os.open(os.devnull, os.O_RDONLY)]
        theirs.callback(os.close, files[0])
        for number, output in ((1, stdout), (2, stderr)):
            pipe = None
            if output == subprocess.PIPE:
                end, number = os.pipe()
                theirs.callback(os.close, number)
                pipe = ours.enter_context(os.fdopen(end, "r" if text else "rb", encoding="utf-8" if text else None))
            elif output == subprocess.STDOUT:
                number = files[1]
            elif output is not None:
                number = output if isinstance(output, int) else output.fileno()
            pipes.append(pipe)
            files.append(number)
        command = [str(PROGRAM), *arguments]
        with _forked(
            "svc_pg.cli:main", command, _modules(), folder=folder, variables=variables, files=files
        ) as process:
            theirs.close()
            process.stdout, process.stderr = pipes
            yield process


@contextmanager
def _forked(
    function: str,
    command: Sequence[str],
    modules: Sequence[str],
    *,
    folder: Path,
    variables: Mapping[str, str] | None,
    files: Sequence[int],
) -> Iterator[Process]:
    """Enter to start a command, with these as standard files; leaving kills it."""
    request = {
        "arguments": command,
        "folder": str(folder),
        "environment": environment(**(variables or {})),
        "function": function,
    }
    end, theirs = os.pipe()
    with os.fdopen(end, "rb", buffering=0) as report:
        try:
            socket.send_fds(_forking(*modules), [json.dumps(request).encode() + b"\n"], [*files, theirs])
        finally:
            os.close(theirs)
        process = Process(report, command)
        try:
            yield process
        finally:
            process.kill()
            process.wait()


@cache
def _modules() -> list[str]:
    """The modules of the command line, with every command."""
    package = importlib.import_module("svc_pg.cli")
    found = [module.name for module in pkgutil.walk_packages(package.__path__, "svc_pg.cli.")]
    return [package.__name__, *found, *LATE]


@cache
def _forking(*modules: str) -> socket.socket:
    """The socket to a process that has imported the modules."""
    ours, theirs = socket.socketpair()
    number = theirs.fileno()
    with theirs:
        process = subprocess.Popen(
            [sys.executable, "-P", FORKING, str(number), *modules],  # -P: the modules here are none of a library
            env=environment(),
            stdin=subprocess.DEVNULL,
            pass_fds=[number],
            process_group=0,
            preexec_fn=heed_hangups,
        )

    def end() -> None:
        ours.close()
        process.wait()

    atexit.register(end)
    return ours

"""Run the command line as a user does: as a process of its own, in an empty folder."""

import atexit
import importlib
import json
import os
import pkgutil
import select
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

PROGRAM = Path(sys.executable).with_name("svc-pg")
FORKING: Final = Path(__file__).with_name("forking.py")
LATE: Final = ("jsonschema", "typer._adapters", "typer.rich_utils", str(Path(__file__).with_name("compiling.py")))
"""Most commands import these modules, or compile templates, when they run."""
LIMIT_SECONDS: Final = 60


def environment(**variables: str) -> dict[str, str]:
    """This process's environment without what names a database or configures svc-pg, and with these variables.

    Programs keep their bytecode, also if the tests themselves keep none: to compile takes a fifth of a start.
    """
    foreign = ("SVC_", "PG", "DATABASE_URL", "PYTHONDONTWRITEBYTECODE")
    own = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
    return own | {"COLUMNS": "120"} | variables


def heed_hangups() -> None:
    """For ``preexec_fn``: let a program heed SIGHUP, also if the tests themselves ignore it, as under nohup."""
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

    What is decided at an import, such as the width of a terminal, is decided already: see ``program`` for that.
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
    with TemporaryDirectory(prefix="svc-pg-") as name:
        files = [Path(name, each) for each in ("input", "output", "errors")]
        for file, content in zip(files, (read, b"", b""), strict=True):
            file.write_bytes(content)
        request = {
            "arguments": command,
            "folder": str(folder),
            "environment": environment(**(variables or {})),
            "files": [str(file) for file in files],
            "function": function,
        }
        code = _answer(_forking(*modules), json.dumps(request))
        output, errors = (file.read_text(encoding="utf-8") for file in files[1:])
    return subprocess.CompletedProcess(command, code, output, errors)


@cache
def _modules() -> list[str]:
    """The command line with every command, wherever it is imported."""
    package = importlib.import_module("svc_pg.cli")
    found = [module.name for module in pkgutil.walk_packages(package.__path__, "svc_pg.cli.")]
    return [package.__name__, *found, *LATE]


@cache
def _forking(*modules: str) -> "subprocess.Popen[str]":
    process = subprocess.Popen(
        [sys.executable, "-P", FORKING, *modules],  # -P: the modules here are none that a library may find
        env=environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        process_group=0,
    )
    atexit.register(process.communicate)  # which ends its input, and so the process
    return process


def _answer(process: "subprocess.Popen[str]", request: str) -> int:
    assert process.stdin is not None
    assert process.stdout is not None
    print(request, file=process.stdin, flush=True)
    ready, _, _ = select.select([process.stdout], [], [], LIMIT_SECONDS)
    if not ready:
        os.killpg(process.pid, 9)  # the command too
        _forking.cache_clear()
        raise subprocess.TimeoutExpired(request, LIMIT_SECONDS)
    return int(process.stdout.readline())

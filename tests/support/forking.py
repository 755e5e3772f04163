"""A process that has imported modules, or run files, once, and forks for every command.

    python -P forking.py SOCKET MODULE|FILE ...

A command takes a tenth of the CPU time of a new interpreter, and still has a process of its own. The process receives a
line of JSON for each command, with the arguments of ``become``, and four files: the standard ones, and one for reports.
It reports the id of the forked process, and at its end the exit code, as ``subprocess`` gives it.
"""

import atexit
import gc
import importlib
import json
import os
import runpy
import select
import signal
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

LONGEST = 1 << 16
"""The bytes of one read."""


def main() -> None:
    """Fork until the socket is closed. In a forked process this returns, and the command ends as a program does."""
    exit_codes: list[int] = []
    atexit.register(leave, exit_codes)  # the first that is registered is the last that runs
    number, names = int(sys.argv[1]), sys.argv[2:]
    for name in names:
        if name.endswith(".py"):
            runpy.run_path(name)
        else:
            importlib.import_module(name)
    gc.freeze()  # or a collection in a forked process would copy every page
    commands = socket.socket(fileno=number)
    woken, wake = socket.socketpair()
    wake.settimeout(0)
    signal.set_wakeup_fd(wake.fileno())
    signal.signal(signal.SIGCHLD, lambda *_: None)  # or no child would wake
    reports: dict[int, int] = {}  # the file of each process that is under way
    while True:
        ready, _, _ = select.select([commands, woken], [], [])
        if woken in ready:
            woken.recv(LONGEST)
            for child in [*reports]:
                ended, status = os.waitpid(child, os.WNOHANG)
                if ended:
                    report = reports.pop(child)
                    tell(report, os.waitstatus_to_exitcode(status))
                    os.close(report)
        if commands not in ready:
            continue
        message, files = received(commands)
        if not message:
            return
        *standard, report = files
        child = os.fork()
        if child == 0:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            for each in (commands, woken, wake):
                each.close()
            for file in (report, *reports.values()):
                os.close(file)
            with noting(exit_codes):
                become(standard, **json.loads(message))
            return
        reports[child] = report
        tell(report, child)
        for file in standard:
            os.close(file)


def received(commands: socket.socket) -> tuple[bytes, list[int]]:
    """A line with its files; an empty line if the socket is closed."""
    line, files, _, _ = socket.recv_fds(commands, LONGEST, 4)
    while line and not line.endswith(b"\n"):
        more = commands.recv(LONGEST)
        line = line + more if more else b""
    return line, files


def tell(report: int, number: int) -> None:
    """Write a line to whoever waits for it, if somebody still does."""
    with suppress(BrokenPipeError):
        os.write(report, b"%d\n" % number)


@contextmanager
def noting(exit_codes: list[int]) -> Iterator[None]:
    """Append the exit code that the block gives the process."""
    try:
        yield
    except SystemExit as error:
        exit_codes.append(error.code if isinstance(error.code, int) else int(error.code is not None))
        raise
    except Exception:
        exit_codes.append(1)
        raise
    exit_codes.append(0)


def leave(exit_codes: list[int]) -> None:
    """End a forked process without the teardown of its modules, which would copy most of its memory."""
    if exit_codes:
        gc.collect()  # for its warnings, for example of a coroutine that was never awaited
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(exit_codes[0])


def become(files: list[int], arguments: list[str], folder: str, environment: dict[str, str], function: str) -> None:
    """Run ``module:function``, or without one the script in the first argument, with these standard files."""
    sys.argv = arguments
    sys.orig_argv = [sys.executable, *arguments]
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    for target, file in enumerate(files):
        os.dup2(file, target)
        os.close(file)
    if function:
        module, _, name = function.partition(":")
        sys.exit(getattr(importlib.import_module(module), name)())
    sys.path.insert(0, folder)
    runpy.run_path(arguments[0], run_name="__main__")


if __name__ == "__main__":
    main()

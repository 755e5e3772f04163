"""A process that has imported modules, or run files, once, and forks for every command that it is sent.

    python -P forking.py SOCKET MODULE|FILE ...

A command so takes a tenth of the processor's time that a new interpreter takes, in a process of its own all the same.
Received: a message of JSON for each, with the arguments of ``become``, and four files: the standard ones, and one to
report to. Written to that: the id of the process, and at its end the exit code, as ``subprocess`` gives it.
"""

import atexit
import gc
import importlib
import json
import os
import runpy
import select
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager

LONGEST = 1_000_000
"""Bytes of a message."""


def main() -> None:
    """Fork until the socket is closed. In a forked process this returns, and the command ends as it would by itself."""
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
    running: dict[int, tuple[int, int]] = {}  # by a file that can be read once the process has ended
    while True:
        ready, _, _ = select.select([number, *running], [], [])
        for ended in running.keys() & {*ready}:
            child, report = running.pop(ended)
            _, status = os.waitpid(child, 0)
            os.write(report, b"%d\n" % os.waitstatus_to_exitcode(status))
            os.close(report)
            os.close(ended)
        if number not in ready:
            continue
        message, files, _, _ = socket.recv_fds(commands, LONGEST, 4)
        if not message:
            return
        *standard, report = files
        child = os.fork()
        if child == 0:
            commands.close()
            for each in (report, *running, *(report for _, report in running.values())):
                os.close(each)
            with noting(exit_codes):
                become(standard, **json.loads(message))
            return
        running[os.pidfd_open(child)] = child, report
        os.write(report, b"%d\n" % child)
        for each in standard:
            os.close(each)


@contextmanager
def noting(exit_codes: list[int]) -> Iterator[None]:
    """Add the exit code that the block gives the process."""
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
    """Spare a forked process to take down all the modules, which would copy most of its memory."""
    if exit_codes:
        gc.collect()  # for what it may say, as of a coroutine that nobody awaited
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(exit_codes[0])


def become(files: list[int], arguments: list[str], folder: str, environment: dict[str, str], function: str) -> None:
    """Run ``module:function``, or without one the script that comes first, with these files as standard ones."""
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

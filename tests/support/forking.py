"""A process that has imported modules, or run files, once, and forks for every command that it reads from its input.

    python -P forking.py MODULE|FILE ...

A command so takes a tenth of the processor's time that a new interpreter takes, in a process of its own all the same.
Read: a line of JSON for each, with the arguments of ``become``. Written: the exit code, as ``subprocess`` gives it.
"""

import atexit
import gc
import importlib
import json
import os
import runpy
import sys
from collections.abc import Iterator
from contextlib import contextmanager


def main() -> None:
    """Fork until the input ends. In a forked process this returns too, and the command ends as it would by itself."""
    exit_codes: list[int] = []
    atexit.register(leave, exit_codes)  # the first that is registered is the last that runs
    for name in sys.argv[1:]:
        if name.endswith(".py"):
            runpy.run_path(name)
        else:
            importlib.import_module(name)
    gc.freeze()  # or a collection in a forked process would copy every page
    while line := sys.stdin.readline():
        child = os.fork()
        if child == 0:
            with noting(exit_codes):
                become(**json.loads(line))
            return
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)  # noqa: T201 - what the program is for


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


def become(arguments: list[str], folder: str, environment: dict[str, str], files: list[str], function: str) -> None:
    """Run ``module:function``, or without one the script that comes first, with these files as standard ones."""
    sys.argv = arguments
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    for target, (name, mode) in enumerate(zip(files, (os.O_RDONLY, os.O_WRONLY, os.O_WRONLY), strict=True)):
        file = os.open(name, mode)
        os.dup2(file, target)
        os.close(file)
    if function:
        module, _, name = function.partition(":")
        sys.exit(getattr(importlib.import_module(module), name)())
    sys.path.insert(0, folder)
    runpy.run_path(arguments[0], run_name="__main__")


if __name__ == "__main__":
    main()

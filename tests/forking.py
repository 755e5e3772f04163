"""A process that has imported the command line once, and forks for every command that it reads from its input.

A command so takes a hundredth of the processor's time that a new interpreter takes, in a process of its own all the
same. Read: a line of JSON for each, with arguments, folder, environment, and the files to read from and write to.
Written: a line with the exit code, as ``subprocess`` gives it.
"""

import gc
import importlib
import json
import os
import pkgutil
import sys

COMMANDS = importlib.import_module("svc_pg.cli")


def main() -> None:
    """Fork until the input ends. In a forked process this returns too, and the command ends as it would by itself."""
    for module in pkgutil.walk_packages(COMMANDS.__path__, "svc_pg.cli."):
        importlib.import_module(module.name)
    gc.freeze()  # or a collection in a forked process would copy every page
    while line := sys.stdin.readline():
        child = os.fork()
        if child == 0:
            _become(**json.loads(line))
            COMMANDS.main()
            return
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)  # noqa: T201 - what the program is for


def _become(arguments: list[str], folder: str, environment: dict[str, str], files: list[str]) -> None:
    sys.argv = arguments
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    for target, (name, mode) in enumerate(zip(files, (os.O_RDONLY, os.O_WRONLY, os.O_WRONLY), strict=True)):
        file = os.open(name, mode)
        os.dup2(file, target)
        os.close(file)


if __name__ == "__main__":
    main()

"""Follow the log with an export that is killed again and again, then goes on until the input ends.

    python -P killed_export.py TIMES OPTION ...

It writes a line after the last kill, and the exit code of the last run, which SIGTERM ends. All runs are forked from
one process that has imported the command line. The growth of log.ndjson tells when to kill.
"""

import importlib
import os
import random
import signal
import sys
import time
from pathlib import Path

OUTPUT = Path("log.ndjson")
MODULES = ("app", "export", "export_following")


def main() -> None:
    times, *options = sys.argv[1:]
    for module in MODULES:
        importlib.import_module(f"svc_pg.cli.{module}")
    chance = random.Random(7)
    for _ in range(int(times)):
        child, size = started(options), written()
        deadline = time.monotonic() + 10
        while written() == size and time.monotonic() < deadline:
            time.sleep(0.001)
        time.sleep(chance.random() * 0.02)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    print("killed", flush=True)  # noqa: T201 - what the program is for
    last = started(options)
    sys.stdin.readline()
    os.kill(last, signal.SIGTERM)
    print(os.waitstatus_to_exitcode(os.waitpid(last, 0)[1]), flush=True)  # noqa: T201


def started(options: list[str]) -> int:
    if child := os.fork():
        return child
    sys.argv = ["svc-pg", "export", "--follow", "--cursor", "cursor", "--to", str(OUTPUT), *options]
    importlib.import_module("svc_pg.cli").main()
    raise AssertionError("main exits")


def written() -> int:
    return OUTPUT.stat().st_size if OUTPUT.exists() else 0


if __name__ == "__main__":
    main()

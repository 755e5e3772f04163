"""The common parts of the benchmarks' command lines."""

import argparse
import signal
import sys
from pathlib import Path
from tempfile import gettempdir
from typing import Final

import psycopg
from rich.console import Console

from svc_pg import __version__
from tests.benchmarks import saved

_WIDTH: Final = 132

words = Console(stderr=True, highlight=False)


def parser(name: str, description: str | None) -> argparse.ArgumentParser:
    """The options of each benchmark."""
    made = argparse.ArgumentParser(
        prog=f"python -m tests.benchmarks.{name}",
        description=description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument("--postgres", metavar="DIR", help="folder with initdb and postgres; else as the tests")
    saved.add_option(made)
    return made


def drawing_parser(name: str, description: str | None) -> argparse.ArgumentParser:
    """The options of each benchmark that draws a picture."""
    made = parser(name, description)
    made.add_argument("--quick", action="store_true", help="in a fraction of the time, and less exact")
    made.add_argument("--json", action="store_true", help="one JSON object instead of tables")
    made.add_argument(
        "--picture",
        metavar="FILE",
        type=Path,
        default=Path(gettempdir(), f"svc-pg-{name}.svg"),
        help="where to write the picture (SVG; default: %(default)s)",
    )
    return made


def end_on_sigterm() -> None:
    """Make SIGTERM unwind, so that all servers are stopped."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))


def output() -> Console:
    """The console of the result: as wide as the terminal, or without one as wide as the tables."""
    return Console(highlight=False, width=None if sys.stdout.isatty() else _WIDTH)


def versions(conninfo: str) -> dict[str, str]:
    """The versions of the server and of svc-pg."""
    with psycopg.connect(conninfo) as conn:
        return {"PostgreSQL": conn.info.parameter_status("server_version") or "?", "svc-pg": __version__}

"""Run every benchmark beside peers within a time, and list the ratios: first those where svc-pg loses.

Each runs as its own command does, and saves its own figures. Peers that this machine lacks are left out with a reason.
The exit code is 1 if a benchmark failed, had none of its servers, or was stopped by the time.
"""

import argparse
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from rich.table import Table

from tests.benchmarks import command, saved
from tests.benchmarks.command import words
from tests.benchmarks.peer_ratios import READ, Ratio

RUNS: Final[Mapping[str, Sequence[str]]] = {
    "delivery-peers": ("delivery", "--only", "peers"),
    "capture": ("capture",),
    "capture-sqlite": ("capture", "--database", "sqlite"),
    "capture-mysql": ("capture", "--database", "mysql"),
}
"""The arguments of each saved file's benchmark."""
_GRACE: Final = 60.0  # seconds to stop the servers


def main() -> int:
    command.end_on_sigterm()
    options = _options()
    ends = time.monotonic() + 60 * options.minutes
    with TemporaryDirectory() if options.save is None else nullcontext(options.save) as folder:
        complete, found = True, list[Ratio]()
        for name in RUNS:
            is_whole = _run(name, options, Path(folder), ends)
            complete &= is_whole
            if is_whole:
                found += READ[name](saved.load(name, Path(folder))["figures"])
    _show(sorted(found, key=lambda ratio: -ratio.times))
    return 0 if complete and found else 1


def _options() -> argparse.Namespace:
    parser = command.parser("all", __doc__)
    parser.add_argument("--minutes", type=float, default=30, help="of all together (default: %(default)s)")
    parser.add_argument("--quick", action="store_true", help="in a fraction of the time, and less exact")
    return parser.parse_args()


def _run(name: str, options: argparse.Namespace, folder: Path, ends: float) -> bool:
    """Run one, unless the time is over. True if it came to its end, also without peers that a machine lacks."""
    left = ends - time.monotonic()
    if left <= 0:
        words.print(f"without {name}: no time was left")
        return False
    subject, *more = RUNS[name]
    given = [f"--save={folder}", *(["--quick"] if options.quick else [])]
    given += [f"--postgres={options.postgres}"] if options.postgres else []
    words.print(f"{name}: at most {left / 60:.1f} minutes")
    process = subprocess.Popen(
        [sys.executable, "-m", f"tests.benchmarks.{subject}", *more, *given], stdout=subprocess.DEVNULL
    )
    try:
        code = process.wait(left)
    except subprocess.TimeoutExpired:
        words.print(f"without {name}: it was stopped, as the time was over")
        return False
    finally:
        _stop(process)
    if code:
        words.print(f"without {name}: it ended with {code}")
    return code == 0


def _stop(process: "subprocess.Popen[bytes]") -> None:
    """End it with its servers, if it still runs."""
    process.terminate()
    try:
        process.wait(_GRACE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _show(ratios: Sequence[Ratio]) -> None:
    lost = sum(ratio.times > 1 for ratio in ratios)
    table = Table(
        title=f"svc-pg, times the peer: more than 1 is worse, in {lost} of {len(ratios)}", title_justify="left"
    )
    for heading in ("times", "peer", "of what"):
        table.add_column(heading, justify="right" if heading == "times" else "left", no_wrap=True)
    for ratio in ratios:
        table.add_row(f"{ratio.times:.2f}", ratio.peer, ratio.subject)
    command.output().print(table)


if __name__ == "__main__":
    sys.exit(main())

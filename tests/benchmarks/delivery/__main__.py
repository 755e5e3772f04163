"""Measure sends and deliveries of webhooks by the clock and by CPU time, latency and claims, beside job queues.

All candidates take turns in one run, on one server with PostgreSQL's own settings: fsync and synchronous_commit are on,
because the cost of a NOTIFY in every transaction is the wait of one commit for another. The server, the clients, the
worker and the receiver share the machine.
"""

import json
import os
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

import psycopg

from tests.benchmarks import command, installed, saved
from tests.benchmarks.command import words
from tests.benchmarks.delivery import claiming, latency, peers, pipeline, rates, report, sending
from tests.benchmarks.delivery.figures import Figures
from tests.benchmarks.delivery.goals import goals
from tests.benchmarks.delivery.picture import svg
from tests.benchmarks.delivery.sizes import FULL, QUICK, Size
from tests.benchmarks.delivery.stage import Server, prepared
from tests.support import postgres

_SUBTITLE: Final = "PostgreSQL", "svc-pg", "fsync", "synchronous_commit", "cores", "load average"
_SECTIONS: Final[dict[str, Callable[[Figures, Server, Size], dict[str, str] | None]]] = {
    "send": sending.measure,
    "send_many": sending.measure_batches,
    "pipeline": pipeline.measure,
    "latency": latency.measure,
    "load": latency.measure_load,
    "claim": claiming.measure,
    "memory": pipeline.measure_memory,
    "fairness": pipeline.measure_fairness,
    "rates": rates.measure,
    "peers": peers.measure,
}
_SETTINGS: Final = "fsync", "synchronous_commit", "full_page_writes", "shared_buffers", "max_wal_size"


def main() -> int:
    """Run the command line; returns the exit code."""
    command.end_on_sigterm()
    parser = command.drawing_parser(
        "delivery",
        "What webhooks cost, and how fast they arrive. nginx is the receiver if it is installed. The peers are those of"
        " the extra [bench], and two of Node.js, which npm fetches with Node.js itself; a peer that is"
        " missing is left out. The processor's time of PostgreSQL needs a server on this machine.",
    )
    parser.add_argument("--only", nargs="+", choices=_SECTIONS, default=_SECTIONS, help="these sections")
    arguments = parser.parse_args()
    size = QUICK if arguments.quick else FULL
    figures = Figures()
    load = os.getloadavg()
    try:
        with postgres.server(arguments.postgres, settings=postgres.DURABLE) as maintenance:
            versions = _versions(maintenance)
            circumstances = versions | _settings(maintenance)
            with prepared(maintenance) as server:
                circumstances |= _measure(figures, server, size, arguments.only, arguments.save, versions)
    except KeyboardInterrupt:
        words.print("stopped")
        return 128 + signal.SIGINT
    circumstances["load average"] = f"{load[0]:.1f} before, {os.getloadavg()[0]:.1f} after"
    subtitle = ", ".join(f"{name} {circumstances[name]}" for name in _SUBTITLE)
    arguments.picture.write_text(svg(figures, subtitle))
    words.print(f"picture: {arguments.picture}", soft_wrap=True)
    out = command.output()
    if arguments.json:
        out.print(json.dumps(report.document(figures, goals(), circumstances)), soft_wrap=True, markup=False)
        return 0
    for table in report.tables(figures, goals(), circumstances):
        out.print(table, "")
    return 0


def _measure(
    figures: Figures, server: Server, size: Size, names: Sequence[str], folder: Path | None, versions: Mapping[str, str]
) -> dict[str, str]:
    """Measure section after section while there is time. Returns each section's facts about the circumstances."""
    found: dict[str, str] = {}
    end = time.monotonic() + size.seconds
    with words.status("measuring") as status:
        for name in names:
            if time.monotonic() > end:
                words.print(f"without {name}: no time was left")
                continue
            status.update(f"measuring: {name}")
            started, before = time.monotonic(), figures.sections()
            found |= _SECTIONS[name](figures, server, size) or {}
            words.print(f"{name}: {time.monotonic() - started:.1f} s")
            own = [section for section in figures.sections() if section not in before]
            saved.save(folder, f"delivery-{name}", report.figures_of(figures, own, goals()), versions)
    return found


def _versions(maintenance: str) -> dict[str, str]:
    libraries = installed.versions("psycopg", "httptools", "uvloop", *peers.DISTRIBUTIONS)
    return command.versions(maintenance) | libraries | peers.NODE


def _settings(maintenance: str) -> dict[str, str]:
    with psycopg.connect(maintenance) as conn:
        settings = [conn.execute("select current_setting(%s)", (name,)).fetchone() for name in _SETTINGS]
    return {name: row[0] for name, row in zip(_SETTINGS, settings, strict=True) if row} | {"cores": str(os.cpu_count())}


if __name__ == "__main__":
    sys.exit(main())

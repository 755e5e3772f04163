"""Maintain, seal, purge and reconcile on schedule, as workers do each hour and minute, but as often as a soak wants.

``python -m tests.benchmarks.soak.upkeep FILE`` reads the arguments of ``Schedule`` as JSON, and ends on SIGTERM.
"""

import asyncio
import json
import logging
import signal
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import psycopg

from svc_pg import Config
from svc_pg.audit.log.audit_log import log_of
from svc_pg.audit.log.purge_report import Ages
from svc_pg.database.conninfo import Conninfo
from svc_pg.maintenance import Maintenance
from svc_pg.maintenance.repeating import Repeating
from svc_pg.maintenance.sealer import Sealer
from svc_pg.seals.keys import SealKey


@dataclass(frozen=True, slots=True)
class Schedule:
    """The seconds between two runs of each, and those for which entries are kept: fewer than a command takes."""

    conninfo: str
    config: str
    key_id: str
    key: str
    maintain: float
    seal: float
    kept: float

    def write(self, file: Path) -> None:
        """Write the argument of the program."""
        file.write_text(json.dumps(asdict(self)), encoding="utf-8")


async def main(schedule: Schedule) -> None:
    """Run all of it until SIGTERM."""
    config = Config.from_toml(Path(schedule.config))
    key = SealKey(schedule.key_id, bytes.fromhex(schedule.key))
    every = timedelta(seconds=schedule.maintain)
    maintenance = Maintenance(schedule.conninfo, config=config, every=every)
    sealer = Sealer(schedule.conninfo, key=key, every=timedelta(seconds=schedule.seal))

    def purge(conn: psycopg.Connection[Any], _: Callable[[], bool]) -> bool:
        log = log_of(conn)
        kept = Ages(timedelta(seconds=schedule.kept))
        log.run(log.purge(kept, dry_run=False, unsealed=False, all_databases=False, progress=lambda _: None))
        return True

    purging = Repeating(Conninfo.parse(schedule.conninfo), purge, name="the purge", every=every)
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, _stop, maintenance, sealer, purging)
    async with asyncio.TaskGroup() as group:
        group.create_task(maintenance.run())
        group.create_task(sealer.run())
        group.create_task(purging.run(Counter()))


def _stop(*parts: Maintenance | Sealer | Repeating) -> None:
    for part in parts:
        part.stop()


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    asyncio.run(main(Schedule(**json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")))))

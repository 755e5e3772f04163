"""The kept database, the counter of its pages, and the states of the planner's statistics."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg
from psycopg.conninfo import make_conninfo

from tests.benchmarks.command import words
from tests.proof.scale import kept
from tests.proof.scale.making import KEPT_STATISTICS
from tests.proof.scale.measuring import Counter
from tests.proof.scale.sizes import Sizes
from tests.support.long_log import STATES, Statistics, know


@dataclass(frozen=True, slots=True)
class Stage:
    """``server`` is the conninfo of the maintenance database, and ``folder`` has the configuration file."""

    sizes: Sizes
    conninfo: str
    server: str
    counter: Counter
    folder: Path

    def states(self) -> Iterator[Statistics]:
        """Each state of the statistics, for as long as the next one is not asked for; the last one is right."""
        for state in sorted(STATES, key=["never analyzed", "analyzed when small", "right"].index):
            words.print(f"statistics: {state}")
            with psycopg.connect(self.conninfo, autocommit=True) as conn:
                if state == "analyzed when small":
                    know(conn, "never analyzed")
                    [(statements,)] = conn.execute(KEPT_STATISTICS).fetchall()
                    conn.execute(statements)
                else:
                    know(conn, state)
            yield state


@contextmanager
def prepared(sizes: Sizes, folder: Path | None = None) -> Iterator[Stage]:
    """Enter to get the database, which is made if it is not there."""
    place = folder or kept.folder_of(sizes)
    with kept.database(sizes, place) as conninfo:
        server = make_conninfo(conninfo, dbname="postgres")
        with psycopg.connect(server, autocommit=True) as monitor:
            yield Stage(sizes, conninfo, server, Counter(monitor, kept.DATABASE), place)

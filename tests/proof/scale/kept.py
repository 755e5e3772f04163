"""The database of a size, made once and kept in a cache folder."""

import fcntl
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import psycopg
from psycopg.conninfo import make_conninfo

from svc_pg import schema
from tests.benchmarks.command import words
from tests.matrix import cache_folder
from tests.proof.scale.making import make
from tests.proof.scale.sizes import CONFIG, CONFIG_FILE, Sizes
from tests.support.postgres import DURABLE, kept

DATABASE: Final = "scale"
_ALL: Final = (
    *DURABLE,
    "--autovacuum=off",
    "--shared_buffers=1GB",
    "--max_wal_size=8GB",
    "--checkpoint_timeout=30min",
)
_FILLING: Final = (
    *("--fsync=off", "--synchronous_commit=off", "--full_page_writes=off", "--wal_level=minimal"),
    *("--max_wal_senders=0", "--maintenance_work_mem=512MB"),
)
_BOOT: Final = Path("/proc/sys/kernel/random/boot_id")
_COMPLETE: Final = "complete.json"
_BEGUN: Final = "begun.json"


class BusyError(Exception):
    """Another run has the database of this size."""


def folder_of(sizes: Sizes) -> Path:
    """The folder of the database."""
    return cache_folder() / "scale" / sizes.name


@contextmanager
def database(sizes: Sizes, folder: Path | None = None) -> Iterator[str]:
    """Enter to get the conninfo of the complete database: what lacks is made first, and of an older schema upgraded.

    Raises BusyError if another run has it.
    """
    place = folder or folder_of(sizes)
    place.mkdir(parents=True, exist_ok=True)
    with _locked(place):
        (place / "svc-pg.toml").write_text(CONFIG_FILE, encoding="utf-8")
        if not (place / _COMPLETE).exists():
            _complete(sizes, place)
        with kept(place / "data", settings=_ALL) as server:
            conninfo = make_conninfo(server, dbname=DATABASE)
            with psycopg.connect(conninfo) as conn:
                if schema.plan(conn, CONFIG):
                    words.print("the schema is another one; installing")
                    conn.rollback()
                    schema.install(conn, CONFIG)
            yield conninfo


@contextmanager
def _locked(place: Path) -> Iterator[None]:
    with (place / "lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise BusyError(f"another run has {place}") from error
        yield


def _complete(sizes: Sizes, place: Path) -> None:
    """Make what lacks, from where the last run was interrupted.

    A file that is written last notes the end. Nothing is flushed meanwhile, so that after a crash of the machine all is
    made anew.
    """
    begun, boot = place / _BEGUN, _BOOT.read_text(encoding="utf-8").strip()
    if not begun.exists() or json.loads(begun.read_text(encoding="utf-8")) != boot:
        shutil.rmtree(place / "data", ignore_errors=True)
        begun.write_text(json.dumps(boot), encoding="utf-8")
    # the transactions of the log count as ended, because the server has newer ones
    with kept(place / "data", settings=(*_ALL, *_FILLING), transactions=sizes.entries) as server:
        with psycopg.connect(server, autocommit=True) as conn:
            found = conn.execute("select from pg_database where datname = %s", [DATABASE]).fetchone()
            if found is None:
                conn.execute(f"create database {DATABASE}".encode())
        figures = make(make_conninfo(server, dbname=DATABASE), sizes)
    os.sync()  # the server has stopped, and written all to its files
    (place / _COMPLETE).write_text(json.dumps(figures), encoding="utf-8")


def figures_of_making(sizes: Sizes, folder: Path | None = None) -> dict[str, float]:
    """The seconds of each step of the making."""
    found: dict[str, float] = json.loads(((folder or folder_of(sizes)) / _COMPLETE).read_text(encoding="utf-8"))
    return found

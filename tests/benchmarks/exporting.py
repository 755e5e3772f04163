"""Measure an export of a whole log in each format: its time, CPU time and memory."""

import gc
import time
import tracemalloc
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import psycopg

from svc_pg import audit
from svc_pg.audit.log.export_fields import FORMATS
from tests.benchmarks.delivery import processor

LEAST_RATE: Final = 300_000
"""The goal for NDJSON, in rows a second."""


def exports(conn: psycopg.Connection[Any]) -> dict[str, dict[str, float]]:
    """For each format the rows a second, the CPU time of client and server for a row, and the bytes of a row."""
    return {form: _export(conn, form) for form in FORMATS}


def peak_of(conn: psycopg.Connection[Any]) -> float:
    """Python's peak memory in MiB for an export as NDJSON, which is slower while it is measured."""
    gc.collect()
    tracemalloc.start()
    try:
        with Path("/dev/null").open("wb") as out:
            audit.export(conn, audit.query(), format="ndjson", out=out)
        return round(tracemalloc.get_traced_memory()[1] / 2**20, 1)
    finally:
        tracemalloc.stop()


def _export(conn: psycopg.Connection[Any], form: Any) -> dict[str, float]:
    with TemporaryDirectory() as folder:
        file = Path(folder, "log")
        with file.open("wb") as out:
            start, ours, theirs = time.perf_counter(), time.process_time(), processor.seconds(conn.info.backend_pid)
            entries = audit.export(conn, audit.query(), format=form, out=out).entries
            seconds = time.perf_counter() - start
            ours, theirs = time.process_time() - ours, processor.seconds(conn.info.backend_pid) - theirs
        return {
            "rowsPerSecond": round(entries / seconds),
            "clientMicroseconds": round(ours / entries * 1e6, 2),
            "serverMicroseconds": round(theirs / entries * 1e6, 2),
            "bytes": round(file.stat().st_size / entries),
        }

"""The tables of the soak: its course, and the facts that had to hold."""

from collections.abc import Sequence
from typing import Any, Final

from tests.benchmarks.saved import load
from tests.benchmarks.tables.markdown import MISSING, measured, number, rows_of, table

_HEADINGS: Final = (
    "transactions",
    "a captured write, ms",
    "a delivery, ms",
    "a page, ms",
    "most pending",
    "oldest transaction, s",
    "all tables, MiB",
)


def course() -> str:
    """Latencies, queue and sizes by part of the time."""
    document = load("soak")
    found = document["figures"]
    parts = len(found["transactions"])
    rows = {}
    for part in range(parts):
        rows[_time(found["minutes"] * part / parts)] = [
            MISSING if found["transactions"][part] is None else f"{found['transactions'][part]:,}",
            *(_quantiles(found[f"{kind}Ms"][part]) for kind in ("capture", "delivery", "page")),
            MISSING if found["queue"][part] is None else f"{found['queue'][part]:,}",
            number(found["oldestTransaction"][part]),
            number(found["sizesMiB"]["all tables and indexes"][part]),
        ]
    return table("from", _HEADINGS, rows) + measured(document)


def facts() -> str:
    """The checks at the end."""
    verdicts = {True: ", holds", False: ", **missed**", None: ""}
    found = load("soak")["figures"]["facts"]
    return rows_of({name: f"{_written(figure)}{verdicts[is_good]}" for name, figure, is_good in found})


def _written(figure: object) -> str:
    return f"{figure:,}" if isinstance(figure, int) else str(figure)


def _time(minutes: float) -> str:
    return f"{int(minutes // 60)}:{int(minutes % 60):02}" + (f":{minutes * 60 % 60:02.0f}" if minutes % 1 else "")


def _quantiles(found: Sequence[Any] | None) -> str:
    return MISSING if found is None else "{} ({}, {})".format(*map(number, found))

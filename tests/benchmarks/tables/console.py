"""The tables of the console's pages, and of the effect of its readers on the application beside it."""

import re
from collections.abc import Mapping
from typing import Final

from tests.benchmarks.saved import load
from tests.benchmarks.tables.markdown import measured, number, table

_ID: Final = re.compile(r"(?<=/)([0-9a-f-]{36}|[0-9]+)(?=/|$)")


def pages() -> str:
    """Milliseconds of each page, and its slowest filter."""
    document = load("pages")
    found: dict[str, dict[str, Mapping[str, float]]] = {}
    for address, times in document["figures"]["pages"].items():
        path, _, query = address.partition("?")
        named = {part.partition("=")[0] for part in query.split("&") if part}
        found.setdefault(_ID.sub("…", path) or "/", {})[", ".join(sorted(named))] = times
    rows = {}
    for path, kinds in sorted(found.items(), key=lambda page: -_slowest(page[1])[1]):
        name, slowest = _slowest(kinds)
        medians = sorted(times["p50Ms"] for times in kinds.values())
        spread = " to ".join(dict.fromkeys(f"{each:.0f}" for each in (medians[0], medians[-1])))
        rows[f"`{path}`"] = [spread, f"{slowest:.0f}", name or "no filter"]
    columns = ["medians of its filters", "95th percentile of the slowest", "which is"]
    return table("milliseconds", columns, rows) + measured(document)


def _slowest(kinds: Mapping[str, Mapping[str, float]]) -> tuple[str, float]:
    return max(((name, times["p95Ms"]) for name, times in kinds.items()), key=lambda each: each[1])


def readers() -> str:
    """Milliseconds of an application's own requests while 50 people read the console."""
    document = load("pages")
    rows = {}
    for place, found in document["figures"]["readers"].items():
        for name, words in (("without", "nobody reads"), ("with", "50 people read")):
            rows[f"the console {place}; {words}"] = [number(found[name][share]) for share in ("p50Ms", "p95Ms")]
        rows[f"the console {place}; ratio"] = [f"{found['ratio'][share]:.2f}" for share in ("p50", "p95")]
    return table("milliseconds of the application's requests", ["median", "95th percentile"], rows) + measured(document)

"""The table of the pages that reads of a long log touch, at the worst of the planner's statistics."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from tests.benchmarks.saved import FOLDER, load
from tests.benchmarks.tables.markdown import measured, number, table

_PLAIN: Final = ("no filter", "no filter, the oldest first")

Costs = Mapping[str, Mapping[str, float]]


def bounds() -> str:
    """The pages and the milliseconds of each read, by the size of the log."""
    documents = sorted(map(load, _saved()), key=lambda document: int(document["figures"]["entries"]))
    columns = [dict(_rows(document["figures"])) for document in documents]
    headings = [f"{document['figures']['entries']:,} entries" for document in documents]
    rows = {name: [_cell(column[name]) for column in columns] for name in columns[0]}
    return table("pages of 8 KiB (milliseconds)", headings, rows) + "".join(map(measured, documents))


def _saved() -> Iterator[str]:
    return (file.stem for file in FOLDER.glob("bounds-*.json"))


def _rows(figures: Mapping[str, Any]) -> Iterator[tuple[str, tuple[float, float]]]:
    reads: Mapping[str, Costs] = figures["reads"]
    filtered = [name for name in reads if ": " in name]
    yield "50 entries, from either end", _worst(reads[name] for name in _PLAIN)
    yield f"50 entries by one of {len(filtered) // 2} filters, the worst", _worst(reads[name] for name in filtered)
    yield f"50 entries by two of them ({figures['numberOfPairs']} pairs), the worst", _worst([figures["pairs"]])
    for name, costs in reads.items():
        if name not in (*_PLAIN, *filtered):
            yield name, _worst([costs])


def _worst(reads: Iterable[Costs]) -> tuple[float, float]:
    """The most pages and milliseconds, whatever the state of the statistics."""
    states = [state for costs in reads for state in costs.values()]
    return max(state["pages"] for state in states), max(state["milliseconds"] for state in states)


def _cell(worst: tuple[float, float]) -> str:
    pages, milliseconds = worst
    return f"{pages:,} ({number(milliseconds)})"

"""Print what capture costs: as comments below the SQL of a plan, or as JSON."""

from collections.abc import Iterator
from textwrap import wrap
from typing import Any

from svc_pg.schema import Costs
from svc_pg.schema.costs import RowCost, TableCost

from . import output, tables
from .json_text import printable

_OPERATIONS = ("INSERT", "UPDATE", "DELETE")
_HEADS = ["table", *_OPERATIONS, "bytes", "columns, rules"]
_WIDTH = 110


def tell(costs: Costs) -> None:
    """Print a table of figures in comments of SQL, which what runs the plan passes over."""
    for line in _lines(costs):
        output.data(f"-- {printable(line)}".rstrip())  # a name with a new line in it would end the comment


def as_json(costs: Costs) -> dict[str, Any]:
    """The figures, with the keys of the API."""
    return {
        "costs": [
            {
                "table": each.table,
                "columns": each.columns,
                "rules": each.rules,
                "microsecondsARow": {
                    operation: {"without": row.without_capture, "with": row.with_capture, "recorded": row.recorded}
                    for operation, row in each.rows.items()
                },
                "bytesAnEntry": each.bytes_an_entry,
                "notes": each.notes,
            }
            for each in costs.measured
        ],
        "unmeasured": [{"table": each.table, "reason": each.reason} for each in costs.left_out],
        "method": costs.method,
    }


def _lines(costs: Costs) -> Iterator[str]:
    if costs.measured:
        yield "microseconds a row: without capture + what capture adds; bytes an entry, with indexes"
        rows = [_row(each) for each in costs.measured]
        yield from tables.drawn("", _HEADS, rows, folding={"table", "columns, rules"}).splitlines()
        for each in costs.measured:
            yield from (f"{each.table}: {note}." for note in (*each.notes, *_unrecorded(each)))
    yield from (f"{each.table} is not measured: {each.reason}." for each in costs.left_out)
    if costs.measured:
        yield from wrap(costs.method, _WIDTH)


def _row(cost: TableCost) -> list[str]:
    figures = [_added(cost.rows.get(operation)) for operation in _OPERATIONS]  # type: ignore[call-overload]
    entry = "" if cost.bytes_an_entry is None else str(cost.bytes_an_entry)
    return [cost.table, *figures, entry, "; ".join((str(cost.columns), *cost.rules))]


def _added(row: RowCost | None) -> str:
    return "" if row is None else f"{row.without_capture:.1f} + {max(row.with_capture - row.without_capture, 0):.1f}"


def _unrecorded(cost: TableCost) -> Iterator[str]:
    """Say that rules leave changes out, which are cheaper then."""
    for operation, row in cost.rows.items():
        if row.recorded < 1:
            yield f"{round(100 * row.recorded)} % of the made-up {operation}s wrote an entry"

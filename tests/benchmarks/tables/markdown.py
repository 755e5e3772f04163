"""Write a table of figures in Markdown, and the command to reproduce them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

MISSING: Final = "-"


def table(corner: str, headings: Iterable[str], rows: Mapping[str, Sequence[str]]) -> str:
    """A table whose rows begin with their names."""
    head = [corner, *headings]
    lines = [_line(head), f"|{'---|' * len(head)}", *(_line([name, *cells]) for name, cells in rows.items())]
    return "".join(f"{line}\n" for line in lines)


def rows_of(figures: Mapping[str, str]) -> str:
    """A table of names and figures."""
    return table("", [""], {name: [figure] for name, figure in figures.items()})


def _line(cells: Iterable[str]) -> str:
    return f"|{'|'.join(f' {cell} ' if cell else ' ' for cell in cells)}|"


def number(value: float | None, unit: str = "") -> str:
    """Three significant digits, and the unit."""
    if value is None:
        return MISSING
    short = float(f"{value:.3g}")
    digits = 0 if abs(short) >= 100 else 1 if abs(short) >= 10 else 2
    return f"{short:,.{digits}f} {unit}".rstrip()


def measured(document: Mapping[str, Any], *databases: str) -> str:
    """The sentence below a table: its command, the day, the machine and the database."""
    versions = document["versions"]
    names = [name for name in databases or ("PostgreSQL",) if name in versions]
    on = ", ".join(f"{name} {versions[name]}" for name in names)
    return f"\n`{document['command']}`, {document['date']}, {document['cores']} cores, {on}\n"

"""Save the figures of a run, from which the tables of the documentation are made."""

import argparse
import json
import os
import sys
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from platform import python_version
from typing import Any, Final

FOLDER: Final = Path(__file__).parents[2] / "docs" / "figures"
"""The files that the documentation shows."""

_DIGITS: Final = 4
_PLACES: Final = (
    "--save",
    "--postgres",
    "--picture",
    "--samples",
    "--read",
)  # options whose values are paths of one machine


def add_option(parser: argparse.ArgumentParser) -> None:
    """Add ``--save FOLDER``."""
    parser.add_argument(
        "--save", metavar="FOLDER", type=Path, help="also write the figures to a file there; docs/figures is shown"
    )


def save(
    folder: Path | None, name: str, figures: Any, versions: Mapping[str, str], *, module: str | None = None
) -> None:
    """Write NAME.json with the figures and the facts to reproduce them; do nothing without a folder.

    The ``module`` is the one that ran; by default the benchmark whose name begins that of the file.
    """
    if folder is None:
        return
    module = module or f"tests.benchmarks.{name.partition('-')[0]}"
    document = {
        "command": " ".join([f"python -m {module}", *_portable(sys.argv[1:])]),
        "date": datetime.now(UTC).date().isoformat(),
        "cores": os.cpu_count(),
        "versions": {**versions, "Python": python_version()},
        "figures": _rounded(figures),
    }
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{name}.json"
    file.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    sys.stderr.write(f"saved: {file}\n")


def load(name: str, folder: Path = FOLDER) -> dict[str, Any]:
    """The file of that name, of the documentation's unless another folder is given."""
    document: dict[str, Any] = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
    return document


def _portable(arguments: Iterable[str]) -> list[str]:
    """The arguments, except paths."""
    kept = []
    rest = iter(arguments)
    for argument in rest:
        option, equals, _ = argument.partition("=")
        if option not in _PLACES:
            kept.append(argument)
        elif not equals:
            next(rest, None)
    return kept


def _rounded(value: Any) -> Any:
    """The figures with a number of significant digits that exceeds the agreement of two runs."""
    if isinstance(value, float):
        short = float(f"{value:.{_DIGITS}g}")
        return int(short) if short.is_integer() else short
    if isinstance(value, Mapping):
        return {str(key): _rounded(each) for key, each in value.items()}
    return [_rounded(each) for each in value] if isinstance(value, list | tuple) else value

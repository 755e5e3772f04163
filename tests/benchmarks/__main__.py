"""List the benchmarks: ``python -m tests.benchmarks``."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

_FOLDER: Final = Path(__file__).parent
_START: Final = 'if __name__ == "__main__":'


def main() -> int:
    """Print the name and the first sentence of each."""
    for name, sentence in benchmarks():
        sys.stdout.write(f"python -m tests.benchmarks.{name}\n    {sentence}\n")
    sys.stdout.write(
        "\n--help tells the options of each, and --save docs/figures keeps its figures for the documentation.\n"
    )
    return 0


def benchmarks() -> Iterator[tuple[str, str]]:
    """The runnable modules, each with its first sentence."""
    for file in sorted([*_FOLDER.glob("*.py"), *_FOLDER.glob("*/__main__.py")]):
        text = file.read_text(encoding="utf-8")
        name = file.parent.name if file.parent != _FOLDER else file.stem
        if _START in text and file != Path(__file__):
            yield name, " ".join((ast.get_docstring(ast.parse(text)) or "").partition("\n\n")[0].split())


if __name__ == "__main__":
    sys.exit(main())

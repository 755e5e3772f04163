"""Generators of clients from an OpenAPI document."""

import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Final

from tests.support.packages import kept, node_modules

PYTHON: Final = "openapi-python-client==0.29.1"
TYPESCRIPT: Final = ("openapi-typescript@7.13.0", "openapi-fetch@0.17.0", "typescript@5.9.3")


@cache
def python_programs() -> Path:
    """The folder of programs with ``openapi-python-client`` and ``python``. Without a network the test is skipped."""

    def install(folder: Path) -> Sequence[Sequence[str]]:
        # of its own, because it needs another version of typer
        programs = folder / "bin"
        return (
            [sys.executable, "-m", "venv", str(folder)],
            [str(programs / "python"), "-m", "pip", "install", "--quiet", PYTHON],
        )

    return kept(PYTHON, install) / "bin"


def typescript_modules() -> Path:
    """The folder ``node_modules`` with openapi-typescript, openapi-fetch and tsc."""
    return node_modules(*TYPESCRIPT)

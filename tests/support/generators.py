"""Generators of clients from an OpenAPI document, in folders of the cache, which pip and npm fill once."""

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from shutil import rmtree, which
from typing import Final

import pytest

from tests.matrix import cache_folder

PYTHON: Final = "openapi-python-client==0.29.1"
TYPESCRIPT: Final = ("openapi-typescript@7.13.0", "openapi-fetch@0.17.0", "typescript@5.9.3")

Install = Callable[[Path], Sequence[Sequence[str]]]
"""Gives the commands that fill a folder."""


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

    return _kept(PYTHON, install) / "bin"


@cache
def typescript_modules() -> Path:
    """The folder ``node_modules`` with openapi-typescript, openapi-fetch and tsc. Without npm the test is skipped."""
    if which("node") is None or which("npm") is None:
        cannot("node and npm are not installed")

    def install(folder: Path) -> Sequence[Sequence[str]]:
        options = ("--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")
        return (["npm", "install", "--prefix", str(folder), *options, *TYPESCRIPT],)

    return _kept("-".join(TYPESCRIPT), install) / "node_modules"


def cannot(reason: str) -> None:
    """Skip the test; in CI, fail it."""
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


def _kept(name: str, install: Install) -> Path:
    """The folder with this name, in which each command succeeded: a file tells that it is whole."""
    folder = cache_folder() / name.replace("/", "-").replace("==", "-").replace("@", "-")
    whole = folder / ".whole"
    if not whole.exists():
        rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        for command in install(folder):
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode != 0:
                cannot(f"{' '.join(command)}:\n{done.stderr.strip()}")
        whole.touch()
    return folder

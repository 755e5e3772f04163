"""Packages of PyPI and npm for a few tests, in cache folders, which pip and npm fill once."""

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from fcntl import LOCK_EX, flock
from functools import cache
from pathlib import Path
from shutil import rmtree, which
from typing import NoReturn

import pytest

from tests.matrix import cache_folder

Install = Callable[[Path], Sequence[Sequence[str]]]
"""Returns the commands that fill a folder."""


@cache
def python_packages(*requirements: str) -> Path:
    """A folder for PYTHONPATH with these packages, apart from the tests' own. Without a network the test is skipped."""

    def install(folder: Path) -> Sequence[Sequence[str]]:
        return ([sys.executable, "-m", "pip", "install", "--quiet", "--target", str(folder), *requirements],)

    return kept("-".join(requirements), install)


@cache
def node_modules(*packages: str) -> Path:
    """The folder ``node_modules`` with these. Without npm or a network the test is skipped."""
    if which("node") is None or which("npm") is None:
        cannot("node and npm are not installed")

    def install(folder: Path) -> Sequence[Sequence[str]]:
        options = ("--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")
        return (["npm", "install", "--prefix", str(folder), *options, *packages],)

    return kept("-".join(packages), install) / "node_modules"


def cannot(reason: str) -> NoReturn:
    """Skip the test for lack of a program or a package; in CI, fail it."""
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


def kept(name: str, install: Install) -> Path:
    """The folder with this name, in which each command has succeeded: a marker file tells that it is complete."""
    folder = cache_folder() / name.replace("/", "-").replace("==", "-").replace("@", "-")
    whole = folder / ".whole"
    folder.parent.mkdir(parents=True, exist_ok=True)
    with Path(f"{folder}.lock").open("w") as lock:
        flock(lock, LOCK_EX)  # or another process would fill the folder meanwhile
        if not whole.exists():
            rmtree(folder, ignore_errors=True)
            folder.mkdir()
            for command in install(folder):
                done = subprocess.run(command, capture_output=True, text=True, check=False)
                if done.returncode != 0:
                    cannot(f"{' '.join(command)}:\n{done.stderr.strip()}")
            whole.touch()
    return folder

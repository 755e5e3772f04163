"""The programs, libraries and other files of Debian's packages that some tests need.

Without one, the test that asks is skipped, but in CI it fails. What takes long is not asked for unless
SVC_TEST_ALL_LANGUAGES is set.
"""

import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import pytest

from tests.support.packages import cannot

ALL_LANGUAGES: Final = "SVC_TEST_ALL_LANGUAGES"


def program(name: str, *, package: str) -> str:
    """The path of a program."""
    return _found(_program(name), name, package)


def library(name: str, *, package: str) -> str:
    """The path of a shared library, by its name below the folder of the machine's kind."""
    return _found(next(map(str, Path("/usr/lib").glob(f"*/{name}")), None), name, package)


def need(packages: Mapping[str, str], *, is_slow: bool = False) -> None:
    """Go on if these are there: programs, or absolute patterns of files, each with its package."""
    if is_slow and not os.environ.get(ALL_LANGUAGES):
        pytest.skip(f"it takes long; set {ALL_LANGUAGES}=1 to run it")
    for name, package in packages.items():
        is_file = name.startswith("/")
        path = next(map(str, Path("/").glob(name.lstrip("/"))), None) if is_file else _program(name)
        _found(path, name, package)


def _program(name: str) -> str | None:
    return shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin")


def _found(path: str | None, name: str, package: str) -> str:
    return path or cannot(f"{name} is not installed; install the package {package}")

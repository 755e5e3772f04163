"""The programs and libraries of Debian's packages that some tests need.

Without one, the test that asks is skipped, but in CI it fails.
"""

import os
import shutil
from pathlib import Path

import pytest


def program(name: str, *, package: str) -> str:
    """The path of a program."""
    return _found(shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin"), name, package)


def library(name: str, *, package: str) -> str:
    """The path of a shared library, by its name below the folder of the machine's kind."""
    return _found(next(map(str, Path("/usr/lib").glob(f"*/{name}")), None), name, package)


def _found(path: str | None, name: str, package: str) -> str:
    if path is None:
        complain = pytest.fail if os.environ.get("CI") == "true" else pytest.skip
        complain(f"{name} is not installed; install the package {package}")
    return path

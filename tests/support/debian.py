"""The programs of Debian's packages that some tests need."""

import os
import shutil

import pytest


def program(name: str, *, package: str) -> str:
    """The path of a program. Without it the test is skipped, but in CI it fails."""
    found = shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin")
    if found is None:
        complain = pytest.fail if os.environ.get("CI") == "true" else pytest.skip
        complain(f"{name} is not installed; install the package {package}")
    return found

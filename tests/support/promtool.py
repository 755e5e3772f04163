"""Prometheus' own judge of rules."""

import subprocess
from pathlib import Path

from tests.support import debian


def promtool(*arguments: str | Path) -> None:
    """Let it judge; the test fails with all that it says unless it is content."""
    command = [debian.program("promtool", package="prometheus"), *arguments]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60)
    assert done.returncode == 0, done.stdout

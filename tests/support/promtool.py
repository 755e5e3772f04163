"""Prometheus' own checker of rules."""

import subprocess
from pathlib import Path

from tests.support import debian


def promtool(*arguments: str | Path) -> None:
    """Run promtool; the test fails with its output if it fails."""
    command = [debian.program("promtool", package="prometheus"), *arguments]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60)
    assert done.returncode == 0, done.stdout

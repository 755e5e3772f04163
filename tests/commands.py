"""Run the command line as a user does: as a process of its own, in an empty folder."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

PROGRAM = Path(sys.executable).with_name("svc-pg")


def environment(**variables: str) -> dict[str, str]:
    """This process's environment without what names a database or configures svc-pg, and with these variables."""
    own = {name: value for name, value in os.environ.items() if not name.startswith(("SVC_", "PG", "DATABASE_URL"))}
    return own | {"COLUMNS": "120"} | variables


def svc_pg(
    *arguments: str, folder: Path, variables: Mapping[str, str] | None = None
) -> "subprocess.CompletedProcess[str]":
    """Run one command to its end."""
    return subprocess.run(
        [PROGRAM, *arguments],
        cwd=folder,
        env=environment(**(variables or {})),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

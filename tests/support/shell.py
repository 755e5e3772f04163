"""Run the commands of a page in a shell, as a reader does."""

import os
import shlex
import subprocess
from collections.abc import Mapping
from pathlib import Path

from tests.support.commands import LIMIT_SECONDS, PROGRAM, environment, svc_pg


def shell(
    script: str, *, folder: Path, variables: Mapping[str, str], programs: Path | None = None, code: int = 0
) -> str:
    """Run a script in a shell that finds svc-pg, and these programs before others; return its output.

    The first failed command ends it; its exit code must be the given one.
    """
    path = os.pathsep.join(str(each) for each in (PROGRAM.parent, programs, os.environ["PATH"]) if each)
    done = subprocess.run(
        ["bash", "-ec", script],
        cwd=folder,
        env=environment(**{"PATH": path, **variables}),
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=LIMIT_SECONDS,
        check=False,
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


def command(line: str, *, folder: Path, variables: Mapping[str, str], code: int = 0) -> str:
    """As ``shell``, in a tenth of the time, for a line that only calls svc-pg."""
    program, *arguments = shlex.split(line)
    assert program == PROGRAM.name
    done = svc_pg(*arguments, folder=folder, variables=variables)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr

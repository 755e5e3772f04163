"""A test session that is told to end takes its server with it."""

import signal
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import psycopg
import pytest

from tests.support.commands import environment
from tests.support.waiting import wait_until

ROOT = Path(__file__).parents[2]
CASE = """
import signal
from pathlib import Path

def test_waits(postgres):
    Path({file!r}).write_text(postgres)
    while True:
        signal.pause()
"""


@pytest.mark.parametrize("processes", [[], ["-n", "1"]])
def test_a_session_that_is_terminated_leaves_no_server(
    tmp_path: Path, postgres_choice: str | None, processes: list[str]
) -> None:
    file, case = tmp_path / "conninfo", tmp_path / "test_case.py"
    case.write_text(CASE.format(file=str(file)), encoding="utf-8")
    choice = [f"--postgres={postgres_choice}"] if postgres_choice else []
    session = subprocess.Popen(
        [sys.executable, "-m", "pytest", "-p", "tests.conftest", f"--rootdir={ROOT}", *choice, *processes, case],
        cwd=ROOT,
        env=environment(),
        stdout=subprocess.DEVNULL,
    )
    try:
        wait_until(lambda: file.exists() and file.read_text(), "the session has a server", limit=timedelta(minutes=2))
        conninfo = file.read_text()
        psycopg.connect(conninfo).close()
        session.send_signal(signal.SIGTERM)
        session.wait(timeout=60)
    finally:
        session.kill()
        session.wait()
    with pytest.raises(psycopg.OperationalError, match="refused"):
        psycopg.connect(conninfo)

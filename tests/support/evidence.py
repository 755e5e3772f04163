"""Run the verifier in one file as an auditor does: without svc-pg."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

from tests.support.documents import ROOT

PROGRAM: Final = ROOT / "svc_pg" / "seals" / "alone" / "verify_svc_pg.py"
VECTORS: Final = ROOT / "tests" / "vectors"
OWN: Final = ("last_seal", "sealed_at", "unsealed_first", "unsealed_early", "is_behind", "notes")
"""The members of its result that the verifier of the database has not."""


def run_alone(
    folder: Path, *options: str, key: Path = VECTORS / "key", bare: bool = False
) -> "subprocess.CompletedProcess[str]":
    """The program on the two files of a folder; if it is ``bare``, without any package."""
    flags = ["-I", "-S"] if bare else ["-I"]
    files = [str(folder / "export.ndjson"), str(folder / "seals.ndjson"), str(key)]
    return subprocess.run(
        [sys.executable, *flags, str(PROGRAM), *files, *options], capture_output=True, text=True, timeout=100
    )


def result_of(folder: Path, *, bare: bool = False) -> dict[str, Any]:
    """The result, without the words of its findings."""
    copies = folder / "copies"
    done = run_alone(folder, "--json", *(["--copies", str(copies)] if copies.exists() else []), bare=bare)
    assert done.stderr == ""
    found: dict[str, Any] = json.loads(done.stdout)
    unproven = found.pop("unproven")  # the verifier of the database knows who wrote them
    assert done.returncode == (3 if found["findings"] or unproven else 0)
    for name in OWN:
        del found[name]
    for finding in found["findings"]:
        assert finding.pop("message")
    return found

"""The test suites of open-source applications on SQLite, without capture and with it on every table.

``python -m tests.real_applications`` fetches the applications from PyPI, runs each suite twice and prints the results.
It exits with 1 if one differs: recording may make no change of an application fail, or look different to it. It takes
minutes, so it is not part of the suite.
"""

import os
import subprocess
import sys
import tarfile
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final
from xml.etree import ElementTree

LIMIT_SECONDS: Final = 900
TOOLS: Final = ("pytest-django==4.11.1", "time-machine==2.19.0")
SETTINGS: Final = """

INSTALLED_APPS = [*INSTALLED_APPS, "svc_pg.integrations.django"]
SVC_CONFIG = "svc-pg.toml"
"""
CONFIG: Final = '[[audit.tables]]\nname = "*"\n'
# Each entry asks the connection once for its actor
COUNT: Final = """
import pathlib
from django.db.backends.signals import connection_created

asked = 0


def tell():
    global asked
    asked += 1


def pytest_configure(config):
    connection_created.connect(register, weak=False)


def register(connection, **_):
    connection.connection.create_function("printf", 0, tell)


def pytest_unconfigure(config):
    pathlib.Path("entries.txt").write_text(str(asked))
"""


@dataclass(frozen=True)
class Application:
    """One release on PyPI, with its tests in ``tests`` and their settings in ``tests/settings.py``."""

    name: str
    version: str
    variables: Mapping[str, str]


@dataclass(frozen=True)
class Run:
    """The outcome of each case, the time of all, and the number of recorded entries."""

    outcomes: Mapping[str, str]
    seconds: float
    entries: int

    def __str__(self) -> str:
        counts = Counter(self.outcomes.values())
        return ", ".join(f"{counts[outcome]} {outcome}" for outcome in sorted(counts)) + f" in {self.seconds:.0f} s"


APPLICATIONS: Final = (
    Application("django-treebeard", "7.0.3", {"DATABASE_ENGINE": "sqlite"}),
    Application("django-model-utils", "5.0.0", {"SQLITE": "1"}),
)


def fetch(application: Application, folder: Path) -> Path:
    """Unpack the source distribution; returns its folder."""
    source = f"{application.name}=={application.version}"
    _pip("download", "--no-deps", "--no-binary", application.name, "--dest", str(folder), source)
    [archive] = folder.glob(f"{application.name.replace('-', '_')}-*.tar.gz")
    with tarfile.open(archive) as packed:
        packed.extractall(folder, filter="data")
    return archive.with_name(archive.name.removesuffix(".tar.gz"))


def audit(folder: Path) -> None:
    """Install into the database of the tests, after Django has created its tables."""
    with (folder / "tests" / "settings.py").open("a") as settings:
        settings.write(SETTINGS)
    (folder / "svc-pg.toml").write_text(CONFIG)
    (folder / "svc_pg_count.py").write_text(COUNT)


def run(application: Application, folder: Path, tools: Path, *options: str) -> Run:
    """Run the suite to its end, with any result."""
    own = {"PYTHONPATH": f"{tools}{os.pathsep}{folder}", "PYTHONDONTWRITEBYTECODE": "1"}
    began = time.monotonic()
    subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--ds=tests.settings"),
            *("--junit-xml=results.xml", *options, "tests"),
        ],
        cwd=folder,
        env={**os.environ, **own, **application.variables},
        stdout=subprocess.DEVNULL,
        timeout=LIMIT_SECONDS,
        check=False,
    )
    seconds = time.monotonic() - began
    found = ElementTree.parse(folder / "results.xml").iter("testcase")
    outcomes = {f"{case.get('classname')}::{case.get('name')}": _outcome(case) for case in found}
    counted = folder / "entries.txt"
    return Run(outcomes, seconds, int(counted.read_text()) if counted.exists() else 0)


def _outcome(case: "ElementTree.Element[str]") -> str:
    return next((kind for kind in ("failure", "error", "skipped") if case.find(kind) is not None), "passed")


def _pip(*arguments: str) -> None:
    subprocess.run([sys.executable, "-m", "pip", "--quiet", *arguments], check=True)


def main() -> int:
    """Run everything; returns the exit code."""
    code = 0
    with TemporaryDirectory(prefix="svc-pg-") as name:
        folder = Path(name)
        tools = folder / "tools"
        _pip("install", "--no-deps", "--target", str(tools), *TOOLS)
        for application in APPLICATIONS:
            source = fetch(application, folder)
            plain = run(application, source, tools)
            audit(source)
            audited = run(application, source, tools, "-p", "svc_pg_count")
            print(f"{application.name} {application.version}")  # noqa: T201 - what the program is for
            print(f"  without capture: {plain}")  # noqa: T201
            print(f"  with capture:    {audited}, {audited.entries} entries")  # noqa: T201
            cases = {*plain.outcomes, *audited.outcomes}
            differing = sorted(case for case in cases if plain.outcomes.get(case) != audited.outcomes.get(case))
            for case in differing:
                print(f"  differs: {case}: {plain.outcomes.get(case)}, {audited.outcomes.get(case)}")  # noqa: T201
            if differing or not plain.outcomes or not audited.entries:
                code = 1
    return code


if __name__ == "__main__":
    sys.exit(main())

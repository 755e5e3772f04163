"""A worker of the last commit beside the functions of this one, and the other way round."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import psycopg
import pytest

from svc_pg.webhooks.secrets import new_key
from svc_pg.webhooks.worker import protocol
from tests.support.commands import environment
from tests.support.postgres import new_database
from tests.support.receiver import receiving

pytestmark = pytest.mark.postgres

ROOT: Final = Path(__file__).parents[2]
PREVIOUS: Final = "SVC_TEST_PREVIOUS"
"""The variable that names a folder with the last commit, if the suite runs outside of a repository."""
CONFIG: Final = """
[webhooks]
allow_http = true
allow_cidrs = ["127.0.0.0/8"]

[webhooks.events."order.created"]
"""
PROGRAM: Final = "import svc_pg.cli; svc_pg.cli.main()"
SPOKEN: Final = "from svc_pg.webhooks.worker.protocol import OLDEST, NEWEST; print(OLDEST, NEWEST)"


class Release:
    """A commit's package in a folder of its own, and what runs there."""

    def __init__(self, source: Path, folder: Path) -> None:
        self._library = folder / "library"
        shutil.copytree(source / "svc_pg", self._library / "svc_pg")
        for name in ("cli", "sql"):
            shutil.copytree(source / name, self._library / "svc_pg" / name)
        self._folder = folder
        (folder / "svc-pg.toml").write_text(CONFIG)

    def run(self, *arguments: str, variables: dict[str, str], program: str = PROGRAM, config: str | None = None) -> str:
        """Run a command to its end, and return its output."""
        given = [] if config is None else ["--config", self._file(config)]
        done = subprocess.run(
            [sys.executable, "-c", program, *arguments, *given],
            cwd=self._folder,
            env=self._environment(variables),
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    @contextmanager
    def worker(self, variables: dict[str, str]) -> Iterator[None]:
        """Have a worker until the end of the block, which must then end well."""
        with subprocess.Popen(
            [sys.executable, "-c", PROGRAM, "worker", "--only", "deliveries"],
            cwd=self._folder,
            env=self._environment(variables),
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            try:
                yield
                process.terminate()
                _, errors = process.communicate(timeout=60)
                assert process.returncode == 0, errors
            finally:
                process.kill()

    def _file(self, config: str) -> str:
        file = self._folder / "other.toml"
        file.write_text(config)
        return str(file)

    def _environment(self, variables: dict[str, str]) -> dict[str, str]:
        return environment(PYTHONPATH=str(self._library), **variables)


@pytest.fixture(scope="module")
def current(tmp_path_factory: pytest.TempPathFactory) -> Release:
    return Release(ROOT, tmp_path_factory.mktemp("current"))


@pytest.fixture(scope="module")
def previous(tmp_path_factory: pytest.TempPathFactory) -> Release:
    given = os.environ.get(PREVIOUS)
    source = Path(given) if given else tmp_path_factory.mktemp("previous-source")
    if not given:
        found = subprocess.run(["git", "archive", "HEAD~1", "svc_pg", "cli", "sql"], cwd=ROOT, capture_output=True)
        if found.returncode != 0:
            pytest.skip(f"no repository with a commit before this one; {PREVIOUS} may name a folder with that")
        subprocess.run(["tar", "-x", "-C", source], input=found.stdout, check=True)
    return Release(source, tmp_path_factory.mktemp("previous"))


def deliver(*, database: Release, worker: Release, conninfo: str) -> None:
    variables = {"DATABASE_URL": conninfo, "SVC_ENCRYPTION_KEYS": new_key("test")}
    database.run("install", variables=variables)
    with receiving() as receiver:
        database.run("webhooks", "add", "--url", receiver.url, "--event", "order.created", variables=variables)
        with worker.worker(variables):
            database.run("send", "order.created", '{"id": 7}', variables=variables)
            [received] = receiver.wait_for(1)
    assert json.loads(received.body)["data"] == {"id": 7}


def spoken(release: Release) -> tuple[int, int]:
    oldest, newest = release.run(variables={}, program=SPOKEN).split()
    return int(oldest), int(newest)


def test_both_commits_speak_a_common_protocol(previous: Release, current: Release) -> None:
    assert spoken(current) == (protocol.OLDEST, protocol.NEWEST)
    oldest, newest = spoken(previous)
    assert max(oldest, protocol.OLDEST) <= min(newest, protocol.NEWEST)


def test_a_worker_of_the_last_commit_delivers_by_new_functions(
    previous: Release, current: Release, empty_database: str
) -> None:
    deliver(database=current, worker=previous, conninfo=empty_database)


def test_a_new_worker_delivers_by_functions_of_the_last_commit(
    previous: Release, current: Release, empty_database: str
) -> None:
    deliver(database=previous, worker=current, conninfo=empty_database)


UP: Final = """
import psycopg, os, sys
from svc_pg.config import Config
from svc_pg.config.installed_parts import document_of, parts_of
from svc_pg.schema.configuration_change import ConfigurationChange
from svc_pg.schema.installer import installer_of
from svc_pg.schema.postgres.migrations import released

change = ConfigurationChange(released()[-1].number, None, document_of(parts_of(Config.find())))
with psycopg.connect(os.environ["DATABASE_URL"]) as conn:
    for statement in installer_of(conn).statements(change, backwards=False):
        conn.execute(statement.encode())
"""


def test_a_revision_upgrades_what_the_last_commit_installed(
    previous: Release, current: Release, empty_database: str
) -> None:
    variables = {"DATABASE_URL": empty_database}
    previous.run("install", variables=variables)
    current.run(variables=variables, program=UP)
    current.run("status", variables=variables)


MARKED: Final = """
[audit]
tables = [{ name = "public.patient", record_reads = true }]
"""
READ: Final = """
import psycopg, os
from svc_pg import audit

with psycopg.connect(os.environ["DATABASE_URL"]) as conn:
    entries = audit.query().resource("public.patient").list(conn).data
    print(len(entries), len(audit.reads("public.patient").list(conn).data))
"""
FUNCTIONS: Final = (
    "select array_agg(p.oid::regprocedure::text order by p.oid::regprocedure::text)"
    "  from pg_proc p where p.pronamespace = 'svc'::regnamespace"
)


def test_an_upgrade_leaves_no_function_of_the_last_commit_and_both_read(
    previous: Release, current: Release, empty_database: str, postgres: str
) -> None:
    """A function that has another signature now would stay beside the new one, and calls could mean either."""

    def install(release: Release, conninfo: str) -> None:
        release.run("install", variables={"DATABASE_URL": conninfo}, config=MARKED)

    with new_database(postgres) as anew:
        for conninfo in (anew, empty_database):
            with psycopg.connect(conninfo, autocommit=True) as conn:
                conn.execute("create table patient (id int primary key)")
        install(current, anew)
        install(previous, empty_database)
        install(current, empty_database)
        with psycopg.connect(anew) as of_new, psycopg.connect(empty_database) as of_upgraded:
            assert of_upgraded.execute(FUNCTIONS).fetchone() == of_new.execute(FUNCTIONS).fetchone()
            of_upgraded.execute("insert into patient values (1)")
            of_upgraded.commit()
        found = [
            release.run(variables={"DATABASE_URL": empty_database}, program=READ) for release in (previous, current)
        ]
        assert [each.split() for each in found] == [["1", "1"], ["1", "2"]]

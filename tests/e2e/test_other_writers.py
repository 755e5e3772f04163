"""Celery writes as docs/howto/actors.md shows it, with the actors that the page promises."""

import os
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest

from svc_pg import audit
from tests.support.commands import environment
from tests.support.documents import examples
from tests.support.packages import python_packages
from tests.support.postgres import Prepare
from tests.support.tables import audited, create_and_audit

PAGE = "howto/actors.md"
TABLE = "create table orders (id int primary key, price int)"
QUEUE = """
from pathlib import Path

folder = Path(__file__).parent
app.conf.update(
    broker_url="filesystem://",
    broker_transport_options={
        "data_folder_in": folder / "messages",
        "data_folder_out": folder / "messages",
        "polling_interval": 0.05,
    },
    result_backend=f"file://{folder}/results",
)
"""
CALLS = """
import shop
from svc_pg import audit

with audit.acting("mara"):
    shop.reprice.delay(7, 5).get(timeout=30)
shop.reprice.delay(7, 6).get(timeout=30)
"""


@pytest.fixture(scope="module")
def prepare() -> Prepare:
    def prepare(conninfo: str) -> None:
        create_and_audit(conninfo, TABLE, audited("orders"))
        with psycopg.connect(conninfo) as conn:
            conn.execute("insert into orders values (7, 1)")

    return prepare


def test_a_task_of_celery_acts_as_its_caller_or_under_its_own_name(database: str, tmp_path: Path) -> None:
    packages = python_packages("celery==5.7.0")
    [block] = examples(PAGE, "Celery")
    (tmp_path / "shop.py").write_text(block + QUEUE, encoding="utf-8")
    for name in ("messages", "results"):
        (tmp_path / name).mkdir()
    environ = environment(DATABASE_URL=database, PYTHONPATH=os.pathsep.join(map(str, (packages, tmp_path))))
    with (tmp_path / "output").open("wb") as output:
        worker = subprocess.Popen(
            [sys.executable, "-m", "celery", "-A", "shop", "worker", "--concurrency=1"],
            cwd=tmp_path,
            env=environ,
            stdout=output,
            stderr=output,
            stdin=subprocess.DEVNULL,
        )
        try:
            subprocess.run([sys.executable, "-c", CALLS], cwd=tmp_path, env=environ, check=True, timeout=60)
        finally:
            worker.terminate()
            worker.wait(timeout=30)
    with psycopg.connect(database) as conn:
        changes = audit.last_changes(conn, "public.orders", 7)
    assert [change.actor_id for change in changes] == ["shop.reprice", "mara", None]

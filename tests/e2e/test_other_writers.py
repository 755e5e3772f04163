"""Celery and Node write as docs/howto/actors.md shows it, with the actors that the page promises."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from svc_pg import audit
from tests.support.commands import environment
from tests.support.documents import examples
from tests.support.packages import node_modules, python_packages
from tests.support.postgres import Prepare
from tests.support.tables import audited, create_and_audit

PAGE = "howto/actors.md"
TABLES = """
create table invoice (id int primary key, status text);
create table orders (id int primary key, price int);
"""
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
IN_NODE = """
const {{ Pool }} = require("pg");
const pool = new Pool({{ max: 1 }});
const user = {{ id: "mara" }};
const requestId = "r-1";

async function change() {{
{block}
}}

change()
  .then(() => pool.query("update invoice set status = 'open' where id = 7"))
  .finally(() => pool.end());
"""


@pytest.fixture(scope="module")
def prepare() -> Prepare:
    def prepare(conninfo: str) -> None:
        create_and_audit(conninfo, TABLES, audited("invoice", "orders"))
        with psycopg.connect(conninfo) as conn:
            conn.execute("insert into invoice values (7, 'open'); insert into orders values (7, 1)")

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


def test_node_names_the_actor_of_one_transaction_and_leaves_nothing_to_the_next(database: str) -> None:
    modules = node_modules("pg@8")
    node = shutil.which("node")
    assert node
    [block] = examples(PAGE, "Another language", "js")
    server = conninfo_to_dict(database)
    place = {f"PG{name.upper()}": str(server[name]) for name in ("host", "port", "user")}
    environ = environment(**place, PGDATABASE=str(server["dbname"]), NODE_PATH=str(modules))
    subprocess.run([node, "-e", IN_NODE.format(block=block)], env=environ, check=True, timeout=60)
    with psycopg.connect(database) as conn:
        entries = audit.query().operation("UPDATE").list(conn).data
    assert [(entry.actor_id, entry.context) for entry in entries] == [(None, None), ("mara", {"request_id": "r-1"})]

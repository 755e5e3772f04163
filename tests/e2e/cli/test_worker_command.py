"""``svc-pg worker`` as an operator runs it: signals, several processes, metrics and health."""

import asyncio
import os
import re
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from itertools import count
from pathlib import Path
from threading import Event
from urllib.error import HTTPError, URLError
from urllib.request import ProxyHandler, build_opener

import psutil
import psycopg
import pytest

from cli.installation import wait_for_svc
from svc_pg import Config, audit, schema, webhooks
from svc_pg.audit import SealKey
from svc_pg.database.conninfo import Conninfo
from svc_pg.database.query import scalar
from tests.support.commands import Process, running, svc_pg
from tests.support.hooks import KEYS_TEXT, endpoint, hooks_config, rows
from tests.support.ports import free_port
from tests.support.postgres import new_database
from tests.support.receiver import receiving
from tests.support.waiting import wait_until

CONFIG = hooks_config("order.created")
TOML = """
[webhooks]
allow_http = true
allow_cidrs = ["127.0.0.0/8"]
[webhooks.events."order.created"]
"""


@dataclass
class Running:
    """A worker command that runs, and where it says how it is."""

    process: Process
    port: int
    output: Path

    def get(self, path: str) -> tuple[int, str]:
        """The status, 0 where nobody listens, and the text."""
        opener = build_opener(ProxyHandler({}))
        try:
            with opener.open(f"http://127.0.0.1:{self.port}{path}", timeout=10) as response:
                return response.status, response.read().decode()
        except HTTPError as error:
            with error:
                return error.code, ""
        except (URLError, OSError):
            return 0, ""

    def wait_until_ready(self) -> None:
        wait_until(lambda: self.get("/readyz")[0] == 200, "it is ready", limit=timedelta(seconds=30))

    def sample(self, name: str) -> float:
        lines = self.get("/metrics")[1].splitlines()
        return next((float(line.split()[-1]) for line in lines if line.startswith(f"{name} ")), 0)

    def children(self) -> set[int]:
        return {child.pid for child in psutil.Process(self.process.pid).children()}

    def ends_with(self, *signals: signal.Signals) -> int:
        for number in signals:
            self.process.send_signal(number)
        return self.process.wait(20)


Start = Callable[..., Running]


@pytest.fixture
def start(tmp_path: Path, database: str) -> Iterator[Start]:
    """Start ``svc-pg worker`` with these options; what still runs at the end is killed."""
    (tmp_path / "svc-pg.toml").write_text(TOML)
    outputs = (tmp_path / f"output{number}" for number in count())

    def start(*options: str, keys: str = KEYS_TEXT, **variables: str) -> Running:
        port = free_port()
        output = next(outputs)
        command = ("worker", "--metrics-port", str(port), *options)
        variables = {"DATABASE_URL": database, "SVC_ENCRYPTION_KEYS": keys, **variables}
        with output.open("wb") as stream:
            process = started.enter_context(running(*command, folder=tmp_path, variables=variables, stderr=stream))
        return Running(process, port, output)

    with ExitStack() as started:
        yield start


@pytest.fixture(scope="module")
def bare_database(postgres: str) -> Iterator[str]:
    """A database without svc-pg."""
    with new_database(postgres) as conninfo:
        yield conninfo


def send(conninfo: str, number: int = 1) -> None:
    with psycopg.connect(conninfo) as conn:
        for each in range(number):
            webhooks.send(conn, "order.created", {"id": each})


def is_alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


@contextmanager
def killing(pids: set[int]) -> Iterator[None]:
    try:
        yield
    finally:
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


@pytest.mark.parametrize("processes", ["1", "2"])
def test_sigterm_and_sigterm_again_let_a_slow_delivery_end(
    database: str, start: Start, tmp_path: Path, processes: str
) -> None:
    with (tmp_path / "svc-pg.toml").open("a") as file:
        file.write('[[audit.tables]]\nname = "customer"\n')  # which is of another database
    may_answer = Event()
    with receiving(lambda _: 204 if may_answer.wait(20) else 500) as receiver:
        endpoint(database, CONFIG, receiver.url)
        worker = start("--processes", processes)
        worker.wait_until_ready()
        send(database)
        receiver.wait_for(1)
        worker.process.send_signal(signal.SIGTERM)
        worker.process.send_signal(signal.SIGTERM)
        assert worker.process.poll() is None
        worker.process.send_signal(signal.SIGINT)
        may_answer.set()
        assert worker.process.wait(20) == 0
        assert [row["status"] for row in rows(database, "webhook_deliveries")] == ["delivered"]
        assert len(receiver.requests) == 1
    assert worker.output.read_text().count("not audited in this database: public.customer;") == 1


def test_a_worker_tells_in_one_line_of_the_attempts_that_failed(database: str, start: Start) -> None:
    with receiving(lambda _: 503) as receiver:
        hook, _ = endpoint(database, CONFIG, receiver.url)
        worker = start()
        worker.wait_until_ready()
        send(database, 5)
        receiver.wait_for(5)
        recorded = "select count(*) from svc.webhook_delivery_attempts"
        with psycopg.connect(database, autocommit=True) as conn:
            wait_until(lambda: scalar(conn, recorded) == 5, "all are on record")
        assert worker.ends_with(signal.SIGTERM) == 0
    told = [line for line in worker.output.read_text().splitlines() if f"at endpoint {hook} (503)" in line]
    assert 1 < len(told) < 5  # the first at once, and the others after a minute or at the end
    assert sum(int(re.findall("([0-9]+) attempts? failed", line)[0]) for line in told) == 5


def test_tables_that_the_configuration_names_and_nothing_records_are_found(database: str) -> None:
    def found(config: Config) -> Sequence[str]:
        place, stopping = Conninfo.parse(database), asyncio.Event()
        installation = asyncio.run(wait_for_svc(place, config, needs_webhooks=True, stopping=stopping))
        assert installation is not None
        return installation.unrecorded

    with psycopg.connect(database, autocommit=True) as conn:
        conn.execute('create table "Orders" (id int primary key); create table customer (id int primary key)')
        named = Config.model_validate({"audit": {"tables": [{"name": 'public."Orders"'}, {"name": "public.c*"}]}})
        schema.install(conn, named)
        assert found(named) == []
        named.audit.table("customers")
        assert found(named) == ["public.customers"]


def test_a_process_that_dies_is_replaced_and_what_it_did_stays_counted(database: str, start: Start) -> None:
    with receiving() as receiver:
        endpoint(database, CONFIG, receiver.url)
        worker = start("--processes", "2")
        worker.wait_until_ready()
        before = worker.children()
        assert len(before) == 2
        send(database, 10)
        counted = 'svc_webhook_deliveries_total{disposition="delivered"}'
        wait_until(lambda: worker.sample(counted) == 10, "all are counted")
        os.kill(min(before), signal.SIGKILL)
        wait_until(lambda: len(worker.children() - before) == 1, "there is another")
        worker.wait_until_ready()
        send(database, 10)
        wait_until(lambda: worker.sample(counted) == 20, "these are counted as well")
        assert worker.get("/healthz")[0] == 200
        assert worker.ends_with(signal.SIGTERM) == 0
    assert "a worker process ended with -9" in worker.output.read_text()


def test_processes_end_by_themselves_when_the_supervisor_is_killed(database: str, start: Start) -> None:
    may_answer = Event()
    with receiving(lambda _: 204 if may_answer.wait(20) else 500) as receiver:
        endpoint(database, CONFIG, receiver.url)
        worker = start("--processes", "2")
        worker.wait_until_ready()
        send(database)
        receiver.wait_for(1)
        children = worker.children()
        with killing(children):
            assert worker.ends_with(signal.SIGKILL) == -signal.SIGKILL
            may_answer.set()
            wait_until(lambda: not any(map(is_alive, children)), "no process is left")
        assert [row["status"] for row in rows(database, "webhook_deliveries")] == ["delivered"]


def test_maintenance_alone_needs_no_keys_and_appends_copies_of_seals(
    database: str, start: Start, tmp_path: Path
) -> None:
    with psycopg.connect(database, autocommit=True) as conn:
        audit.capture_log(conn, "a", "INSERT")
    file = tmp_path / "copies"
    key = SealKey("s1", b"k" * 32)
    worker = start("--only", "maintenance", "--seal-to", str(file), keys="", SVC_SEAL_KEY=key.text)
    worker.wait_until_ready()
    wait_until(lambda: file.exists() and file.read_text().count("\n") == 1, "it has sealed")
    assert "svc_audit_sealing_refusals_total 0.0" in worker.get("/metrics")[1]
    for name in ("svc_maintenance_runs_total", "svc_audit_sealing_runs_total"):
        assert f'{name}{{result="failure"}} 0.0' in worker.get("/metrics")[1]
    assert worker.ends_with(signal.SIGTERM) == 0
    assert " worker " not in worker.output.read_text()


@pytest.mark.parametrize("options", ["", "--only deliveries", "--only maintenance", "--processes 2"])
def test_a_worker_on_a_database_without_svc_pg_fails_and_says_what_to_do(
    bare_database: str, tmp_path: Path, options: str
) -> None:
    variables = {"DATABASE_URL": bare_database, "SVC_ENCRYPTION_KEYS": KEYS_TEXT}
    done = svc_pg("worker", *options.split(), folder=tmp_path, variables=variables)
    assert done.returncode == 1
    started, *said = done.stderr.splitlines()
    assert "works on database svc_test_" in started
    assert said == ["error: the database has no svc-pg, or an older one", "hint: Run: svc-pg install"]


@pytest.mark.parametrize("options", ["--only maintenance", "--processes 2"])
def test_a_worker_waits_for_a_database_that_cannot_be_reached_and_says_where_it_looks(
    start: Start, options: str
) -> None:
    unreachable = "postgresql://ann:tops3cret@127.0.0.1:9/shop"
    worker = start(*options.split(), "--database-url", unreachable)
    wait_until(lambda: "trying until there is one" in worker.output.read_text(), "it has tried")
    assert worker.get("/healthz")[0] == 200
    assert worker.ends_with(signal.SIGTERM) == 0
    said = worker.output.read_text()
    assert "works on database shop at 127.0.0.1, port 9, as ann\n" in said
    assert "Connection refused" in said
    assert "tops3cret" not in said


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (["--processes", "2", "--only", "maintenance"], 2, "maintenance is one process's work"),
        (["--proxy", "ftp://proxy"], 1, "not the address of a proxy"),
        (["--metrics-port", "1", "--metrics-host", "192.0.2.1"], 1, "cannot serve metrics"),
        (["--metrics-port", "1", "--metrics-host", ""], 1, "the address to serve metrics at is empty"),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, options: list[str], code: int, message: str) -> None:
    variables = {"DATABASE_URL": "host=127.0.0.1 port=9", "SVC_ENCRYPTION_KEYS": KEYS_TEXT}
    done = svc_pg("worker", *options, folder=tmp_path, variables=variables)
    assert done.returncode == code
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_a_variable_too_names_the_port_of_health_and_metrics(tmp_path: Path) -> None:
    variables = {"SVC_WORKER_METRICS_PORT": "1", "SVC_ENCRYPTION_KEYS": KEYS_TEXT}
    done = svc_pg("worker", "--metrics-host", "192.0.2.1", folder=tmp_path, variables=variables)
    assert (done.returncode, "cannot serve metrics at 192.0.2.1, port 1" in done.stderr) == (1, True)


def test_a_proxy_of_the_command_line_is_used(database: str, start: Start) -> None:
    with receiving() as receiver:  # a receiver is proxy enough to see an absolute URL
        endpoint(database, CONFIG, "http://hooks.invalid/hook")
        worker = start("--proxy", receiver.url.removesuffix("/hook"))
        worker.wait_until_ready()
        send(database)
        [request] = receiver.wait_for(1)
        assert request.path == "http://hooks.invalid/hook"
        assert worker.ends_with(signal.SIGTERM) == 0

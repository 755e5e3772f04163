"""A database with svc-pg and one event, its endpoints, and workers as processes of their own."""

import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import psycopg
from psycopg.conninfo import conninfo_to_dict

from svc_pg import Config, schema
from svc_pg.config import EventDefinition, WebhooksConfig
from svc_pg.database.query import fetch_one
from svc_pg.webhooks.endpoints import endpoint_queries as endpoints
from svc_pg.webhooks.http.guard import Guard
from svc_pg.webhooks.secrets import KeyRing, new_key
from tests.benchmarks.delivery import processor
from tests.support.commands import PROGRAM, environment
from tests.support.hooks import is_asleep
from tests.support.postgres import new_database
from tests.support.waiting import wait_until

EVENT: Final = "order.created"
KEYS_TEXT: Final = new_key("bench")
KEYS: Final = KeyRing.parse(KEYS_TEXT)
CONFIG: Final = Config(
    webhooks=WebhooksConfig(allow_http=True, allow_cidrs=["127.0.0.0/8"], events={EVENT: EventDefinition()})
)
PAYLOAD: Final = """{"id": 81734, "number": "2026-81734", "customer": {"id": 7, "email": "somebody@example.com"}, \
"currency": "EUR", "total": "129.90", "lines": [{"sku": "A-1200", "quantity": 2, "price": "39.95"}, \
{"sku": "B-7", "quantity": 1, "price": "50.00"}], "note": "The customer asked for an invoice by post."}"""
_LOG: Final = "worker.log"
_STILL_SECONDS: Final = 0.5
_CONFIG_FILE: Final = f"""
[webhooks]
allow_http = true
allow_cidrs = ["127.0.0.0/8"]
[webhooks.events."{EVENT}"]
"""
_GUARD: Final = Guard.of(CONFIG.webhooks)
# one message for each delivery: the n-th endpoint is that of the n-th tenant
_FILL: Final = """
select svc.send_many(%s, array_agg(%s::json), null, array_agg('tenant-' || (n %% %s)))
  from generate_series(1, %s) n group by n / 1000
"""


@dataclass(frozen=True, slots=True)
class Server:
    """A server, and the name of its template database with svc-pg installed."""

    maintenance: str
    template: str

    def database(self) -> AbstractContextManager[str]:
        """The conninfo of a new database with svc-pg and its event, for the time of the block."""
        return new_database(self.maintenance, template=self.template)


@contextmanager
def prepared(maintenance: str) -> Iterator[Server]:
    """Install svc-pg once."""
    with new_database(maintenance) as conninfo:
        with psycopg.connect(conninfo) as conn:
            schema.install(conn, CONFIG)
        yield Server(maintenance, str(conninfo_to_dict(conninfo)["dbname"]))


def add_endpoints(
    conninfo: str, url: str, *, count: int = 1, is_tenants: bool = False, tenant: str | None = None, **options: Any
) -> list[str]:
    """Register endpoints for all messages, or the n-th only for those of ``tenant-n``; returns their ids."""
    with psycopg.connect(conninfo) as conn:
        ids = []
        for number in range(count):
            registration = endpoints.create(
                url=url,
                events=[EVENT],
                keys=KEYS,
                guard=_GUARD,
                tenant=f"tenant-{number}" if is_tenants else tenant,
                **options,
            )
            ids.append(fetch_one(conn, registration).id)
        return ids


def fill(conninfo: str, *, endpoints: int, deliveries: int) -> None:
    """Send a number of messages, each to one endpoint, in turn."""
    with psycopg.connect(conninfo) as conn:
        send_to_each(conn, endpoints=endpoints, deliveries=deliveries)


def send_to_each(conn: psycopg.Connection, *, endpoints: int, deliveries: int) -> None:
    """As ``fill``, in the caller's transaction."""
    conn.execute(_FILL, (EVENT, PAYLOAD, endpoints, deliveries))


def empty(conninfo: str) -> None:
    """Delete every message and delivery, so that each candidate begins alike."""
    with psycopg.connect(conninfo) as conn:
        conn.execute(
            "truncate svc.webhook_queue, svc.webhook_freed, svc.webhook_parked_endpoints, svc.webhook_leases,"
            " svc.webhook_deliveries, svc.webhook_messages, svc.webhook_delivery_attempts restart identity"
        )


@dataclass(frozen=True, slots=True)
class WorkerProcess:
    """``svc-pg worker``, and the folder with its configuration and its log."""

    process: "subprocess.Popen[bytes]"
    folder: Path

    def check(self) -> None:
        """Raise if it has ended, which it should not."""
        if self.process.poll() is not None:
            log = (self.folder / _LOG).read_text(errors="replace")
            raise RuntimeError(f"the worker has ended with exit code {self.process.returncode}:\n{log}")

    def wait_until_asleep(self, conninfo: str) -> None:
        """Wait until it holds the lock that makes senders wake it (see sql/webhooks/webhook_notify.sql.j2)."""

        def sleeps() -> bool:
            self.check()
            return is_asleep(conn)

        with psycopg.connect(conninfo, autocommit=True) as conn:
            wait_until(sleeps, "the worker sleeps")

    def wait_until_idle(self) -> None:
        """Wait until all its processes have started and are idle."""
        used = [processor.seconds(self.process.pid)]

        def is_idle() -> bool:
            self.check()
            time.sleep(_STILL_SECONDS)
            used.append(processor.seconds(self.process.pid))
            return used[-1] - used[-2] < 0.1 * _STILL_SECONDS

        wait_until(is_idle, "the worker does nothing")

    def kill(self) -> None:
        """End it as a crash does."""
        self.process.kill()  # its other processes see that and end
        self.process.wait()


@contextmanager
def worker(conninfo: str, *, concurrency: int | None = None, processes: int = 1) -> Iterator[WorkerProcess]:
    """Run a worker until the block ends, at its default concurrency unless told."""
    with TemporaryDirectory(prefix="svc-pg-worker-") as folder:
        started = start_worker(conninfo, Path(folder), concurrency=concurrency, processes=processes)
        try:
            yield started
        finally:
            started.kill()  # it would wait for receivers that do not answer


def start_worker(
    conninfo: str,
    folder: Path,
    *,
    concurrency: int | None = None,
    processes: int = 1,
    configuration: str = _CONFIG_FILE,
    options: Sequence[str] = (),
) -> WorkerProcess:
    """Start a worker in this folder, with more ``options`` of its command; the caller ends it."""
    (folder / "svc-pg.toml").write_text(configuration)
    command: list[Any] = [PROGRAM, "worker", "--database-url", conninfo, "--processes", str(processes), *options]
    if concurrency is not None:
        command += ["--concurrency", str(concurrency)]
    with (folder / _LOG).open("ab") as log:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=environment(SVC_ENCRYPTION_KEYS=KEYS_TEXT),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            process_group=0,  # Ctrl-C is for the benchmark, which stops it
        )
    return WorkerProcess(process, folder)

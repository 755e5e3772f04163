"""The server crashes beside writers, again and again: log, queue and seals have what clients were told, and no more."""

import os
import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from random import Random
from threading import Thread

import psycopg
from psycopg import sql

from svc_pg import audit, schema, webhooks
from svc_pg.database.query import scalar
from svc_pg.testing.databases import address_beside, create
from tests.support.chance import chance
from tests.support.hooks import endpoint, hooks_config
from tests.support.postgres import DURABLE, embedded_programs, restartable
from tests.support.receiver import receiving
from tests.support.replay import contents, replay
from tests.support.waiting import wait_until
from tests.support.worker_process import worker_process

SETTINGS = (*DURABLE, "--max_prepared_transactions=50", "--max_wal_size=64MB")
WRITERS = 6
ROUNDS = 3
ORDERS_PER_ROUND = 300
EVENT = "order.created"
CONFIG = hooks_config(EVENT)
CONFIG.audit.table("public.orders")
KEY = audit.SealKey("s1", b"k" * 32)

HAS_ROW = "select id from orders"
HAS_ENTRY = "select record_id::int from svc.audit_logs where table_name = 'public.orders' and operation = 'INSERT'"
HAS_MESSAGE = "select (payload::json ->> 'id')::int from svc.webhook_messages"


class Writer(Thread):
    """Orders with their messages, half of them by two-phase commits, until the server is gone."""

    def __init__(self, conninfo: str, numbers: Iterator[int], chances: Random) -> None:
        super().__init__(daemon=True)
        self.conninfo, self.numbers, self.chances = conninfo, numbers, chances
        self.told: dict[int, str] = {}
        """The server's word on each order: nothing yet, or that it is prepared, committed or rolled back."""

    def run(self) -> None:
        try:
            with psycopg.connect(self.conninfo) as conn:
                for number in self.numbers:
                    self._order(conn, number)
        except psycopg.OperationalError:
            pass  # the end that was wanted

    def _order(self, conn: psycopg.Connection, number: int) -> None:
        is_prepared, is_kept = self.chances.random() < 0.5, self.chances.random() < 0.9
        self.told[number] = "nothing"
        if is_prepared:
            conn.tpc_begin(str(number))
        conn.execute("insert into orders values (%s, 1)", (number,))
        conn.execute("update orders set quantity = quantity + 1 where id = %s", (self.chances.randint(1, number),))
        webhooks.send(conn, EVENT, {"id": number})
        if is_prepared:
            conn.tpc_prepare()
            self.told[number] = "prepared"
            conn.tpc_commit() if is_kept else conn.tpc_rollback()
        else:
            conn.commit() if is_kept else conn.rollback()
        self.told[number] = "committed" if is_kept else "rolled back"


class Sealer(Thread):
    """Seals the log beside the writers, until the server is gone."""

    def __init__(self, conninfo: str) -> None:
        super().__init__(daemon=True)
        self.conninfo = conninfo
        self.sealed = 0
        """The last seal that was told to be there."""

    def run(self) -> None:
        try:
            with psycopg.connect(self.conninfo, autocommit=True) as conn:
                while True:
                    audit.seal(conn, key=KEY)
                    self.sealed = newest_seal(conn)
        except psycopg.OperationalError:
            pass


def test_what_was_told_is_there_after_each_crash_and_what_was_not_is_there_wholly_or_not_at_all() -> None:
    numbers, told, chances = count(1), dict[int, str](), chance(7)
    with restartable(embedded_programs(), settings=SETTINGS) as start, receiving() as receiver:
        with start() as server:
            with psycopg.connect(server, autocommit=True) as conn:
                database = address_beside(server, create(conn, template="template0"))
            with psycopg.connect(database, autocommit=True) as conn:
                conn.execute("create table orders (id int primary key, quantity int not null)")
                schema.install(conn, CONFIG)
            endpoint(database, CONFIG, receiver.url)
        for _ in range(ROUNDS):
            writers = [Writer(database, numbers, Random(chances.random())) for _ in range(WRITERS)]
            with start():
                sealer = Sealer(database)
                with crashing(database):
                    for thread in (sealer, *writers):
                        thread.start()
                    wait_until(lambda: sum(len(writer.told) for writer in writers) > ORDERS_PER_ROUND, "many orders")  # noqa: B023
                for thread in (sealer, *writers):
                    thread.join(timeout=60)
                    assert not thread.is_alive()
            for writer in writers:
                told |= writer.told
            with start(), psycopg.connect(database, autocommit=True) as conn:
                told |= finish_prepared(conn, told, chances)
                check(conn, told, sealed=sealer.sealed)
        with start(), worker_process(database, CONFIG), psycopg.connect(database, autocommit=True) as conn:
            wait_until(
                lambda: scalar(conn, "select not exists (select from svc.webhook_deliveries where status = 'pending')"),
                "all is delivered",
            )
            assert {request.headers["webhook-id"] for request in receiver.requests} == {
                str(identity) for (identity,) in conn.execute("select id from svc.webhook_deliveries").fetchall()
            }


@contextmanager
def crashing(database: str) -> Iterator[None]:
    """Leave to end the server at once, as if the machine had lost its power but for what was written."""
    with psycopg.connect(database) as conn:
        data = Path(scalar(conn, "show data_directory"))
    yield
    os.kill(int((data / "postmaster.pid").read_text().split()[0]), signal.SIGQUIT)


def finish_prepared(conn: psycopg.Connection, told: Mapping[int, str], chances: Random) -> dict[int, str]:
    """Commit or roll back what was prepared as the server ended; returns what was said of each."""
    found = {int(name) for (name,) in conn.execute("select gid from pg_prepared_xacts").fetchall()}
    assert {told[number] for number in found} <= {"nothing", "prepared"}
    said = {number: chances.choice(["committed", "rolled back"]) for number in sorted(found)}
    for number, end in said.items():
        verb = sql.SQL("commit prepared" if end == "committed" else "rollback prepared")
        conn.execute(sql.SQL("{} {}").format(verb, str(number)))
    return said


def check(conn: psycopg.Connection, told: Mapping[int, str], *, sealed: int) -> None:
    """Compare rows, entries, messages and seals with each other, and with what was told."""
    there = {number for (number,) in conn.execute(HAS_ROW).fetchall()}
    assert {number for number, what in told.items() if what == "committed"} <= there
    assert not there & {number for number, what in told.items() if what == "rolled back"}
    assert there <= told.keys()
    for query in (HAS_ENTRY, HAS_MESSAGE):
        assert sorted(number for (number,) in conn.execute(query).fetchall()) == sorted(there), query
    conn.execute("create temp table copy (like orders)")
    replay(conn, "public.orders", into=sql.Identifier("copy"))
    assert contents(conn, sql.Identifier("copy")) == contents(conn, sql.Identifier("orders"))
    assert sealed <= newest_seal(conn)
    audit.seal(conn, key=KEY)
    assert audit.verify(conn, public_keys=KEY.public).is_intact


def newest_seal(conn: psycopg.Connection) -> int:
    seals = audit.seals(conn, limit=1)
    return seals[0].number if seals else 0

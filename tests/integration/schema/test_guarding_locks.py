"""The locks that guard something need rights: whoever only reads, sends or owns a table cannot hold them."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any, Final

import psycopg
import pytest
from psycopg.errors import InsufficientPrivilege

from svc_pg import Config, audit, schema, webhooks
from svc_pg.audit import SealKey
from svc_pg.database.advisory_locks import CLASS, Lock
from svc_pg.database.query import scalar
from svc_pg.errors import InstallError
from tests.support.hooks import endpoint, hooks_config, install, working
from tests.support.postgres import Prepare
from tests.support.receiver import receiving
from tests.support.roles import as_role, execute, new_role
from tests.support.tables import audited
from tests.support.waiting import wait_until

Connection = psycopg.Connection[Any]

AT_ONCE: Final = timedelta(milliseconds=50)
NEVER: Final = timedelta(hours=1)
KEY: Final = SealKey("s1", b"k" * 32)
CONFIG: Final = Config(audit=audited("customer").audit, webhooks=hooks_config("order.created").webhooks)
LOCKS: Final = ("svc.webhook_claim_lock", "svc.audit_seal_lock", "svc.installation", "svc.audit_epoch")
# the weakest mode in which one holder excludes another, and all above it
MODES: Final = ("share update exclusive", "share", "share row exclusive", "exclusive", "access exclusive")


@pytest.fixture(scope="module")
def prepare() -> Prepare:
    def prepare(conninfo: str) -> None:
        execute(conninfo, "create table customer (id int primary key)")
        install(conninfo, CONFIG)

    return prepare


@pytest.fixture
def db(database: str) -> Iterator[Connection]:
    with psycopg.connect(database, autocommit=True) as conn:
        yield conn


@pytest.fixture
def role(postgres: str) -> Iterator[str]:
    with new_role(postgres) as name:
        yield name


def send(conninfo: str) -> None:
    with psycopg.connect(conninfo) as conn:
        webhooks.send(conn, "order.created", {})


@pytest.mark.parametrize("right", ["svc_reader", "svc_sender", "owner of an audited table", "svc_admin"])
def test_no_reader_sender_or_owner_of_a_table_can_hold_a_lock(
    database: str, db: Connection, role: str, right: str
) -> None:
    if right.startswith("svc_"):
        execute(database, "grant {} to {}", right, role)
    else:
        execute(database, "create schema authorization {}", role)
        with as_role(database, role) as own:
            own.execute("create table mine (id int primary key)")
        schema.install(db, Config(audit=audited("customer", f"{role}.mine").audit, webhooks=CONFIG.webhooks))
    with as_role(database, role) as hostile:
        for lock in LOCKS:
            if right == "svc_admin" and lock == "svc.webhook_claim_lock":
                continue  # who may claim may also keep others from it
            for mode in MODES:
                refused(hostile, f"lock table {lock} in {mode} mode")
            for strength in ("update", "no key update", "share", "key share"):
                refused(hostile, f"select from {lock} for {strength}")
        for lock in LOCKS:  # what a reader may hold
            with hostile.transaction():
                if hostile.execute("select has_table_privilege(%s, 'SELECT')", (lock,)).fetchone() == (True,):
                    hostile.execute(f"lock table {lock} in access share mode".encode())
        with receiving() as receiver:
            endpoint(database, CONFIG, receiver.url)
            with working(database, CONFIG, interval=NEVER):
                send(database)
                receiver.wait_for(1)
        audit.seal(db, key=KEY)
    execute(database, "drop owned by {} cascade", role)


def refused(conn: Connection, statement: str) -> None:
    with pytest.raises(InsufficientPrivilege), conn.transaction():
        conn.execute(statement.encode())


def test_a_role_of_administration_claims(database: str, role: str) -> None:
    execute(database, "grant svc_admin to {}", role)
    endpoint(database, CONFIG, "http://127.0.0.1:9/")
    send(database)
    with as_role(database, role) as worker:
        assert len(worker.execute("select from svc.webhook_claim('worker', 10)").fetchall()) == 1
        worker.rollback()
    execute(database, "drop owned by {}", role)


def test_neither_analyze_in_a_transaction_nor_a_dump_keeps_others_from_a_claim_or_a_seal(
    database: str, db: Connection
) -> None:
    endpoint(database, CONFIG, "http://127.0.0.1:9/")
    send(database)
    with psycopg.connect(database) as other:
        other.execute("analyze")
        for (table,) in other.execute(
            "select format('%I', tablename) from pg_tables where schemaname = 'svc'"
        ).fetchall():
            other.execute(f"lock table svc.{table} in access share mode".encode())
        db.execute("set lock_timeout = '1s'")
        assert len(db.execute("select from svc.webhook_claim('worker', 10)").fetchall()) == 1
        audit.seal(db, key=KEY)


def test_an_install_that_waits_in_vain_names_the_session_of_the_other(database: str, db: Connection) -> None:
    with psycopg.connect(database, application_name="deploy") as other:
        pid = other.info.backend_pid
        for statement in ("lock table svc.installation in share update exclusive mode", advisory(Lock.INSTALL)):
            other.execute(statement.encode())
            with pytest.raises(
                InstallError,
                match=rf"another install has been running for more than 0\.05 s: pid {pid}, role postgres,"
                r" application deploy, idle in transaction\n",
            ):
                schema.install(db, CONFIG, wait_for_install=AT_ONCE)
            other.rollback()
        assert schema.install(db, CONFIG, wait_for_install=AT_ONCE) == []


def advisory(lock: Lock | int) -> str:
    return f"select pg_advisory_xact_lock({CLASS}, {int(lock)})"


def test_an_upgrade_waits_for_claims_under_way_which_have_the_lock_of_before(database: str, db: Connection) -> None:
    endpoint(database, CONFIG, "http://127.0.0.1:9/")
    send(database)
    use_the_claim_of_before(db)
    db.execute("delete from svc.migrations where name = 'claim_lock'")
    with (
        psycopg.connect(database) as claiming,
        psycopg.connect(database) as installing,
        ThreadPoolExecutor() as threads,
    ):
        assert len(claiming.execute("select from svc.webhook_claim('old', 10)").fetchall()) == 1
        upgrade = threads.submit(schema.install, installing, CONFIG)
        wait_until(
            lambda: scalar(
                db,
                "select exists (select from pg_locks where not granted"
                " and relation = 'svc.webhook_parked_endpoints'::regclass)",
            ),
            "the upgrade waits",
        )
        claiming.commit()
        assert {step.identity for step in upgrade.result(30)} >= {"svc.webhook_claim"}
    assert [entry for entry in schema.status(db, CONFIG) if entry.state != "ok"] == []


def test_a_claim_that_began_before_an_upgrade_excludes_those_of_after_it(database: str, db: Connection) -> None:
    endpoint(database, CONFIG, "http://127.0.0.1:9/")
    send(database)
    use_the_claim_of_before(db)  # and its other functions are those of after
    with psycopg.connect(database) as after:
        after.execute("lock table svc.webhook_claim_lock in share update exclusive mode")
        with pytest.raises(psycopg.errors.LockNotAvailable):
            db.execute("select from svc.webhook_claim('old', 10)")


def use_the_claim_of_before(conn: Connection) -> None:
    now: str = scalar(conn, "select pg_get_functiondef('svc.webhook_claim'::regproc)")
    before = now.replace(
        "lock table svc.webhook_claim_lock in share update exclusive mode",
        f"perform pg_advisory_xact_lock({CLASS}, 2)",
    ).replace("SET lock_timeout TO '5 s'", "SET lock_timeout TO '100 ms'")
    assert before != now
    conn.execute(before.encode())

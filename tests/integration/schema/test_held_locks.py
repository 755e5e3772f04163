"""A role that may merely connect holds every advisory lock of svc-pg, and nothing waits for it."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any, Final, LiteralString

import psycopg
import pytest

from svc_pg import Config, audit, schema, webhooks
from svc_pg.audit import SealKey
from svc_pg.database.advisory_locks import CLASS
from svc_pg.maintenance import maintain
from svc_pg.schema.postgres.sql_script import script
from tests.support.hooks import endpoint, hooks_config, install, working
from tests.support.postgres import Prepare, new_database
from tests.support.receiver import receiving
from tests.support.roles import as_role, execute, new_role
from tests.support.tables import audited
from tests.support.waiting import wait_until

Connection = psycopg.Connection[Any]

AT_ONCE: Final = timedelta(milliseconds=50)
NEVER: Final = timedelta(hours=1)
KEY: Final = SealKey("s1", b"k" * 32)
DDL: Final = "create table customer (id int primary key)"
CONFIG: Final = Config(audit=audited("customer").audit, webhooks=hooks_config("order.created").webhooks)
RETENTION: Final = Config.model_validate({"audit": {"retention_days": 30, "tables": [{"name": "customer"}]}})


@pytest.fixture(scope="module")
def prepare() -> Prepare:
    def prepare(conninfo: str) -> None:
        execute(conninfo, DDL)
        install(conninfo, CONFIG)

    return prepare


@pytest.fixture
def db(database: str) -> Iterator[Connection]:
    with psycopg.connect(database, autocommit=True) as conn:
        yield conn


@pytest.fixture(params=["", "_shared"])
def mode(request: pytest.FixtureRequest) -> LiteralString:
    found: LiteralString = request.param
    return found


@pytest.fixture
def stranger(postgres: str) -> Iterator[str]:
    with new_role(postgres) as role:
        yield role


@pytest.fixture
def held(database: str, stranger: str, mode: LiteralString) -> Iterator[None]:
    with as_role(database, stranger) as hostile:
        hold_all(hostile, mode)
        yield


def hold_all(hostile: Connection, mode: LiteralString = "") -> None:
    """Hold the locks of this release, and those of before."""
    hostile.execute("select pg_advisory_lock" + mode + "(%s, n) from generate_series(0, 10) n", (CLASS,))
    hostile.commit()


def send(conninfo: str) -> None:
    with psycopg.connect(conninfo) as conn:
        webhooks.send(conn, "order.created", {})


@pytest.mark.usefixtures("held")
def test_deliveries_are_sent_and_workers_listen(database: str, caplog: pytest.LogCaptureFixture) -> None:
    with receiving() as receiver:
        endpoint(database, CONFIG, receiver.url)
        with working(database, CONFIG, interval=NEVER), working(database, CONFIG, interval=NEVER):
            for number in range(4):
                send(database)
                receiver.wait_for(number + 1)
    assert "the worker polls every 3600" not in caplog.text


@pytest.mark.usefixtures("held")
def test_a_worker_names_who_holds_the_locks(
    database: str,
    stranger: str,
    mode: LiteralString,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr("svc_pg.webhooks.worker.wakeup._TELL_AFTER", 0.0)
    with working(database, CONFIG, interval=NEVER):
        wait_until(lambda: "keeps the lock of those who send" in caplog.text, "it names the session")
    [sleeping] = [message for message in caplog.messages if "of the worker that sleeps" in message]
    [sending] = [message for message in caplog.messages if "of those who send" in message]
    assert f"role {stranger}, application" in sleeping
    assert f"role {stranger}, application" in sending
    assert ("each send notifies" in sending) == (mode == "")


@pytest.mark.usefixtures("held")
def test_an_install_waits_for_no_stranger(db: Connection) -> None:
    db.execute("drop trigger audit_guard_truncate on svc.audit_logs; drop function svc.webhook_notify")
    assert {step.kind for step in schema.install(db, CONFIG, wait_for_install=AT_ONCE)} == {"trigger", "function"}
    assert [entry for entry in schema.status(db, CONFIG) if entry.state != "ok"] == []
    assert schema.uninstall(db)


def test_a_script_waits_for_no_stranger(postgres: str, stranger: str, template: str, mode: LiteralString) -> None:
    del template  # whose install made the roles of svc
    with new_database(postgres) as conninfo, as_role(conninfo, stranger) as hostile:
        hold_all(hostile, mode)
        execute(conninfo, DDL)
        with psycopg.connect(conninfo, autocommit=True) as conn:
            conn.execute("set statement_timeout = '30s'")
            file = script(conn, CONFIG)
            assert file is not None
            for text in (file.upgrade, file.downgrade):
                with conn.transaction():
                    conn.execute(text.encode())


def test_two_first_installs_beside_a_stranger_both_end_well(
    postgres: str, stranger: str, template: str, mode: LiteralString
) -> None:
    del template  # whose install made the roles of svc
    with new_database(postgres) as conninfo, as_role(conninfo, stranger) as hostile:
        hold_all(hostile, mode)
        execute(conninfo, DDL)

        with ThreadPoolExecutor() as threads:
            list(threads.map(install, [conninfo] * 2, [CONFIG] * 2))
        with psycopg.connect(conninfo, autocommit=True) as conn:
            assert [entry for entry in schema.status(conn, CONFIG) if entry.state != "ok"] == []


@pytest.mark.usefixtures("held")
def test_the_log_is_sealed_verified_purged_erased_and_maintained(db: Connection) -> None:
    db.execute("insert into customer values (1), (2)")
    db.execute(
        "insert into svc.audit_logs (table_name, table_oid, operation, record_id, timestamp)"
        " values ('public.customer', 0, 'INSERT', '7', now() - interval '100 days')"
    )
    db.execute("set statement_timeout = '30s'")
    assert maintain(db, CONFIG)
    audit.seal(db, key=KEY)
    assert audit.purge(db, config=RETENTION.audit).partitions
    audit.erase(db, "customer", 1)
    found = audit.verify(db, public_keys=KEY.public)
    assert (found.erased, found.findings) == (1, [])

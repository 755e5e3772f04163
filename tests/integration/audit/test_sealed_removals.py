"""Seals tell what purges and erasures removed from what somebody else removed."""

import asyncio
import threading
from collections.abc import Iterator
from datetime import timedelta
from typing import Any, LiteralString

import psycopg
import pytest

from svc_pg import Config, audit, maintenance, schema
from svc_pg.audit import Seal, SealKey, Verification
from svc_pg.database import performing
from svc_pg.database.performing import ByRanges
from svc_pg.database.query import Query, fetch, scalar
from svc_pg.seals.database import log_verification
from svc_pg.seals.database.leaf_queries import CONTENT, DIGEST, WHO, leaves_of
from svc_pg.seals.verification.comparison import Comparison, compare
from svc_pg.seals.writing import sealing
from tests.support.postgres import Prepare
from tests.support.tables import audited, create_and_audit

Connection = psycopg.Connection[Any]

KEY = SealKey("s1", b"k" * 32)
GUARDED = (
    "svc.audit_logs",
    "svc.audit_seals",
    "svc.audit_seal_leaves",
    "svc.audit_removed_leaves",
    "svc.audit_removals",
)
LEAVES = "select array_agg(inhrelid::regclass::text) from pg_inherits where inhparent = 'svc.audit_logs'::regclass"
DDL = "create table customer (id text primary key, a text); create table session (id int primary key)"
CONFIG = audited("customer", "session")
RETENTION = Config.model_validate(
    {
        "audit": {
            "retention_days": 400,
            "tables": [{"name": "customer", "retention_days": 4000}, {"name": "session", "retention_days": 30}],
        }
    }
).audit


@pytest.fixture(scope="module")
def prepare() -> Prepare:
    return lambda conninfo: create_and_audit(conninfo, DDL, CONFIG)


@pytest.fixture
def db(database: str) -> Iterator[Connection]:
    with psycopg.connect(database, autocommit=True) as conn:
        yield conn


def unguarded(conn: Connection) -> None:
    """Have no guards, as a superuser can."""
    conn.execute("set session_replication_role = replica")
    for table in (*GUARDED, *scalar(conn, LEAVES)):
        conn.execute(f"alter table {table} disable trigger all")


def write(conn: Connection, table: str, *ages: int) -> None:
    """An entry of each age in days, in the partition of its month."""
    for age in ages:
        conn.execute(
            "insert into svc.audit_logs (table_name, table_oid, operation, record_id, timestamp)"
            " values (%s, 0, 'INSERT', %s::int, now() - make_interval(days => %s))",
            (table, age, age),
        )
    conn.execute("select svc.audit_ensure_partitions()")


def verified(conn: Connection) -> Verification:
    return audit.verify(conn, public_keys=KEY.public)


def said(conn: Connection) -> list[str]:
    return [finding.message.split(":")[0] for finding in verified(conn).findings]


def test_a_purge_waits_for_what_an_interrupted_sealing_left(db: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(_: Seal) -> None:
        raise InterruptedError

    write(db, "public.session", *range(100, 110))
    monkeypatch.setattr(sealing, "MOST_ENTRIES", 4)
    with pytest.raises(InterruptedError):
        audit.seal(db, key=KEY, progress=stop)
    assert scalar(db, "select now() - svc.audit_unsealed_since() > interval '108 days'")
    assert scalar(db, "select lag > interval '108 days' from svc.audit_seal_lag()")
    assert audit.purge(db, config=RETENTION).entries == 0
    audit.seal(db, key=KEY)
    found = verified(db)
    assert (found.entries, found.purged, found.unsealed, found.findings) == (10, 0, 0, [])


def test_a_purge_waits_for_the_first_seal_after_a_restore(db: Connection) -> None:
    write(db, "public.session", 100)
    audit.seal(db, key=KEY)
    assert scalar(db, "select svc.audit_unsealed_since()") is None
    assert scalar(db, "select lag = interval '0' from svc.audit_seal_lag()")
    db.execute("insert into svc.audit_epochs (name, began_at) values ('next', now() - interval '90 days')")
    db.execute(
        "insert into svc.audit_logs (xact_id, table_name, table_oid, operation, timestamp)"
        " values (1, 'public.session', 0, 'INSERT', now() - interval '80 days')"
    )
    assert scalar(db, "select now() - svc.audit_unsealed_since() > interval '79 days'")
    assert scalar(db, "select lag > interval '79 days' from svc.audit_seal_lag()")


def test_the_claims_of_purges_are_read_once_for_many_seals(db: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    write(db, "public.customer", *range(100, 110))  # keeps the months
    write(db, "public.session", *range(100, 110))
    monkeypatch.setattr(sealing, "MOST_ENTRIES", 1)
    audit.seal(db, key=KEY)
    assert audit.purge(db, config=RETENTION).entries == 10
    asked: list[Query[Any]] = []

    def noted(conn: Connection, query: Query[Any]) -> list[Any]:
        asked.append(query)
        return fetch(conn, query)

    monkeypatch.setattr(performing, "fetch", noted)
    found = verified(db)
    assert (found.purged, found.findings) == (10, [])
    assert sum("l.label in" in query.text for query in asked) == 1


@pytest.mark.parametrize("statement", ["delete from svc.audit_logs", "delete from svc.audit_seal_leaves"])
def test_many_differences_end_a_verification_early(
    db: Connection, monkeypatch: pytest.MonkeyPatch, statement: LiteralString
) -> None:
    write(db, "public.session", *range(1, 41))
    monkeypatch.setattr(sealing, "MOST_ENTRIES", 1)
    monkeypatch.setattr(log_verification, "MOST_ENTRIES", 1)
    monkeypatch.setattr(log_verification, "MOST_FINDINGS", 5)
    audit.seal(db, key=KEY)
    unguarded(db)
    db.execute(statement)
    seen: list[int] = []
    found = audit.verify(db, public_keys=KEY.public, progress=seen.append)
    assert (len(found.findings), found.is_complete) == (5, False)
    assert len(seen) < 10  # of 40 seals


def test_a_cut_report_is_not_complete(db: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_verification, "MOST_FINDINGS", 2)
    write(db, "public.session", 1, 2, 3)
    audit.seal(db, key=KEY)
    unguarded(db)
    for kept, is_complete in ((1, True), (0, False)):
        db.execute(
            "delete from svc.audit_logs where id in (select id from svc.audit_logs order by id offset %s)", (kept,)
        )
        found = verified(db)
        assert (len(found.findings), found.is_complete) == (2, is_complete)


def test_a_replaced_function_hides_no_change(db: Connection) -> None:
    db.execute("insert into customer values ('1', 'x')")
    audit.seal(db, key=KEY)
    unguarded(db)
    db.execute("update svc.audit_logs set actor_id = 'mallory' where table_name = 'public.customer'")
    db.execute(
        "create or replace function svc.audit_leaf(l svc.audit_logs) returns bytea language sql stable parallel safe"
        " as $$ select substring(k.leaves from position(int8send(l.id) in k.leaves) + 16 for 32)"
        " from svc.audit_seal_leaves k limit 1 $$"
    )
    [finding] = verified(db).findings
    assert "actor_id was null" in finding.message


def test_the_function_makes_the_digest_that_seals_have(db: Connection) -> None:
    db.execute("insert into customer values ('1', 'x')")
    for key in ("5", "[7, 1]", "0190a5c8-1111-7abc-8def-0123456789ab", "bob", '[7, "bob"]', "5 ", "erased:x"):
        audit.capture_log(db, "files", "UPDATE", record_id=key)
    text = (
        f"select svc.audit_leaf(l) = {DIGEST} and svc.audit_content(l) = {CONTENT} and svc.audit_first_part(l) = {WHO}"
    )
    assert db.execute(text + " from svc.audit_logs l").fetchall() == [(True,)] * 8
    found = db.execute(
        "select svc.audit_first_part(l)::jsonb ->> 5 from svc.audit_logs l order by id offset 1"
    ).fetchall()
    kept = ["5", "[7, 1]", "0190a5c8-1111-7abc-8def-0123456789ab", None, None, None, None]
    assert [key for (key,) in found] == kept


def age_all(conn: Connection, *, keep: str) -> None:
    """Drop all partitions as if 300 days had passed, without the one that has a table's entries."""
    for partition in conn.execute("select inhrelid from pg_inherits where inhparent = 'svc.audit_logs'::regclass"):
        conn.execute(
            "select svc.audit_purge_partition(%s, now() + interval '300 days', %s, array[null::timestamptz])",
            (*partition, [keep]),
        )


def test_purges_and_erasures_are_known_after_their_own_entries_were_purged(db: Connection) -> None:
    write(db, "public.session", 500)
    write(db, "public.customer", 500, 501)
    audit.seal(db, key=KEY)
    audit.erase(db, "customer", "500")
    audit.seal(db, key=KEY)
    assert audit.purge(db, config=RETENTION).entries == 1
    audit.seal(db, key=KEY)
    age_all(db, keep="public.customer")
    audit.seal(db, key=KEY)
    labels = db.execute("select label from svc.audit_logs where label is not null and timestamp < now()").fetchall()
    assert {label for (label,) in labels} == {"audit log purged"}  # the erasure's entry is gone
    found = verified(db)
    assert (found.findings, found.erased) == ([], 1)
    assert found.purged >= 3


def test_a_claim_is_proven_by_the_seal_of_an_entry_that_was_purged_itself(db: Connection) -> None:
    write(db, "public.session", 100)
    write(db, "public.customer", 101)
    audit.seal(db, key=KEY)
    assert audit.purge(db, config=RETENTION).entries == 1
    audit.seal(db, key=KEY)
    age_all(db, keep="public.customer")
    audit.seal(db, key=KEY)
    [(first, *_)] = db.execute("select entry_id from svc.audit_removals order by entry_id limit 1")
    assert db.execute("select from svc.audit_logs where id = %s", (first,)).fetchall() == []
    assert verified(db).findings == []
    unguarded(db)
    lie = f"entry {first} is said to tell of a purge or an erasure, and the log never had such an entry"
    for forged in (
        "content = replace(content, '\"entries\": 1', '\"entries\": 9')",
        "content = content || ' '",
        "content = 'x'",
        "who = replace(who, 'postgres', 'mallory')",
        '"timestamp" = now()',
    ):
        with db.transaction(force_rollback=True):
            db.execute(f"update svc.audit_removals set {forged} where entry_id = %s", (first,))
            assert lie in said(db)
            assert len(said(db)) == 2  # what that purge removed too
    with db.transaction(force_rollback=True):
        db.execute("delete from svc.audit_removals where entry_id = %s", (first,))
        assert len(said(db)) == 1  # what that purge removed
    db.execute("update svc.audit_removals set entry_id = 4711 where entry_id = %s", (first,))
    assert len(said(db)) == 2


def test_maintenance_removes_the_leaves_of_months_that_were_dropped(
    db: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("svc_pg.maintenance.batches._BATCH", 2)
    write(db, "public.session", *range(100, 107))
    write(db, "public.customer", *range(100, 107))
    audit.seal(db, key=KEY)
    assert audit.purge(db, config=RETENTION).entries == 7
    audit.seal(db, key=KEY)
    leaves = "select count(*) from svc.audit_removed_leaves"
    assert maintenance.maintain(db, Config())
    assert scalar(db, leaves) == 7  # customers keep their months
    age_all(db, keep="nothing")
    audit.seal(db, key=KEY)
    with db.transaction():
        db.execute("set local role svc_admin")
        with db.transaction(force_rollback=True):
            assert scalar(db, "select svc.audit_prune_leaves(1)") > 0  # those of one month, and so of one purge
        with pytest.raises(psycopg.errors.InsufficientPrivilege), db.transaction():
            db.execute("delete from svc.audit_removed_leaves")
    assert (verified(db).findings, scalar(db, leaves)) == ([], 7)
    assert maintenance.maintain(db, Config())
    assert (verified(db).findings, scalar(db, leaves)) == ([], 0)
    assert verified(db).purged >= 14
    assert [entry for entry in schema.status(db, CONFIG) if entry.state != "ok" and "guard" in entry.identity] == []


def test_maintenance_keeps_the_leaves_of_months_after_one_that_was_dropped(db: Connection) -> None:
    write(db, "public.session", 100, 40)
    write(db, "public.customer", 100, 40)
    audit.seal(db, key=KEY)
    assert audit.purge(db, config=RETENTION).entries == 2
    assert len(audit.purge(db, timedelta(days=60)).partitions) == 1
    assert scalar(db, "select svc.audit_prune_leaves(10)") == 1
    audit.seal(db, key=KEY)
    assert (verified(db).findings, verified(db).purged) == ([], 3)


def test_the_seal_of_an_entry_is_known_that_a_slow_transaction_wrote_after_those_that_are_being_sealed(
    db: Connection, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(_: Seal) -> None:
        raise InterruptedError

    insert = "insert into svc.audit_logs (table_name, table_oid, operation, timestamp) values ('x', 0, 'INSERT', %s)"
    with psycopg.connect(database) as slow, psycopg.connect(database) as later:
        slow.execute("select txid_current()")
        for _ in range(9):
            later.execute(insert, ("now",))
        slow.execute(insert, ("2001-01-01",))
        slow.commit()
        audit.seal(db, key=KEY)
    monkeypatch.setattr(sealing, "MOST_ENTRIES", 4)
    with pytest.raises(InterruptedError):
        audit.seal(db, key=KEY, progress=stop)
    assert audit.purge(db, timedelta(days=365)).entries == 1
    audit.seal(db, key=KEY)
    assert verified(db).findings == []


def test_the_log_keeps_what_tells_of_purges_until_it_is_sealed(db: Connection) -> None:
    write(db, "public.session", 500)
    audit.seal(db, key=KEY)
    write(db, "svc.audit_logs", 500)
    write(db, "public.session", 501)
    assert audit.purge(db, timedelta(days=400), unsealed=True).entries == 2
    left = "select count(*) from svc.audit_logs where table_name = 'svc.audit_logs' and record_id is not null"
    assert scalar(db, left) == 1
    audit.seal(db, key=KEY)
    audit.purge(db, timedelta(days=400), unsealed=True)
    assert (scalar(db, left), verified(db).findings) == (0, [])


def test_an_erasure_from_before_the_first_seal_needs_no_entry(db: Connection) -> None:
    write(db, "public.customer", 500)
    audit.erase(db, "customer", "500")
    age_all(db, keep="public.customer")  # no seal has ever had the entry of the erasure
    write(db, "public.session", 1)
    assert scalar(db, "select count(*) from svc.audit_removals") == 0  # nothing was sealed that needs an explanation
    audit.seal(db, key=KEY)
    found = verified(db)
    assert (found.findings, found.erased) == ([], 1)


def test_entries_that_nobody_erased_are_named(db: Connection) -> None:
    write(db, "svc.audit_logs", 500)
    write(db, "public.customer", 500)
    db.execute("insert into customer values ('1', 'x'), ('2', 'x')")
    audit.seal(db, key=KEY)
    audit.purge(db, config=RETENTION)
    audit.seal(db, key=KEY)
    unguarded(db)
    db.execute(
        "update svc.audit_logs l set erased_leaf = sha256(convert_to(svc.audit_content(l), 'UTF8'))"
        " where record_id in ('1', '2')"
    )
    assert said(db) == [f"entry {n} was erased, and no erasure of the log says so" for n in (3, 4)]


def test_an_event_loop_goes_on_while_leaves_are_hashed(
    db: Connection, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    audit.seal(db, key=KEY)
    write(db, "public.customer", 1)
    audit.seal(db, key=KEY)

    async def verifying() -> Verification:
        loop, gone_on = asyncio.get_running_loop(), threading.Event()

        def compared(*args: Any) -> Comparison:
            for _ in range(1000):  # outlasts the queries beside it
                loop.call_soon_threadsafe(gone_on.set)
                assert gone_on.wait(timeout=10)
                gone_on.clear()
            return compare(*args)

        monkeypatch.setattr(log_verification, "compare", compared)
        async with await psycopg.AsyncConnection.connect(database) as conn:
            return await audit.averify(conn, public_keys=KEY.public)

    assert asyncio.run(verifying()).is_intact


def test_what_is_erased_and_purged_while_the_log_is_verified_is_no_difference(
    db: Connection, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(db, "public.session", 500)
    write(db, "public.customer", 500, 501)
    audit.seal(db, key=KEY)

    def removing(*arguments: Any, **options: Any) -> ByRanges[Any]:
        with psycopg.connect(database, autocommit=True) as other:
            audit.erase(other, "customer", "500")
            audit.purge(other, config=RETENTION)
        return leaves_of(*arguments, **options)

    monkeypatch.setattr(log_verification, "leaves_of", removing)
    found = verified(db)
    assert (found.findings, found.erased, found.purged, found.unsealed) == ([], 1, 1, 2)


def test_a_purge_does_not_explain_an_entry_that_was_dated_back_for_it(db: Connection) -> None:
    write(db, "public.session", 20, 100)
    write(db, "public.customer", 99, 102)  # so that no month is dropped
    audit.seal(db, key=KEY)
    unguarded(db)
    db.execute("update svc.audit_logs set timestamp = timestamp - interval '81 days' where record_id = '20'")
    db.execute("reset session_replication_role")
    assert audit.purge(db, config=RETENTION).entries == 2
    found = verified(db)
    assert ([finding.kind for finding in found.findings], found.purged) == (["deleted"], 1)

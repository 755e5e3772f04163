"""Seals tell what was changed in the log, also by a superuser with all guards off."""

import asyncio
import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import timedelta
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Any, LiteralString

import psycopg
import pytest

from svc_pg import audit
from svc_pg.audit import PublicKeys, Seal, SealKey, Verification
from svc_pg.database.query import scalar
from svc_pg.errors import (
    ConfigError,
    ConflictError,
    EncryptionKeyError,
    NotFoundError,
    ProofError,
    QueryError,
    TransactionError,
)
from svc_pg.seals.verification.copies import read_copies
from svc_pg.seals.verification.proof import Proof
from svc_pg.seals.writing import sealing
from svc_pg.seals.writing.copying import append_new, appending
from tests.support.evidence import PROGRAM
from tests.support.postgres import Prepare
from tests.support.tables import audited, create_and_audit

Connection = psycopg.Connection[Any]

KEY = SealKey("s1", b"k" * 32)
GUARDED = ("audit_logs", "audit_seals", "audit_seal_leaves", "audit_removed_leaves", "audit_removals")


@pytest.fixture(scope="module")
def prepare() -> Prepare:
    return lambda conninfo: create_and_audit(conninfo, "create table t (id int primary key, a text)", audited("t"))


@pytest.fixture
def db(database: str) -> Iterator[Connection]:
    """A log with ten entries in two seals, and guards that are off."""
    with psycopg.connect(database, autocommit=True) as conn:
        with conn.transaction(), audit.actor(conn, "alice"):
            conn.execute("insert into t select n, 'x' from generate_series(1, 5) n")
        audit.seal(conn, key=KEY)
        conn.execute("update t set a = 'y'")
        audit.seal(conn, key=KEY)
        conn.execute("set session_replication_role = replica")
        for table in GUARDED:
            conn.execute(f"alter table svc.{table} disable trigger all")
        yield conn


def verified(conn: Connection, *, key: SealKey = KEY, copies: list[Seal] | None = None) -> Verification:
    return audit.verify(conn, public_keys=key.public, copies=copies or [])


@contextmanager
def audit_guards(conn: Connection) -> Iterator[None]:
    """Have triggers and guards as usual meanwhile."""
    conn.execute("set session_replication_role = origin")
    for table in GUARDED:
        conn.execute(f"alter table svc.{table} enable trigger all")
    yield
    for table in GUARDED:
        conn.execute(f"alter table svc.{table} disable trigger all")
    conn.execute("set session_replication_role = replica")


def claim(conn: Connection, entry: int, operation: str, facts: dict[str, Any]) -> None:
    """Claim, as a superuser can, that an entry of the log tells of a purge or an erasure."""
    label = {"DELETE": "audit log purged", "UPDATE": "audit log erased"}[operation]
    who = [2, 1, "svc.audit_logs", 0, operation, None, None, None, None, "x", None, None, label, "high", None, None]
    content = [None, None, facts, None, None, None, None, None]
    conn.execute(
        "insert into svc.audit_removals values (%s, now(), %s, %s)", (entry, json.dumps(who), json.dumps(content))
    )


def said(conn: Connection) -> list[tuple[str, str | None]]:
    return [(finding.kind, finding.entry) for finding in verified(conn).findings]


def test_all_settled_entries_are_sealed_once(db: Connection) -> None:
    first, second = reversed(audit.seals(db))
    assert [(seal.number, seal.entries) for seal in (first, second)] == [(1, 5), (2, 5)]
    assert second.previous == first.digest
    assert audit.seal(db, key=KEY) == []
    found = verified(db)
    assert (found.seals, found.entries, found.unsealed, found.is_intact) == (2, 10, 0, True)
    assert found.last_seal == second


def test_entries_of_running_transactions_wait_for_the_next_seal(db: Connection, database: str) -> None:
    db.execute("set session_replication_role = origin")
    with psycopg.connect(database) as slow:
        slow.execute("insert into t values (6, 'slow')")
        db.execute("insert into t values (7, 'fast')")
        assert audit.seal(db, key=KEY) == []
        assert verified(db).unsealed == 1
    [made] = audit.seal(db, key=KEY)
    assert made.entries == 2
    assert verified(db).is_intact


FORGED: list[tuple[str, str, list[tuple[str, str | None]]]] = [
    ("content", "update svc.audit_logs set after_data = '{}' where id = 3", [("changed", "3")]),
    ("actor", "update svc.audit_logs set actor_id = 'mallory' where id = 3", [("changed", "3")]),
    ("deletion", "delete from svc.audit_logs where id in (4, 7)", [("deleted", "4"), ("deleted", "7")]),
    (
        "insertion",
        "insert into svc.audit_logs (id, xact_id, table_name, table_oid, operation) overriding system value"
        " select 99, xact_id, 'public.t', 0, 'DELETE' from svc.audit_logs where id = 3",
        [("inserted", "99")],
    ),
    ("re-dating", "update svc.audit_logs set timestamp = timestamp - interval '1 s' where id = 3", [("redated", "3")]),
    (
        "re-dating into another month",
        "update svc.audit_logs set timestamp = '2001-01-01' where id = 3",
        [("redated", "3")],
    ),
    (
        "swapped contents",
        "update svc.audit_logs l set record_id = o.record_id, after_data = o.after_data"
        " from svc.audit_logs o where (l.id, o.id) in ((2, 4), (4, 2))",
        [("swapped", "2"), ("swapped", "4")],
    ),
    (
        "another number",
        "update svc.audit_logs set id = 55 where id = 3",
        [("renumbered", "3")],
    ),
    (
        "another transaction with a seal",
        "update svc.audit_logs set xact_id = (select xact_id from svc.audit_logs where id = 9) where id = 3",
        [("changed", "3")],
    ),
    (
        "another transaction without one",
        "update svc.audit_logs set xact_id = 4000000000000 where id = 3",
        [("changed", "3")],
    ),
    ("an infinite time", "update svc.audit_logs set timestamp = 'infinity' where id = 3", [("redated", "3")]),
    ("all", "delete from svc.audit_logs", [("deleted", str(n)) for n in range(1, 11)]),
]


@pytest.mark.parametrize(("forgery", "expected"), [row[1:] for row in FORGED], ids=[row[0] for row in FORGED])
def test_a_forged_entry_is_named(db: Connection, forgery: str, expected: list[tuple[str, str | None]]) -> None:
    with db.transaction():
        db.execute("alter table svc.audit_logs alter id set generated by default")
        db.execute(forgery)
    assert said(db) == expected


def test_a_finding_says_what_differs(db: Connection) -> None:
    time = scalar(db, "select timestamp from svc.audit_logs where id = 3")
    db.execute("update svc.audit_logs set timestamp = timestamp + interval '1 hour' where id = 3")
    [finding] = verified(db).findings
    assert (finding.seal, finding.timestamp) == (1, time)
    assert finding.message.startswith("entry 3 was re-dated: its time was ")
    assert f"{time + timedelta(hours=1):%H:%M:%S.%f}" in finding.message


@pytest.mark.parametrize(
    ("forgery", "words"),
    [
        ("actor_id = 'mallory'", 'actor_id was "alice" and is "mallory"'),
        ("label = 'harmless'", 'label was null and is "harmless"'),
        ('after_data = \'{"id": 3, "a": "forged"}\'', 'after_data.a was "x" and is "forged"'),
        ("after_data = null", 'after_data was {"a": "x", "id": 3} and is null'),
        # which Python does not read
        ("after_data = (repeat('[', 5000) || repeat(']', 5000))::jsonb", 'after_data was {"a": "x", "id": 3} and is ['),
        ("after_data = repeat('9', 5000)::jsonb", 'after_data was {"a": "x", "id": 3} and is 99'),
        ("actor_id = 'x', label = 'y'", "the digest of its fields was "),
    ],
)
def test_the_value_that_was_changed_is_found_if_the_log_has_it_elsewhere(
    db: Connection, forgery: str, words: str
) -> None:
    db.execute(f"update svc.audit_logs set {forgery} where id = 3")
    [finding] = verified(db).findings
    assert finding.message.startswith(f"entry 3 was changed: {words}")


def test_it_is_found_whatever_a_backslash_means_in_the_session(db: Connection) -> None:
    db.execute("update svc.audit_logs set actor_id = 'mallory' where id = 3")
    db.execute("set standard_conforming_strings = off")
    [finding] = verified(db).findings
    assert finding.message.startswith('entry 3 was changed: actor_id was "alice" and is "mallory"')


SEALS: list[tuple[str, str, list[tuple[str, str | None]]]] = [
    ("changed", "update svc.audit_seals set sealed_at = '2001-01-01' where number = 1", [("seal_changed", None)]),
    ("first cut off", "delete from svc.audit_seals where number = 1", [("seal_missing", None)]),
    (
        "exchanged",
        "update svc.audit_seals set number = 3 - number where number in (1, 2)",
        [("seals_swapped", None)],
    ),
    ("an older version", "update svc.audit_seals set version = 1 where number = 1", [("seal_changed", None)]),
    (
        "signature of another",
        "update svc.audit_seals set signature = (select signature from svc.audit_seals where number = 2)",
        [("seal_changed", None)],
    ),
    (
        "leaves changed",
        "update svc.audit_seal_leaves set leaves = set_byte(leaves, 19, 255 - get_byte(leaves, 19)) where seal = 1",
        [("leaves_changed", None)],
    ),
    ("leaves deleted", "delete from svc.audit_seal_leaves where seal = 2", [("leaves_changed", None)]),
    (
        "leaves and entry changed",
        "update svc.audit_seal_leaves set leaves = set_byte(leaves, 19, 255 - get_byte(leaves, 19)) where seal = 1;"
        "update svc.audit_logs set actor_id = 'x' where id = 2",
        [("entries_differ", None)],
    ),
]


@pytest.mark.parametrize(("forgery", "expected"), [row[1:] for row in SEALS], ids=[row[0] for row in SEALS])
def test_a_forged_seal_is_named(db: Connection, forgery: str, expected: list[tuple[str, str | None]]) -> None:
    db.execute("alter table svc.audit_seals drop constraint audit_seals_pkey cascade")
    db.execute(forgery)
    assert said(db) == expected


def test_a_verification_is_recorded_with_its_result_and_its_author(db: Connection, database: str) -> None:
    assert audit.last_verification(db) is None
    assert verified(db).is_recorded
    last = audit.last_verification(db)
    assert last is not None
    assert (last.first_seal, last.last_seal, last.entries, last.unsealed) == (1, 2, 10, 0)
    assert (last.findings, last.is_complete, last.has_copies, last.keys) == (0, True, False, ["s1"])
    assert last.verified_by == scalar(db, "select session_user")
    assert timedelta(0) <= last.age < timedelta(minutes=5)
    copies = [*reversed(audit.seals(db))]
    db.execute("delete from svc.audit_logs where id in (4, 7)")
    with db.transaction(), audit.actor(db, "carol" * 100):
        verified(db, copies=copies)

    async def read() -> audit.LastVerification | None:
        async with await psycopg.AsyncConnection.connect(database) as conn:
            return await audit.alast_verification(conn)

    last = asyncio.run(read())
    assert last is not None
    assert (last.findings, last.has_copies, last.verified_by) == (2, True, ("carol" * 100)[:200])


def test_who_may_only_read_verifies_without_a_record(db: Connection) -> None:
    with db.transaction():
        db.execute("set local role svc_reader")
        found = verified(db)
        assert (found.is_intact, found.is_recorded, audit.last_verification(db)) == (True, False, None)
        statement = "insert into svc.audit_verifications (findings) values (0)"
        for role in ("svc_reader", "svc_admin"):
            db.execute(f"set local role {role}")
            with pytest.raises(psycopg.errors.InsufficientPrivilege), db.transaction():
                db.execute(statement)
    with db.transaction():
        db.execute("set transaction read only")
        assert not verified(db).is_recorded
    with db.transaction():
        db.execute("set local role svc_admin")
        assert verified(db).is_recorded
    found = audit.verify(db, public_keys=PublicKeys({f"{n}".rjust(32, "k"): bytes(32) for n in range(1000)}))
    last = audit.last_verification(db)
    assert last is not None
    assert (last.findings, len(last.keys)) == (1, 100)


def test_a_seal_of_an_unknown_key_is_named(db: Connection) -> None:
    found = verified(db, key=SealKey("other", b"o" * 32))
    assert [finding.message for finding in found.findings] == [
        'seals 1 to 2 are signed with the key "s1", whose public key is not given'
    ]
    forged = SealKey("s1", b"o" * 32)
    assert [finding.kind for finding in verified(db, key=forged).findings] == ["seal_changed", "seal_changed"]


def test_a_key_can_be_replaced(db: Connection) -> None:
    new = SealKey("s2", b"n" * 32)
    db.execute("set session_replication_role = origin")
    db.execute("delete from t")
    audit.seal(db, key=new)
    both = PublicKeys.parse(f"{KEY.public.text},{new.public.text}")
    assert audit.verify(db, public_keys=both).is_intact
    assert [finding.kind for finding in verified(db).findings] == ["seal_of_unknown_key"]


def test_another_key_with_the_id_of_the_last_seal_signs_nothing(
    db: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = SealKey("s1", b"o" * 32)
    db.execute("set session_replication_role = origin")
    db.execute("delete from t")
    with pytest.raises(ProofError, match='seal 2 has the key "s1" but not its signature, and nothing was sealed'):
        audit.seal(db, key=other)
    monkeypatch.setenv("SVC_SEAL_KEY", other.text)
    monkeypatch.setenv("SVC_SEAL_PUBLIC_KEYS", KEY.public.text)
    with pytest.raises(EncryptionKeyError, match='another key with the id "s1" than SVC_SEAL_KEY'):
        audit.seal(db)
    assert [seal.number for seal in audit.seals(db)] == [2, 1]
    assert len(audit.seal(db, key=KEY)) == 1
    assert verified(db).is_intact


def test_a_log_whose_last_seals_were_cut_differs_from_its_copies(db: Connection) -> None:
    copies = [*reversed(audit.seals(db))]
    assert verified(db, copies=copies).is_intact
    db.execute("delete from svc.audit_seal_leaves where seal = 2; delete from svc.audit_seals where number = 2")
    assert verified(db).is_intact  # the limit of seals without copies
    assert [f.message for f in verified(db, copies=copies).findings] == ["seal 2 is missing: the copies have them"]
    db.execute("delete from svc.audit_seal_leaves; delete from svc.audit_seals")
    with pytest.raises(ConflictError, match="has no seals"):
        verified(db)
    assert [f.message for f in verified(db, copies=copies).findings] == [
        "seals 1 to 2 are missing: the copies have them"
    ]


def test_a_log_that_somebody_sealed_anew_differs_from_its_copies(db: Connection) -> None:
    copies = [*reversed(audit.seals(db))]
    db.execute("update svc.audit_logs set actor_id = 'mallory' where id = 3")
    db.execute("delete from svc.audit_seal_leaves; delete from svc.audit_seals")
    audit.seal(db, key=KEY)
    assert verified(db).is_intact
    assert [f.message for f in verified(db, copies=copies).findings] == [
        "seal 1 is not the one of the copies",
        "seal 2 is missing: the copies have them",
    ]


def test_a_seal_that_replaced_another_is_named_by_the_next(db: Connection) -> None:
    last = audit.seals(db)[0]
    first = audit.seals(db)[1]
    other = Seal(**{name: getattr(first, name) for name in first.__dataclass_fields__} | {"sealed_at": last.sealed_at})
    db.execute(
        "update svc.audit_seals set sealed_at = %s, signature = %s where number = 1",
        (last.sealed_at, KEY.sign(other.text)),
    )
    [finding] = verified(db).findings
    assert (finding.kind, finding.message) == ("seal_replaced", "seal 1 is not the one that seal 2 follows")


def test_many_entries_are_sealed_in_parts(db: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    db.execute("set session_replication_role = origin")
    db.execute("insert into t select n, 'x' from generate_series(10, 44) n")
    db.execute("select setval('svc.audit_logs_id_seq', 1000)")  # ids leave out a lot
    db.execute("insert into t select n, 'x' from generate_series(50, 74) n")
    monkeypatch.setattr(sealing, "MOST_ENTRIES", 10)
    made = audit.seal(db, key=KEY)
    assert sum(seal.entries for seal in made) == 60
    assert max(seal.entries for seal in made) == 10
    assert verified(db).entries == 70
    db.execute("update svc.audit_logs set label = 'x' where id = (select max(id) from svc.audit_logs)")
    [finding] = verified(db).findings
    assert (finding.kind, finding.seal) == ("changed", made[-1].number)


def test_many_small_seals_are_compared_together(db: Connection) -> None:
    with audit_guards(db):
        for key in range(10, 60):
            db.execute("insert into t values (%s)", (key,))
            audit.seal(db, key=KEY)
    found = verified(db)
    assert (found.findings, found.seals, found.entries) == ([], 52, 60)
    db.execute("update svc.audit_logs set tenant_id = 'x' where id = 33")
    [finding] = verified(db).findings
    assert (finding.kind, finding.entry, finding.seal) == ("changed", "33", 25)
    assert "tenant_id was null" in finding.message


def test_two_sealers_at_once_make_one_chain(db: Connection, database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    db.execute("set session_replication_role = origin")
    db.execute("insert into t select n, 'x' from generate_series(10, 109) n")
    monkeypatch.setattr(sealing, "MOST_ENTRIES", 5)
    start = threading.Barrier(3)
    made: list[Seal] = []

    def sealer() -> None:
        with psycopg.connect(database, autocommit=True) as conn:
            start.wait(timeout=10)
            made.extend(audit.seal(conn, key=KEY))

    threads = [threading.Thread(target=sealer) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=30)
    assert sorted(seal.number for seal in made) == [*range(3, 23)]
    assert verified(db).entries == 110


def test_what_a_purge_removes_is_no_difference(db: Connection) -> None:
    statement = """
    insert into svc.audit_logs (timestamp, table_name, table_oid, operation)
    select time, 'x', 0, 'INSERT' from unnest(%s::timestamptz[]) time
    """
    with audit_guards(db):
        db.execute(statement, (["2001-01-01", "2001-01-02", "2001-02-01"],))
        db.execute("select svc.audit_ensure_partitions()")
        db.execute(statement, (["1999-01-01"],))  # stays in the default partition
        audit.seal(db, key=KEY)
        report = audit.purge(db, timedelta(days=365))
        assert (len(report.partitions), report.entries) == (2, 1)
        audit.seal(db, key=KEY)
    found = verified(db)
    assert (found.findings, found.purged, found.unsealed) == ([], 4, 0)
    db.execute("delete from svc.audit_logs where id = 2")
    assert said(db) == [("deleted", "2")]


def test_a_purge_between_the_reading_of_entries_and_their_seal_is_no_difference(
    db: Connection, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    statement = "insert into svc.audit_logs (timestamp, table_name, table_oid, operation) values (%s, 'x', 0, 'INSERT')"
    signed = sealing._signed

    def purging(*arguments: Any) -> Seal:
        with psycopg.connect(database, autocommit=True) as other:
            audit.purge(other, timedelta(days=365), unsealed=True)
        return signed(*arguments)

    monkeypatch.setattr(sealing, "_signed", purging)
    db.execute("set default_transaction_isolation = 'repeatable read'")
    with audit_guards(db):
        for time in ("2001-01-01", "1999-01-01"):  # a month that is dropped, and an entry that goes alone
            db.execute(statement, (time,))
            if time == "2001-01-01":
                db.execute("select svc.audit_ensure_partitions()")
            audit.seal(db, key=KEY)
            assert scalar(db, "select count(*) from svc.audit_logs where table_name = 'x'") == 0
    assert verified(db).findings == []


@pytest.mark.parametrize("which", ["min", "max"])
def test_one_of_two_entries_that_somebody_gave_one_id_before_their_seal_is_named(
    db: Connection, which: LiteralString
) -> None:
    one = scalar(db, "select nextval('svc.audit_logs_id_seq')")
    for days in (1, 2):
        db.execute(
            "insert into svc.audit_logs (id, table_name, table_oid, operation, record_id, timestamp)"
            " overriding system value values (%s, 'public.t', 0, 'DELETE', '1', now() - make_interval(days => %s))",
            (one, days),
        )
    audit.seal(db, key=KEY)
    assert verified(db).findings == []
    db.execute(
        f"delete from svc.audit_logs where id = %s and timestamp = (select {which}(timestamp) from svc.audit_logs"
        " where id = %s)",
        (one, one),
    )
    found = verified(db)
    assert ([each.entry for each in found.findings], found.entries) == ([str(one)], 11)


def test_an_entry_that_somebody_took_out_of_its_seal_without_a_purge_is_named(db: Connection) -> None:
    db.execute(
        "insert into svc.audit_removed_leaves select 11, id, timestamp, svc.audit_leaf(l)"
        " from svc.audit_logs l where id in (2, 3)"
    )
    digest = scalar(db, "select svc.audit_removed_digest(11)")
    db.execute("delete from svc.audit_logs where id in (2, 3)")
    assert said(db) == [("deleted", "2"), ("deleted", "3")]
    claim(db, 11, "DELETE", {"partition": "x", "digest": digest})
    assert said(db) == [("deleted", "2"), ("deleted", "3"), ("removal_claimed", "11")]
    db.execute("delete from svc.audit_removals")
    with audit_guards(db):  # what is in the log is there to be seen, and gets a seal
        facts = json.dumps({"partition": "x", "digest": digest})
        db.execute("select svc.audit_add_removal(11, 'DELETE', 'audit log purged', 'high', %s, 'x', true)", (facts,))
    assert (said(db), verified(db).purged) == ([], 2)
    db.execute("update svc.audit_removed_leaves set digest = sha256(digest) where id = 3")
    assert said(db) == [("deleted", "2"), ("deleted", "3"), ("removal_claimed", "11")]
    for entry_id in range(100, 130):
        db.execute("insert into svc.audit_removals values (%s, now(), 'nothing', 'nothing')", (entry_id,))
    findings = [finding for finding in verified(db).findings if finding.entry not in ("2", "3", "11")]
    assert len(findings) == 21
    assert findings[-1].message == "the log never had the entries of 10 more purges or erasures"


def test_an_erased_entry_keeps_its_seal_and_proves_who_acted(db: Connection) -> None:
    before = audit.prove(db, 3)
    with audit_guards(db):
        audit.erase(db, "t", 3)
    found = verified(db)
    assert (found.findings, found.erased) == ([], 2)
    proof = audit.prove(db, 3)
    assert (proof.content, proof.who, proof.leaf) == (None, before.who, before.leaf)
    proven = audit.check_proof(proof.text, public_keys=KEY.public)
    assert (proven.id, proven.is_erased) == ("3", True)
    assert {name: proven.fields[name] for name in ("actor_id", "operation", "table_name", "record_id")} == {
        "actor_id": "alice",
        "operation": "INSERT",
        "table_name": "public.t",
        "record_id": "3",
    }
    assert "after_data" not in proven.fields


def test_an_entry_that_was_erased_before_its_seal_is_sealed_as_it_is(db: Connection) -> None:
    with audit_guards(db):
        db.execute("insert into t values (20, 'new')")
        newest = scalar(db, "select max(id) from svc.audit_logs")
        audit.erase(db, "t", 20)
        audit.seal(db, key=KEY)
    assert scalar(db, "select erased_leaf from svc.audit_logs where id = %s", (newest,)) == b""
    assert scalar(db, "select count(*) from svc.audit_removals") == 0
    found = verified(db)
    assert (found.findings, found.erased) == ([], 1)
    proven = audit.check_proof(audit.prove(db, newest).text, public_keys=KEY.public)
    assert (proven.is_erased, proven.fields["after_data"]) == (True, {"erased": True})


def test_an_erasure_between_the_reading_of_entries_and_their_seal_is_no_difference(
    db: Connection, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    signed = sealing._signed

    def erasing(*arguments: Any) -> Seal:
        with psycopg.connect(database, autocommit=True) as other:
            audit.erase(other, "t", 20)
        return signed(*arguments)

    with audit_guards(db):
        db.execute("insert into t values (20, 'new')")
        monkeypatch.setattr(sealing, "_signed", erasing)
        audit.seal(db, key=KEY)
    found = verified(db)
    assert (found.findings, found.erased) == ([], 1)


def test_seals_of_version_1_stay_in_the_chain_and_their_entries_get_new_ones(db: Connection) -> None:
    db.execute("delete from svc.audit_seal_leaves where seal = 2; delete from svc.audit_seals where number = 2")
    [first] = audit.seals(db)
    old = replace(first, version=1)
    old = replace(old, signature=KEY.sign(old.text))
    assert Seal.of_copy(old.copy) == old
    db.execute("update svc.audit_seals set version = 1, signature = %s", (old.signature,))
    db.execute("update svc.audit_seal_leaves set leaves = overlay(leaves placing sha256('') from 17)")
    assert scalar(db, "select svc.audit_unsealed_since() = min(timestamp) from svc.audit_logs")
    with pytest.raises(ConflictError, match="all seals of the log are of version 1") as caught:
        verified(db)
    assert caught.value.hint == "Their entries get new ones, which the copies go on with: svc-pg seal"
    with pytest.raises(ConflictError, match="has no seal yet"):
        audit.prove(db, 3)
    [new] = audit.seal(db, key=KEY, known=old)
    assert (new.number, new.previous, new.entries) == (2, old.digest, 10)
    found = verified(db, copies=[old, new])
    assert (found.findings, found.entries, found.unsealed, found.seals, found.old_seals) == ([], 10, 0, 2, 1)
    db.execute("update svc.audit_seals set sealed_at = now() where number = 1")
    assert said(db) == [("seal_changed", None)]


def test_a_proof_holds_without_a_database(db: Connection) -> None:
    text = audit.prove(db, "3").text
    proven = audit.check_proof(text, public_keys=KEY.public)
    assert (proven.id, proven.seal.number) == ("3", 1)
    assert proven.timestamp == scalar(db, "select timestamp from svc.audit_logs where id = 3")
    assert proven.fields is not None
    assert proven.fields["actor_id"] == "alice"
    assert proven.fields["after_data"] == {"id": 3, "a": "x"}


def test_a_proof_of_another_database_is_refused(db: Connection) -> None:
    """Its keys are others: also one of the same name, and one that this program does not know."""
    text = audit.prove(db, "3").text
    assert audit.check_proof(text, public_keys=KEY.public).id == "3"
    for name, reason in (("s1", "the signature is not of this seal"), ("elsewhere", "its public key is not given")):
        with pytest.raises(ProofError, match=reason):
            audit.check_proof(text, public_keys=SealKey.new(name).public)


def test_of_two_databases_with_one_key_each_names_the_other(
    db: Connection, empty_database: str, tmp_path: Path
) -> None:
    create_and_audit(empty_database, "create table t (id int primary key, a text)", audited("t"))
    copies = [*reversed(audit.seals(db))]
    with psycopg.connect(empty_database, autocommit=True) as other:
        other.execute("insert into t select n, 'x' from generate_series(1, 5) n")
        audit.seal(other, key=KEY)
        [of_other] = audit.seals(other)
        proof = audit.prove(other, "3").text
        here, there = copies[0].epoch, of_other.epoch
        replaced = f"seal 1 is not the one of the copies: it is of log {there}, and theirs of log {here}"
        messages = [finding.message for finding in verified(other, copies=copies).findings]
        assert messages[0] == replaced
    assert audit.check_proof(proof, public_keys=KEY.public, copies=[of_other]).id == "3"
    named = f"of another database: its seal 1 is of log {there}, and that of the copies of log {here}"
    with pytest.raises(ProofError, match=named):
        audit.check_proof(proof, public_keys=KEY.public, copies=copies)
    with pytest.raises(ProofError, match="the copies have no seal 1"):
        audit.check_proof(proof, public_keys=KEY.public, copies=copies[1:])
    with pytest.raises(ProofError, match="seal 1 is not the one of the copies"):
        audit.check_proof(proof, public_keys=KEY.public, copies=[replace(of_other, entries=6)])
    key, seals = tmp_path / "key", tmp_path / "seals"
    key.write_text(KEY.public.text)
    seals.write_text("".join(f"{json.dumps(seal.copy)}\n" for seal in copies))
    certificate = {"kind": "svc-pg audit certificate", "version": 1, "subject": "entry", "table": None, "record": None}
    leaf = sha256(b"\0" + bytes(Proof.parse(proof).leaf)).hexdigest()
    entry = {"id": "3", "state": "sealed", "proof": json.loads(proof)}
    file = tmp_path / "certificate.json"
    file.write_text(json.dumps(certificate | {"digest": leaf, "entries": [entry]}))
    alone = [sys.executable, "-I", str(PROGRAM), "certificate", str(file), str(key)]
    done = subprocess.run(alone, capture_output=True, text=True, timeout=100)
    assert (done.returncode, f"is proven by seal 1 of log {there}" in done.stdout) == (0, True)
    done = subprocess.run([*alone, "--seals", str(seals)], capture_output=True, text=True, timeout=100)
    assert done.returncode == 3
    assert f"is not proven to be of this database: seal 1 is not the one there: it is of log {there}" in done.stdout


@pytest.mark.parametrize("value", ["[" * 5000 + "]" * 5000, "9" * 5000, r'{"b": "\\", "a\"]": ["[,", {}]}'])
def test_a_proof_of_what_python_does_not_read_holds_too(db: Connection, value: str) -> None:
    entry = scalar(db, "select svc.capture_log('file', 'INSERT', 'x', after_data => %s::jsonb)", (value,))
    audit.seal(db, key=KEY)
    proven = audit.check_proof(audit.prove(db, entry).text, public_keys=KEY.public)
    assert proven.fields is not None
    assert (proven.fields["after_data"].text, proven.fields["record_id"]) == (value, "x")


def forged(text: str, change: Callable[[dict[str, Any]], object]) -> str:
    proof: dict[str, Any] = json.loads(text)
    change(proof)
    return json.dumps(proof)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda p: p["entry"].update(who=p["entry"]["who"].replace("alice", "mallory")), "not in seal 1"),
        (lambda p: p["entry"].update(content=p["entry"]["content"].replace('"x"', '"y"')), "content"),
        (lambda p: p["entry"].update(who=p["entry"]["content"], content=p["entry"]["who"]), "content"),
        (lambda p: p["entry"].update(content=None, digest="00" * 32), "not in seal 1"),
        (lambda p: p["entry"].pop("who"), "damaged"),
        (lambda p: p["entry"].update(time=p["entry"]["time"] + 1), "not in seal 1"),
        (lambda p: p["entry"].update(id=4), "not in seal 1"),
        (lambda p: p["path"].pop(), "not in seal 1"),
        (lambda p: p["seal"].update(text=p["seal"]["text"].replace('"entries":5', '"entries":6')), "signature"),
        (lambda p: p["seal"].update(text=p["seal"]["text"] + " "), "damaged"),
        (lambda p: p["seal"].update(signature="x"), "damaged"),
        (lambda p: p["seal"].update(text=p["seal"]["text"].replace('"s1"', '"s2"')), "its public key is not given"),
        (lambda p: p["entry"].update(id=2**70), "damaged"),
        (lambda p: p["entry"].update(id="3"), "damaged"),
        (lambda p: p.update(path=[{"up": "00"}]), "damaged"),
        (lambda p: p.update(version=1), "damaged"),
        (lambda p: p.clear(), "damaged"),
    ],
)
def test_a_forged_or_damaged_proof_is_refused(
    db: Connection, change: Callable[[dict[str, Any]], object], reason: str
) -> None:
    text = audit.prove(db, 3).text
    with pytest.raises(ProofError, match=reason):
        audit.check_proof(forged(text, change), public_keys=KEY.public)


@pytest.mark.parametrize("text", ["", "[]", "1", '{"kind"', "[" * 100_000])
def test_a_file_that_is_no_proof_is_refused(text: str) -> None:
    with pytest.raises(ProofError, match="damaged"):
        audit.check_proof(text, public_keys=KEY.public)


def test_an_entry_without_a_seal_has_no_proof(db: Connection) -> None:
    db.execute("set session_replication_role = origin")
    db.execute("insert into t values (20, 'new')")
    newest = scalar(db, "select max(id) from svc.audit_logs")
    with pytest.raises(ConflictError, match="has no seal yet"):
        audit.prove(db, newest)
    with pytest.raises(NotFoundError):
        audit.prove(db, 4711)
    with pytest.raises(QueryError):
        audit.prove(db, "x")
    db.execute("update svc.audit_logs set actor_id = 'mallory' where id = 3")
    with pytest.raises(ConflictError, match="not as it was when seal 1 was made"):
        audit.prove(db, 3)


def test_async_calls_do_the_same(db: Connection, database: str) -> None:
    db.execute("set session_replication_role = origin")
    db.execute("delete from t")

    async def calls() -> tuple[list[Seal], Verification, list[Seal], str]:
        async with await psycopg.AsyncConnection.connect(database) as conn:
            made = await audit.aseal(conn, key=KEY)
            found = await audit.averify(conn, public_keys=KEY.public)
            return made, found, await audit.aseals(conn, limit=1), (await audit.aprove(conn, 3)).text

    made, found, newest, text = asyncio.run(calls())
    assert made == newest
    assert (found.is_intact, found.seals, found.entries) == (True, 3, 15)
    assert text == audit.prove(db, 3).text


def test_a_seal_needs_a_key_and_no_transaction(db: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SVC_SEAL_KEY", raising=False)
    monkeypatch.delenv("SVC_SEAL_PUBLIC_KEYS", raising=False)
    with pytest.raises(EncryptionKeyError, match="SVC_SEAL_KEY is not set"):
        audit.seal(db)
    with pytest.raises(EncryptionKeyError, match="SVC_SEAL_PUBLIC_KEYS is not set"):
        audit.verify(db)
    with db.transaction(), pytest.raises(TransactionError):
        audit.seal(db, key=KEY)
    monkeypatch.setenv("SVC_SEAL_KEY", KEY.text)
    assert audit.verify(db).is_intact
    monkeypatch.setenv("SVC_SEAL_PUBLIC_KEYS", SealKey("s1", b"o" * 32).public.text)
    with pytest.raises(EncryptionKeyError, match='another key with the id "s1"'):
        audit.verify(db)
    assert KEY.text not in repr(KEY)
    assert "kkkk" not in repr(KEY)


def test_other_databases_have_no_seals() -> None:
    import sqlite3

    with (
        closing(sqlite3.connect(":memory:")) as conn,
        pytest.raises(ConfigError, match="a seal of the audit log is there on PostgreSQL only"),
    ):
        audit.seal(conn, key=KEY)  # type: ignore[arg-type]


def test_seals_say_the_same_with_other_settings(db: Connection) -> None:
    db.execute(
        "set timezone = 'Asia/Kathmandu'; set datestyle = 'ISO, DMY'; set intervalstyle = 'sql_standard';"
        "set bytea_output = 'escape'; set extra_float_digits = 0; set search_path = pg_temp"
    )
    assert verified(db).is_intact


def test_a_file_of_copies_gets_the_seals_that_it_lacks(db: Connection, tmp_path: Path) -> None:
    file = tmp_path / "seals"
    with appending(file) as copies:
        assert append_new(db, copies) == 2
    db.execute("set session_replication_role = origin")
    db.execute("delete from t")
    audit.seal(db, key=KEY)
    with appending(file) as copies:
        with pytest.raises(ConflictError, match="another process"), appending(file):
            pass
        assert append_new(db, copies) == 1
    assert [*read_copies(file)] == [*reversed(audit.seals(db))]
    assert verified(db, copies=[*read_copies(file)]).is_intact


def test_a_file_of_copies_that_is_cut_or_of_another_log_is_refused(db: Connection, tmp_path: Path) -> None:
    file = tmp_path / "seals"
    with appending(file) as copies:
        append_new(db, copies)
    whole = file.read_bytes()
    file.write_bytes(whole[:-20])
    with pytest.raises(ProofError, match="is cut: its line 2 does not end"):
        [*read_copies(file)]
    file.write_bytes(whole.replace(b"number", b"nomber"))
    with pytest.raises(ProofError, match="line 1 is no seal"):
        [*read_copies(file)]
    first, second = whole.splitlines(keepends=True)
    file.write_bytes(second + first)
    with pytest.raises(ProofError, match="seal 1 in line 2 comes after seal 2"):
        [*read_copies(file)]
    file.write_bytes(whole)
    db.execute("delete from svc.audit_seal_leaves; delete from svc.audit_seals")
    audit.seal(db, key=KEY)
    with pytest.raises(ProofError, match="seal 2 of the copies is not in this log"), appending(file) as copies:
        append_new(db, copies)
    assert file.read_bytes() == whole


def test_a_reader_can_verify_and_an_administrator_can_seal(db: Connection) -> None:
    db.execute("set session_replication_role = origin")
    db.execute("delete from t")
    with db.transaction():
        db.execute("set local role svc_reader")
        with pytest.raises(psycopg.errors.InsufficientPrivilege), db.transaction():
            db.execute("insert into svc.audit_removed_leaves values (1, 1, now(), sha256(''))")
        assert verified(db).is_intact
        assert audit.prove(db, 3).seal.number == 1
    db.execute("set role svc_admin")
    assert len(audit.seal(db, key=KEY)) == 1
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        db.execute("insert into svc.audit_seal_leaves values (9, '')")


def test_an_upgrade_keeps_seals_of_version_1_and_needs_no_digest_of_what_was_erased(empty_database: str) -> None:
    before: list[str] = []
    upgrade: list[str] = []
    for file in sorted(files("svc_pg.sql").joinpath("migrations").iterdir(), key=lambda each: each.name):
        (upgrade if file.name.endswith("two_part_leaves.sql") else before).append(file.read_text())
        if upgrade:
            break
    with psycopg.connect(empty_database, autocommit=True) as conn:
        for text in before:
            conn.execute(text.encode())
        conn.execute(
            "create function svc.audit_guard() returns trigger language plpgsql as"
            " $$ begin raise 'append-only'; end $$;"
            "create trigger audit_guard_row before update on svc.audit_logs for each row"
            " execute function svc.audit_guard();"
            "create trigger audit_guard_row before delete on svc.audit_removals for each row"
            " execute function svc.audit_guard();"
            "create trigger audit_guard_truncate before truncate on svc.audit_removals"
            " execute function svc.audit_guard();"
            "insert into svc.audit_logs (table_name, table_oid, operation, erased_leaf)"
            " values ('public.t', 1, 'INSERT', sha256('')), ('public.t', 1, 'INSERT', null);"
            'insert into svc.audit_removals values (9, \'[1, 1, "svc.audit_logs", 0, "UPDATE", "audit log erased"]\');'
            "insert into svc.audit_seals values (1, 'e', '-infinity', 1, 9, 0, 9, 2, sha256(''), sha256(''), now(),"
            " 's1', sha256('') || sha256(''))"
        )
        conn.execute(upgrade[0].encode())
        assert conn.execute("select erased_leaf from svc.audit_logs order by id").fetchall() == [(b"",), (None,)]
        assert conn.execute("select number, version from svc.audit_seals").fetchall() == [(1, 1)]
        conn.execute("insert into svc.audit_removals values (1, now(), 'x', 'x')")
        for statement in (
            "update svc.audit_logs set erased_leaf = null",
            "delete from svc.audit_removals",
            "truncate svc.audit_removals",
        ):
            with pytest.raises(psycopg.errors.RaiseException, match="append-only"):
                conn.execute(statement)

"""A column that a pattern redacts, and that an audited table gets after the install, is never recorded in the clear."""

from collections.abc import Iterator
from typing import Any, LiteralString

import psycopg
import pytest

from svc_pg import Config, audit, schema
from svc_pg.audit.log.reconciliation import Progress
from svc_pg.config import AuditConfig, AuditedTable
from svc_pg.errors import ConfigError
from tests.support.roles import as_role, execute, new_role
from tests.support.tables import create_and_audit, log

DDL: LiteralString = """
create table t (id int primary key, a text, b text);
create table other (id int primary key, ssn text, card text);
"""
PATTERN = {"name": "public.*", "redact": {"ssn": "remove", "card": "last4"}}


@pytest.fixture(params=[("row", None), ("statement", None), ("row", 256), ("statement", 256)], ids=str)
def config(request: pytest.FixtureRequest) -> Config:
    """The configuration, of each level with and without a limit of values."""
    level, limit = request.param
    return Config(audit=AuditConfig(tables=[AuditedTable(**PATTERN, level=level, max_value_bytes=limit)]))


@pytest.fixture
def db(database: str, config: Config) -> Iterator[psycopg.Connection[Any]]:
    create_and_audit(database, DDL, config)
    with psycopg.connect(database) as conn:
        yield conn


def older_and_newer() -> tuple[Config, Config]:
    """Two configurations, of which the newer one redacts more of table ``t``."""
    older, newer = (
        Config(audit=AuditConfig(tables=[AuditedTable(name="other"), AuditedTable(name="t", redact=names)]))
        for names in (["a"], ["a", "b"])
    )
    return older, newer


def is_in_log(conn: psycopg.Connection[Any], text: str) -> bool:
    return conn.execute("select exists (select from svc.audit_logs l where l::text ~ %s)", (text,)).fetchone() == (
        True,
    )


def written(conn: psycopg.Connection[Any]) -> list[tuple[Any, ...]]:
    return [(e["operation"], e["record_id"], e["after_data"], e["redacted_fields"]) for e in log(conn)]


def test_a_later_column_that_the_pattern_redacts_is_masked_until_an_install_and_then_as_it_says(
    db: psycopg.Connection[Any], config: Config
) -> None:
    db.execute("insert into t values (1, 'a'), (2, 'b')")
    db.execute("alter table t add note text, add ssn text default 'hush', add card text")
    db.execute("insert into t values (3, 'c', null, 'hush', 'hush', 'hush')")
    db.execute("update t set a = 'd', note = 'hush', card = 'hush 12345678' where id = 1")
    db.execute("update t set id = 4, ssn = 'hush' where id = 2")
    db.execute("delete from t where id = 3")
    db.commit()
    assert not is_in_log(db, "hush")
    of_later = log(db)[2:]
    assert {tuple(e["redacted_fields"]) for e in of_later} == {("ssn", "card", "note")}
    images = [image for e in of_later for image in (e["before_data"], e["after_data"]) if image is not None]
    assert {(image["note"], image["ssn"], image["card"]) for image in images} == {("[masked]",) * 3}
    assert {image["a"] for image in images} == {"a", "b", "c", "d"}
    [changed] = [e["changed_fields"] for e in of_later if e["operation"] == "UPDATE" and e["record_id"] == "1"]
    assert changed == ["a", "card", "note"]
    assert {e["record_id"] for e in of_later} >= {"1", "3", "4"}
    db.commit()
    outdated = {s.identity for s in schema.status(db, config) if s.state == "outdated"}
    assert "svc.capture_public_t" in outdated
    schema.install(db, config)
    db.execute("update t set card = '1234 5678' where id = 1")
    after = log(db)[-1]["after_data"]
    assert (after["note"], after["card"], "ssn" in after) == ("hush", "****5678", False)


def test_without_such_a_column_a_later_one_is_recorded_at_once(db: psycopg.Connection[Any]) -> None:
    db.execute("alter table t add note text")
    db.execute("insert into t values (1, 'a', 'b', 'shown')")
    assert written(db) == [("INSERT", "1", {"id": 1, "a": "a", "b": "b", "note": "shown"}, None)]


def test_a_column_that_gets_the_name_of_a_redacted_one_is_masked(db: psycopg.Connection[Any]) -> None:
    db.execute("alter table t rename b to ssn")
    db.execute("insert into t values (1, 'a', 'hush')")
    assert written(db) == [("INSERT", "1", {"id": 1, "a": "a", "ssn": "[masked]"}, ["ssn"])]


def test_a_key_that_gets_the_name_of_a_redacted_one_is_in_no_entry(db: psycopg.Connection[Any]) -> None:
    db.execute("alter table t rename id to ssn")
    db.execute("insert into t values (77, 'a')")
    assert written(db) == [("INSERT", None, {"ssn": "[masked]", "a": "a", "b": None}, ["ssn"])]


def test_a_key_that_is_renamed_beside_such_a_column_still_names_its_records(db: psycopg.Connection[Any]) -> None:
    db.execute("alter table t rename id to number; alter table t add ssn text")
    db.execute("insert into t values (77, 'a', 'b', 'hush')")
    assert [(record_id, fields) for _, record_id, _, fields in written(db)] == [("77", ["ssn", "number"])]


def test_a_key_above_the_limit_of_values_still_names_its_record_beside_such_a_column(
    db: psycopg.Connection[Any], config: Config
) -> None:
    db.execute("create table k (key text primary key, a text)")
    db.commit()
    schema.install(db, config)
    db.execute("insert into k values (repeat('k', 400), 'a')")
    db.execute("alter table k add ssn text default 'hush'")
    db.execute("update k set a = 'b'")
    db.execute("delete from k")
    named = [(operation, record_id) for operation, record_id, *_ in written(db)]
    assert named == [(operation, "k" * 400) for operation in ("INSERT", "UPDATE", "DELETE")]


@pytest.mark.parametrize("redacted", [None, "card"])
def test_a_reconciliation_before_an_install_finds_nothing_false_and_writes_nothing_in_the_clear(
    database: str, config: Config, redacted: str | None
) -> None:
    create_and_audit(database, DDL, config)
    with psycopg.connect(database, autocommit=True) as db:
        if redacted is not None:
            db.execute("alter table t add card text")
            schema.install(db, config)
        db.execute("alter table t add note text, add ssn text, add if not exists card text")
        db.execute("insert into t (id, note, ssn, card) values (1, 'shown', 'hush', 'hush 1234')")
        assert audit.reconcile(db, config, table="t").is_whole
        db.execute("set session_replication_role = replica")
        db.execute("insert into t (id, note, ssn, card) values (2, 'shown', 'hush', 'hush 1234')")
        db.execute("update t set a = 'b' where id = 1")
        db.execute("set session_replication_role = origin")
        assert audit.reconcile(db, config, table="t", repair=True).differences != []
        assert not is_in_log(db, "hush")
        found = db.execute(
            "select record_id, after_data from svc.audit_logs where operation = 'SNAPSHOT' and"
            " table_name = 'public.t' order by 1"
        ).fetchall()
        same = {"b": None, "note": "shown", "card": "****1234"}
        assert found == [("1", {"id": 1, "a": "b"} | same), ("2", {"id": 2, "a": None} | same)]
        assert audit.reconcile(db, config, table="t").is_whole


def test_a_backfill_by_another_configuration_than_the_installed_one_writes_nothing(database: str) -> None:
    older, newer = older_and_newer()
    create_and_audit(database, DDL, newer)
    with psycopg.connect(database, autocommit=True) as conn:
        conn.execute("set session_replication_role = replica; insert into t values (1, 'hush', 'hush')")
        conn.execute("reset session_replication_role")
        with pytest.raises(ConfigError, match=r"the rules of public\.t are not those that are installed"):
            schema.backfill(conn, older)
        assert log(conn) == []
        schema.backfill(conn, newer)
        assert len(log(conn)) == 1
        assert not is_in_log(conn, "hush")


def test_rules_that_are_installed_during_a_repair_end_it_before_it_writes_by_those_of_before(database: str) -> None:
    older, newer = older_and_newer()
    create_and_audit(database, DDL, older)
    with psycopg.connect(database, autocommit=True) as conn, psycopg.connect(database, autocommit=True) as two:
        conn.execute("set session_replication_role = replica; insert into t values (1, 'hush', 'hush')")
        conn.execute("reset session_replication_role")
        steps: list[str] = []

        def install(now: Progress) -> None:
            if not steps:
                schema.install(two, newer)
            steps.append(now.table)

        with pytest.raises(ConfigError, match=r"the rules of public\.t are not those that are installed"):
            audit.reconcile(conn, older, repair=True, progress=install)
        assert set(steps) == {"public.other"}
        assert not is_in_log(conn, "hush")
        assert audit.reconcile(conn, newer, repair=True).is_whole
        assert not is_in_log(conn, "hush")


def test_an_installation_with_the_same_rules_ends_no_reconciliation(database: str) -> None:
    older, _ = older_and_newer()
    create_and_audit(database, DDL, older)
    other = Config(audit=AuditConfig(tables=older.audit.tables, retention_days=400))
    with psycopg.connect(database, autocommit=True) as conn, psycopg.connect(database, autocommit=True) as two:

        def install(_: Progress) -> None:
            schema.install(two, other)

        assert audit.reconcile(conn, older, progress=install).is_whole


def test_a_role_that_may_not_install_is_told_of_other_rules_too(postgres: str, database: str) -> None:
    older, newer = older_and_newer()
    create_and_audit(database, DDL, newer)
    with new_role(postgres) as role:
        execute(database, "grant svc_admin to {}", role)
        with as_role(database, role) as conn:
            conn.autocommit = True
            with pytest.raises(ConfigError, match="not those that are installed"):
                audit.reconcile(conn, older)
        execute(database, "revoke svc_admin from {}", role)

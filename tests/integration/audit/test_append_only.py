from typing import Any

import psycopg
import pytest

from svc_pg import Config, schema
from svc_pg.database.query import scalar
from svc_pg.database.sqlstates import translate
from svc_pg.errors import AppendOnlyError
from tests.support.postgres import Prepare
from tests.support.tables import audited, create_and_audit

LEAVES = "select array_agg(inhrelid::regclass::text) from pg_inherits where inhparent = 'svc.audit_logs'::regclass"


@pytest.fixture(scope="module")
def prepare() -> Prepare:
    return lambda conninfo: create_and_audit(conninfo, "create table t (id int primary key)", audited("t"))


@pytest.fixture
def db(database: str) -> Any:
    with psycopg.connect(database) as conn:
        conn.execute("insert into t values (1)")
        conn.commit()
        yield conn


@pytest.mark.parametrize("role", ["origin", "replica"])
@pytest.mark.parametrize("statement", ["delete from {}", "update {} set actor_id = 'somebody else'", "truncate {}"])
def test_the_log_and_each_partition_refuse_every_change(db: psycopg.Connection[Any], statement: str, role: str) -> None:
    for table in ["svc.audit_logs", *scalar(db, LEAVES)]:
        db.execute(
            "insert into svc.audit_logs_default (id, table_name, table_oid, operation, timestamp)"
            " overriding system value values (0, 'x', 0, 'INSERT', '2000-01-01')"
        )
        db.execute("select set_config('session_replication_role', %s, true)", (role,))
        is_empty = scalar(db, f"select count(*) = 0 from {table}")
        if is_empty and "truncate" not in statement:
            db.rollback()
            continue
        with pytest.raises(psycopg.DatabaseError) as caught:
            db.execute(statement.format(table))
        assert isinstance(translate(caught.value), AppendOnlyError)
        db.rollback()


@pytest.mark.parametrize("role", ["origin", "replica"])
def test_seals_and_their_leaves_refuse_every_change(db: psycopg.Connection[Any], role: str) -> None:
    digest, pair = bytes(32), bytes(64)
    rows: dict[str, list[object]] = {
        "audit_seals": [1, "a", "-infinity", 1, 9, 0, 9, 1, digest, digest, "2026-01-31", "s1", pair, 2],
        "audit_seal_leaves": [1, bytes(48)],
        "audit_seal_timestamps": [1, bytes(9), "2026-01-31"],
        "audit_removed_leaves": [1, 2, "2026-01-31", digest],
        "audit_removals": [1, "2026-01-31", "[]", "[]"],
        "audit_verifications": [1, "2026-01-31", 1, 1, 1, 0, 0, True, False, ["s1"], "alice"],
    }
    for table, row in rows.items():
        db.execute(f"insert into svc.{table} overriding system value values ({', '.join(['%s'] * len(row))})", row)
    db.commit()
    db.execute("select set_config('session_replication_role', %s, false)", (role,))
    db.commit()
    columns = {
        "audit_removed_leaves": "digest",
        "audit_seals": "signature",
        "audit_seal_leaves": "leaves",
        "audit_seal_timestamps": "answer",
        "audit_removals": "content",
        "audit_verifications": "findings",
    }
    for table in rows:
        column = columns[table]
        for statement in (f"update svc.{table} set {column} = {column}", f"delete from svc.{table}"):
            with pytest.raises(psycopg.DatabaseError, match=f"{table} refused: seals are append-only") as caught:
                db.execute(statement)
            assert isinstance(translate(caught.value), AppendOnlyError)
            db.rollback()
        with pytest.raises(psycopg.DatabaseError, match="append-only"):
            db.execute(f"truncate svc.{table} cascade")
        db.rollback()


def test_this_month_and_the_next_three_have_partitions(db: psycopg.Connection[Any]) -> None:
    months = scalar(
        db,
        """select array_agg('svc.audit_logs_' || to_char(date_trunc('month', now() at time zone 'UTC')
                                                         + make_interval(months => n), 'YYYY_MM'))
             from generate_series(0, 3) n""",
    )
    assert set(scalar(db, LEAVES)) == {*months, "svc.audit_logs_default"}


def test_rows_that_went_to_the_default_move_to_a_partition_of_their_month(db: psycopg.Connection[Any]) -> None:
    db.execute(
        "insert into svc.audit_logs (table_name, table_oid, operation, timestamp)"
        " values ('old', 0, 'INSERT', '2020-02-29'), ('new', 0, 'INSERT', now() + interval '2 years')"
    )
    assert scalar(db, "select count(*) from svc.audit_logs_default") == 2
    made = scalar(db, "select svc.audit_ensure_partitions()")
    assert "audit_logs_2020_02" in made
    assert len(made) == 2
    assert scalar(db, "select count(*) from svc.audit_logs_default") == 0
    assert scalar(db, "select count(*) from svc.audit_logs where table_name in ('old', 'new')") == 2
    with pytest.raises(psycopg.DatabaseError, match="append-only"):
        db.execute("truncate svc.audit_logs_2020_02")


def test_partitions_are_made_once_also_by_two_at_a_time(db: psycopg.Connection[Any]) -> None:
    assert scalar(db, "select svc.audit_ensure_partitions()") == []


def differing(conn: psycopg.Connection[Any]) -> dict[str, str]:
    return {entry.identity: entry.state for entry in schema.status(conn, audited("t")) if entry.state != "ok"}


def test_a_lost_guard_of_a_partition_comes_back_with_the_next_install(db: psycopg.Connection[Any]) -> None:
    db.execute("drop trigger audit_guard_truncate on svc.audit_logs_default")
    db.execute("alter table svc.audit_logs_default disable trigger audit_guard_row")
    db.commit()
    assert differing(db) == {
        "audit_guard_row on svc.audit_logs_default": "disabled",
        "audit_guard_truncate on svc.audit_logs_default": "missing",
    }
    schema.install(db, audited("t"))
    assert differing(db) == {}
    with pytest.raises(psycopg.DatabaseError, match="append-only"):
        db.execute("truncate svc.audit_logs_default")
    db.rollback()
    guards = scalar(
        db,
        "select count(*) from pg_trigger where tgrelid = 'svc.audit_logs_default'::regclass and tgenabled = 'A'",
    )
    assert guards == 2


@pytest.mark.parametrize(
    ("change", "state"),
    [
        ("alter table {} disable trigger all", "disabled"),
        ("alter table {} enable replica trigger audit_guard_truncate", "disabled"),
        ("alter table {} enable trigger audit_guard_truncate", "tampered"),
        (
            "create function nothing() returns trigger language plpgsql as 'begin return null; end';"
            " drop trigger audit_guard_truncate on {0};"
            " create trigger audit_guard_truncate before truncate on {0} execute function nothing();"
            " alter table {0} enable always trigger audit_guard_truncate",
            "missing",
        ),
    ],
)
def test_a_weakened_guard_of_a_partition_is_noticed_and_put_back(
    db: psycopg.Connection[Any], change: str, state: str
) -> None:
    leaf = scalar(db, LEAVES)[0]
    db.execute(change.format(leaf))
    db.commit()
    assert differing(db)[f"audit_guard_truncate on {leaf}"] == state
    schema.install(db, audited("t"))
    assert differing(db) == {}
    with pytest.raises(psycopg.DatabaseError, match="append-only"):
        db.execute(f"truncate {leaf}")


def test_a_disabled_guard_of_the_log_is_noticed_and_put_back(db: psycopg.Connection[Any]) -> None:
    db.execute("alter table svc.audit_logs disable trigger audit_guard_truncate")
    db.commit()
    assert differing(db) == {"audit_guard_truncate on svc.audit_logs": "disabled"}
    schema.install(db, audited("t"))
    assert differing(db) == {}


def test_a_weakened_guard_of_the_seals_is_noticed_and_put_back(db: psycopg.Connection[Any]) -> None:
    db.execute("alter table svc.audit_seals disable trigger audit_guard_row")
    db.execute("drop trigger audit_guard_truncate on svc.audit_seal_leaves")
    db.execute("create rule forget as on insert to svc.audit_seals do instead nothing")
    db.commit()
    assert differing(db) == {
        "audit_guard_row on svc.audit_seals": "disabled",
        "audit_guard_truncate on svc.audit_seal_leaves": "missing",
        "forget on svc.audit_seals": "tampered",
    }
    schema.install(db, audited("t"))
    assert differing(db) == {}


def test_entries_without_a_partition_of_their_month_are_noticed_and_moved(db: psycopg.Connection[Any]) -> None:
    db.execute(
        "insert into svc.audit_logs (table_name, table_oid, operation, timestamp)"
        " values ('old', 0, 'INSERT', '2020-02-29')"
    )
    db.commit()
    assert differing(db) == {"svc.audit_logs": "outdated"}
    schema.install(db, audited("t"))
    assert differing(db) == {}
    assert scalar(db, "select count(*) from svc.audit_logs_2020_02") == 1


def test_default_privileges_of_the_installer_do_not_open_the_schema(empty_database: str) -> None:
    with psycopg.connect(empty_database) as conn:
        conn.execute("create role svc_test_reader")
        conn.execute("alter default privileges grant all on tables to svc_test_reader")
        conn.execute("alter default privileges grant all on functions to svc_test_reader")
        conn.execute("alter default privileges grant all on schemas to svc_test_reader")
        conn.commit()
        try:
            schema.install(conn, Config())
            may = scalar(
                conn,
                """select array_agg(distinct c.oid::regclass::text) from pg_class c
                    where c.relnamespace = 'svc'::regnamespace and c.relkind in ('r', 'p', 'S')
                      and has_table_privilege('svc_test_reader', c.oid, 'select, insert, update, delete')""",
            )
            schema_usage = scalar(conn, "select has_schema_privilege('svc_test_reader', 'svc', 'usage')")
        finally:
            conn.rollback()
            conn.execute("drop owned by svc_test_reader; drop role svc_test_reader")
            conn.commit()
    assert (may, schema_usage) == (None, False)

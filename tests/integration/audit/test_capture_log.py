from datetime import date
from decimal import Decimal
from typing import Any

import psycopg
import pytest

from svc_pg import audit, schema
from svc_pg.database.sqlstates import translating
from svc_pg.errors import AccessError, AppendOnlyError, ConflictError, NotInstalledError, QueryError
from tests.support.tables import audited, create_and_audit, log


def test_an_entry_that_no_trigger_sees_is_written_with_the_actor_of_the_transaction(
    conn: psycopg.Connection[Any],
) -> None:
    with audit.actor(conn, "alice", context={"request_id": "r-1"}):
        entry_id = audit.capture_log(
            conn,
            "files",
            "UPDATE",
            record_id="report.pdf",
            before={"size": 1, "name": "a"},
            after={"size": 2, "name": "a"},
            label="file replaced",
            severity="low",
            compliance=["soc2"],
            description="by hand",
        )
    [entry] = log(conn)
    assert str(entry["id"]) == entry_id
    assert (entry["table_name"], entry["record_id"], entry["actor_id"]) == ("files", "report.pdf", "alice")
    assert (entry["changed_fields"], entry["before_data"]) == (["size"], {"size": 1, "name": "a"})
    assert (entry["label"], entry["severity"], entry["compliance"]) == ("file replaced", "low", ["soc2"])
    assert (entry["context"], entry["table_oid"]) == ({"request_id": "r-1"}, 0)


def test_it_belongs_to_the_transaction(conn: psycopg.Connection[Any]) -> None:
    with conn.transaction(force_rollback=True):
        audit.capture_log(conn, "files", "INSERT")
    assert log(conn) == []


def test_snapshots_are_written_exactly(conn: psycopg.Connection[Any]) -> None:
    audit.capture_log(conn, "files", "INSERT", after={"size": Decimal("1.10"), "name": "Zoë", "day": date(2026, 1, 31)})
    [entry] = audit.query().list(conn)
    assert entry.after_data is not None
    assert entry.after_data.value == {"size": Decimal("1.10"), "name": "Zoë", "day": "2026-01-31"}
    with pytest.raises(QueryError, match=r"the snapshot is not JSON: \$\.size is NaN"):
        audit.capture_log(conn, "files", "INSERT", after={"size": Decimal("NaN")})


@pytest.mark.parametrize("wrong", [{"operation": "RENAME"}, {"severity": "huge"}, {"compliance": "gdpr"}])
def test_what_an_entry_cannot_have_is_refused_and_the_transaction_goes_on(
    conn: psycopg.Connection[Any], wrong: dict[str, Any]
) -> None:
    conn.execute("select 1")
    with pytest.raises(QueryError, match=f"'{next(iter(wrong.values()))}'"):
        audit.capture_log(conn, **({"table_name": "files", "operation": "INSERT"} | wrong))
    assert conn.info.transaction_status == psycopg.pq.TransactionStatus.INTRANS


def test_a_database_without_svc_pg_says_so(empty_database: str) -> None:
    with psycopg.connect(empty_database) as conn, pytest.raises(NotInstalledError):
        audit.capture_log(conn, "files", "INSERT")


def test_nobody_writes_entries_of_tables_that_are_or_will_be_audited_or_of_our_own(database: str) -> None:
    config = audited("t")
    create_and_audit(database, "create table t (id int primary key, a text)", config)
    with psycopg.connect(database, autocommit=True) as conn:
        conn.execute("insert into t values (1, 'x')")
        conn.execute("alter table t rename to moved")
        schema.install(conn, audited("moved"))
        conn.execute("set role svc_admin")
        for table in ("public.t", "public.moved", "public.future", "svc.tenants", "svc.audit_logs", "svc.anything"):
            with pytest.raises(ConflictError, match=f'an entry of "{table}" can be written by triggers alone') as bad:
                audit.capture_log(
                    conn, table, "UPDATE", record_id="1", before={"a": "x"}, after={"id": 1, "a": "forged"}
                )
            assert bad.value.hint is not None
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                conn.execute("select svc.audit_add_entry(%s, 'UPDATE')", (table,))
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            conn.execute("select svc.audit_add_removal(1, 'UPDATE', 'audit log erased', 'high', '{}', 'x', true)")
        assert audit.capture_log(conn, "files", "UPDATE", record_id="1")
        assert [entry["operation"] for entry in log(conn)] == ["INSERT", "UPDATE"]


@pytest.mark.parametrize("role", ["svc_admin", "svc_owner", "postgres"])
def test_events_of_the_console_stay_as_they_were_written(conn: psycopg.Connection[Any], role: str) -> None:
    insert = "insert into svc.console_events (event, email, occurred_at) values ('signed_in', 'mallory@x.example', %s)"
    conn.execute(insert, ("now",))
    conn.execute(insert, ("2001-01-01",))
    if role == "postgres":
        conn.execute("set session_replication_role = replica")
    conn.execute(psycopg.sql.SQL("set local role {}").format(psycopg.sql.Identifier(role)))
    for statement in (
        "update svc.console_events set email = 'ann@x.example'",
        "delete from svc.console_events",
        "truncate svc.console_events",
        "alter table svc.console_events disable trigger all",
    )[: 3 if role != "svc_admin" else 4]:
        with pytest.raises((AppendOnlyError, AccessError)), conn.transaction(), translating():
            conn.execute(statement)
    conn.execute("select svc.console_prune()")
    assert conn.execute("select count(*), max(email) from svc.console_events").fetchall() == [(1, "mallory@x.example")]


def test_gone_is_refused_in_sql_too(conn: psycopg.Connection[Any]) -> None:
    with pytest.raises(psycopg.Error, match="GONE is not an operation of such an entry") as refused:
        conn.execute("select svc.capture_log('files', 'GONE', '1')")
    assert refused.value.sqlstate == "SV003"


def test_a_snapshot_that_somebody_writes_names_them(conn: psycopg.Connection[Any]) -> None:
    with audit.actor(conn, "ann"):
        audit.capture_log(
            conn, "files", "SNAPSHOT", record_id="1", before={"a": 1}, after={"a": 2}, label="found by me"
        )
    [entry] = audit.query().operation("SNAPSHOT").list(conn).data
    assert (entry.changed_fields, entry.actor_id, entry.is_found) == (["a"], "ann", False)

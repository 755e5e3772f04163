from datetime import date
from decimal import Decimal
from typing import Any

import psycopg
import pytest

from svc_pg import audit
from svc_pg.errors import NotInstalledError, QueryError
from tests.support.tables import log


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

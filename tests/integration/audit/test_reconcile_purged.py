"""A record of which a purge leaves no trace is called unknown, neither missing nor different nor gone."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any, LiteralString

import psycopg
import pytest
from psycopg.types.json import Jsonb

from svc_pg import audit
from svc_pg.audit.log.audit_log import log_of
from svc_pg.audit.log.purge_report import Ages
from svc_pg.database.query import scalar
from tests.support.postgres import Prepare
from tests.support.tables import audited, create_and_audit

CONFIG = audited("t")
OLD = """
insert into svc.audit_logs (
    table_name, table_oid, operation, record_id, moved_from, before_data, after_data, "timestamp"
)
select 'public.t', 't'::regclass, operation::svc.audit_operation, record_id, moved_from, before_data::jsonb,
       after_data::jsonb, now() - interval '40 days' + number * interval '1 minute'
  from (values {}) e(number, operation, record_id, moved_from, before_data, after_data)
"""


@pytest.fixture(scope="module")
def prepare() -> Prepare:
    def fill(conninfo: str) -> None:
        create_and_audit(conninfo, "create table t (id int primary key, a text)", CONFIG)
        with psycopg.connect(conninfo) as conn:
            conn.execute("insert into t select n, 'a' from generate_series(1, 5) n")

    return fill


@pytest.fixture
def db(database: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(database, autocommit=True) as conn:
        yield conn


def unseen(conn: psycopg.Connection[Any], change: LiteralString) -> None:
    conn.execute("set session_replication_role = replica")
    conn.execute(change)
    conn.execute("reset session_replication_role")


def old(conn: psycopg.Connection[Any], entries: LiteralString) -> None:
    """Write entries of long ago, and make the log's partitions for them."""
    conn.execute(OLD.format(entries))
    conn.execute("select svc.audit_ensure_partitions()")


def report(found: audit.Reconciliation) -> audit.TableReport:
    [one] = found.tables
    return one


def purge_all(conn: psycopg.Connection[Any]) -> None:
    """Remove each entry that is there."""
    log = log_of(conn)
    log.run(log.purge(Ages(timedelta(0)), dry_run=False, unsealed=False, all_databases=False, progress=lambda _: None))


def test_rows_of_purged_entries_are_unknown_and_not_missing(db: psycopg.Connection[Any]) -> None:
    unseen(db, "insert into t values (7, 'a'), (8, 'a')")
    old(
        db,
        """(1, 'INSERT', '7', null, null, '{"id": 7, "a": "a"}'),
           (2, 'INSERT', '8', null, null, '{"id": 8, "a": "a"}')""",
    )
    assert audit.reconcile(db, CONFIG).is_whole
    audit.purge(db, timedelta(days=30))
    unseen(db, "update t set a = 'b' where id = 3")
    for most in (1, 100):
        found = audit.reconcile(db, CONFIG, most=most)
        one = report(found)
        assert (one.missing, one.unrecorded, one.unknown, one.differing) == (0, 0, 2, 1)
        assert one.purged_before is not None
        assert [(each.kind, each.record_id) for each in found.differences] == [("differs", "3")]
    assert report(audit.reconcile(db, CONFIG, repair=True)).repaired == 3
    one = report(audit.reconcile(db, CONFIG))
    assert (one.unknown, one.is_whole) == (0, True)


def test_what_was_purged_is_known_after_the_entry_about_that_purge_was_purged_too(
    db: psycopg.Connection[Any],
) -> None:
    """A table that nobody writes to has no entry that a later purge could remove and tell of."""

    for _ in range(4):
        purge_all(db)
        one = report(audit.reconcile(db, CONFIG))
        assert (one.missing, one.unknown, one.is_whole) == (0, 5, True)


FORGED = [
    {"before": "soon"},
    {"before": 7, "tables": [], "earlier": "public.t"},
    {"tables": {"public.t": {"before": "2026-02-30T00:00:00Z"}, "public.u": 5}},
    {"earlier": {"before": [], "tables": {"public.t": None}}},
    {"earlier": {"tables": 1}, "tables": "public.t"},
    [],
]


def test_entries_about_purges_that_somebody_wrote_by_hand_keep_neither_purges_nor_comparisons_from_their_work(
    db: psycopg.Connection[Any],
) -> None:
    insert = (
        "insert into svc.audit_logs (table_name, table_oid, operation, label, before_data)"
        " values ('svc.audit_logs', 0, 'DELETE', 'audit log purged', %s)"
    )
    for _ in range(2):
        for facts in FORGED:
            db.execute(insert, (Jsonb(facts),))
        one = report(audit.reconcile(db, CONFIG))
        purge_all(db)
        assert one.is_whole
    assert (one.missing, one.unknown) == (0, 5)


def earlier(conn: psycopg.Connection[Any], *facts: Any) -> Any:
    return scalar(conn, "select svc.audit_purged_earlier(%s::jsonb[])", ([Jsonb(each) for each in facts],))


def of(**days: int) -> dict[str, Any]:
    """The facts of purges of tables before these days of a month."""
    return {table: {"before": f"2026-11-{day:02}T00:00:00+00:00"} for table, day in days.items()}


def test_the_latest_time_of_each_table_is_told_again_and_only_if_no_later_month_was_dropped(
    db: psycopg.Connection[Any],
) -> None:
    told = {"tables": of(t=5, u=2), "earlier": {"tables": of(t=9, v=3)}}
    assert earlier(db, told) == {"tables": of(t=9, u=2, v=3)}
    assert earlier(db, {"earlier": earlier(db, told)}, {"tables": of(u=4)}) == {"tables": of(t=9, u=4, v=3)}
    assert earlier(db, told, {"from": None, **of(x=4)["x"]}) == {**of(x=4)["x"], "tables": of(t=9)}
    assert earlier(db, told, {"earlier": of(x=9)["x"]}) == of(x=9)["x"]
    assert earlier(db, *FORGED) is None
    assert scalar(db, "select svc.audit_purged_earlier(null)") is None


def test_records_whose_newer_entries_a_hold_did_not_keep_are_unknown(db: psycopg.Connection[Any]) -> None:
    """A hold of a key keeps the entry that gave the record another key, and not those that came after."""
    unseen(db, "insert into t values (61, 'new'), (63, 'a')")
    old(
        db,
        """(1, 'INSERT', '51', null, null, '{"id": 51, "a": "a"}'),
           (2, 'UPDATE', '61', '51', '{"id": 51, "a": "a"}', '{"id": 61, "a": "a"}'),
           (3, 'UPDATE', '61', null, '{"id": 61, "a": "a"}', '{"id": 61, "a": "new"}'),
           (4, 'INSERT', '52', null, null, '{"id": 52, "a": "a"}'),
           (5, 'UPDATE', '62', '52', '{"id": 52, "a": "a"}', '{"id": 62, "a": "a"}'),
           (6, 'DELETE', '62', null, '{"id": 62, "a": "a"}', null),
           (7, 'INSERT', '53', null, null, '{"id": 53, "a": "a"}'),
           (8, 'UPDATE', '63', '53', '{"id": 53, "a": "a"}', '{"id": 63, "a": "a"}')""",
    )
    assert audit.reconcile(db, CONFIG).is_whole
    for key in (51, 52, 53):
        audit.hold(db, "t", key, reason="a case")
    audit.purge(db, timedelta(days=30))
    unseen(db, "delete from t where id = 2; update t set a = 'b' where id = 3")
    found = audit.reconcile(db, CONFIG)
    one = report(found)
    assert (one.missing, one.differing, one.gone, one.unknown) == (0, 1, 1, 2)
    assert [(each.kind, each.record_id) for each in found.differences] == [("differs", "3"), ("gone", "2")]
    assert report(audit.reconcile(db, CONFIG, repair=True)).repaired == 4
    one = report(audit.reconcile(db, CONFIG))
    assert (one.unknown, one.is_whole) == (0, True)

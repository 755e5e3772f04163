"""The coverage tells of each table whether its changes are recorded, what of them, and the reason if not."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any, Final, cast

import psycopg
import pytest
from psycopg.sql import SQL, Identifier

from svc_pg import Config, audit, schema
from svc_pg.audit.read import coverage, coverage_days
from svc_pg.config import AuditConfig, AuditedTable, Grants
from svc_pg.database.query import fetch
from svc_pg.errors import QueryError
from tests.support.postgres import Prepare
from tests.support.roles import as_role, new_role
from tests.support.tables import add_entry, create_and_audit

HOSTILE: Final = ('<script>alert("1")</script>', "a\u202eb.'c\"", "é" * 31 + "x", "50%s {{7+7}}", "back\\slash")
CONFIG: Final = AuditConfig(
    tables=[
        AuditedTable(name="customer", redact={"iban": "last4", "email": "hash"}, ignore=["seen"]),
        AuditedTable(name="narrow", columns=["a"]),
        AuditedTable(name="shop.*", exclude=["shop.session*"], redact={"pin": "mask"}),
    ]
)
DDL: Final = """
create schema shop;
create schema other;
create table customer (id int primary key, iban text, email text, seen int);
create table narrow (id int primary key, a int, b int);
create table shop.card (id int primary key, pin text);
create table shop.plain (n int unique);
create table shop.session (id int primary key);
create table shop.month (day date primary key) partition by range (day);
create table shop.month_1 partition of shop.month for values from ('2026-01-01') to ('2026-02-01');
create table shop.month_2 partition of shop.month for values from ('2026-02-01') to ('2026-03-01')
    partition by range (day);
create table shop.month_2a partition of shop.month_2 for values from ('2026-02-01') to ('2026-02-10');
create table other.loose (id int primary key);
create view other.seen as select 1 as n;
create materialized view other.kept as select 1 as n;
create foreign data wrapper nothing;
create server far foreign data wrapper nothing;
create foreign table other.far (n int) server far;
"""


@pytest.fixture(scope="module")
def prepare() -> Prepare:
    return lambda conninfo: create_and_audit(conninfo, DDL, Config(audit=CONFIG))


@pytest.fixture
def db(database: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(database) as conn:
        yield conn


def covered(conn: psycopg.Connection[Any], config: AuditConfig = CONFIG, **filters: Any) -> dict[str, Any]:
    return {table.name: table for table in audit.coverage(config, **filters).list(conn)}


def told(conn: psycopg.Connection[Any], config: AuditConfig = CONFIG) -> dict[str, tuple[str, str | None]]:
    return {name: (table.state, table.reason) for name, table in covered(conn, config).items()}


def test_each_table_is_told_with_its_state_and_the_reason(db: psycopg.Connection[Any]) -> None:
    found = covered(db)
    assert [(table.kind, table.name, table.state, table.reason) for table in found.values()] == [
        ("foreign_table", "other.far", "not_audited", "foreign_table"),
        ("materialized_view", "other.kept", "not_audited", "materialized_view"),
        ("table", "other.loose", "not_audited", "not_in_configuration"),
        ("view", "other.seen", "not_audited", "view"),
        ("table", "public.customer", "audited", None),
        ("table", "public.narrow", "audited", None),
        ("table", "shop.card", "audited", None),
        ("partitioned_table", "shop.month", "audited", None),
        ("table", "shop.plain", "audited", None),
        ("table", "shop.session", "not_audited", "excluded"),
    ]
    assert (found["public.customer"].redact, found["public.customer"].ignore) == (
        {"iban": "last4", "email": "hash"}, ["seen"]
    )  # fmt: skip
    assert (found["public.narrow"].columns, found["public.customer"].columns) == (["a"], None)
    assert (found["shop.card"].redact, found["shop.plain"].redact) == ({"pin": "mask"}, {})
    assert (found["shop.card"].has_key, found["shop.plain"].has_key) == (True, False)
    assert (found["shop.month"].partitions, found["shop.card"].partitions) == (2, None)
    counts = audit.coverage(CONFIG).counts(db)
    assert (counts.tables, counts.audited, counts.drifting, counts.not_audited) == (7, 5, 0, 2)
    assert (counts.excluded, counts.others, counts.schemas) == (1, 3, ["other", "public", "shop"])


def test_capture_that_is_not_as_configured_is_drifting(db: psycopg.Connection[Any]) -> None:
    db.execute("alter table customer disable trigger user")
    trigger = db.execute("select tgname from pg_trigger where tgrelid = 'shop.card'::regclass limit 1").fetchone()
    db.execute(SQL("drop trigger {} on shop.card").format(Identifier(cast(Any, trigger)[0])))
    db.execute("create table shop.later (id int primary key); drop table narrow; create table fresh ()")
    found = told(db)
    assert found["public.customer"] == ("drifting", "trigger_disabled")
    assert found["shop.card"] == found["shop.later"] == ("drifting", "trigger_missing")
    assert found["public.narrow"] == ("drifting", "no_such_table")
    assert found["public.fresh"] == ("not_audited", "not_in_configuration")
    assert audit.coverage(CONFIG).counts(db).drifting == 4
    assert told(db, AuditConfig())["shop.month"] == ("drifting", "not_in_configuration")
    wanted = AuditConfig(tables=[*CONFIG.tables, AuditedTable(name="a.missing")])
    missing = covered(db, wanted)["a.missing"]
    assert (missing.schema, missing.kind, missing.state, missing.reason) == ("a", None, "drifting", "no_such_table")


def test_a_partition_whose_own_trigger_does_not_fire_is_told_of_its_table(db: psycopg.Connection[Any]) -> None:
    [trigger] = db.execute(
        "select tgname from pg_trigger where tgrelid = 'shop.month_2a'::regclass and tgparentid <> 0 limit 1"
    ).fetchall()
    db.execute(SQL("alter table shop.month_2a disable trigger {}").format(Identifier(*trigger)))
    assert told(db)["shop.month"] == ("drifting", "trigger_disabled")


def test_filters_and_pages_select_the_same_tables(db: psycopg.Connection[Any]) -> None:
    everything = [*covered(db)]
    assert [*covered(db, schema="shop", state="audited")] == ["shop.card", "shop.month", "shop.plain"]
    assert [*covered(db, text="SES")] == ["shop.session"]
    assert [*covered(db, text="%")] == [*covered(db, schema="svc")] == []
    query = audit.coverage(CONFIG).limit(3)
    names: list[str] = []
    back: list[str] = []
    page = query.list(db)
    names += [table.name for table in page]
    while page.next_cursor:
        page = query.after(page.next_cursor).list(db)
        names += [table.name for table in page]
    while page.prev_cursor:
        page = query.before(page.prev_cursor).list(db)
        back = [table.name for table in page] + back
    assert names == everything
    assert back == everything[: len(back)] != []
    with pytest.raises(QueryError):
        query.after("x")


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_name_is_a_name(db: psycopg.Connection[Any], name: str) -> None:
    db.execute(SQL("create schema {}").format(Identifier(name)))
    table = SQL("{}.{}").format(Identifier(name), Identifier(name))
    db.execute(SQL("create table {} (id int primary key, {} text)").format(table, Identifier(name)))
    [found] = covered(db, schema=name).values()
    assert (found.schema, found.reason) == (name, "not_in_configuration")
    assert [*covered(db, text=found.name)] == [found.name]
    wanted = AuditConfig(tables=[AuditedTable(name=found.name, ignore=[name])])
    [named] = covered(db, wanted, schema=name).values()
    assert (named.state, named.reason, named.ignore) == ("drifting", "trigger_missing", [name])
    db.execute(SQL("drop schema {} cascade").format(Identifier(name)))
    [gone] = covered(db, wanted, schema=name).values()
    assert (gone.schema, gone.name, gone.reason) == (name, found.name, "no_such_table")


def test_entries_are_counted_by_day(db: psycopg.Connection[Any]) -> None:
    db.execute("insert into customer select n, 'x' from generate_series(1, 12) n")
    [table] = covered(db, text="customer").values()
    assert len(table.days) == coverage_days.DAYS
    assert [(each.entries, each.is_estimate) for each in table.days[-2:]] == [(0, False), (12, False)]
    assert table.days[1].day - table.days[0].day == timedelta(days=1)
    assert table.last_entry_at == db.execute("select max(timestamp) from svc.audit_logs").fetchone()[0]  # type: ignore[index]
    assert covered(db)["other.loose"].days == []


def test_a_log_with_many_entries_is_sampled(db: psycopg.Connection[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coverage_days, "MAX_ENTRIES", 500)
    db.execute("""
        insert into svc.audit_logs ("timestamp", table_name, table_oid, operation)
        select now() - interval '5 days' * n / 20000, 'public.customer', 0, 'UPDATE' from generate_series(1, 20000) n
    """)
    db.commit()
    db.execute("analyze svc.audit_logs")
    [table] = covered(db, text="customer").values()
    assert table.days[-2].is_estimate  # today may have begun just now
    assert 5_000 < sum(each.entries for each in table.days) < 80_000
    newest = db.execute("select max(timestamp) from svc.audit_logs where table_name = 'public.customer'").fetchone()
    assert table.last_entry_at == cast(Any, newest)[0]


def test_the_last_reconciliation_is_told(db: psycopg.Connection[Any]) -> None:
    db.autocommit = True
    db.execute("insert into customer values (1, 'x'); insert into narrow values (1)")
    audit.reconcile(db, Config(audit=CONFIG), table="customer")
    found = covered(db)
    last = found["public.customer"].reconciliation
    assert (last.rows, last.differences, last.unrepaired) == (1, 0, 0)
    assert found["public.narrow"].reconciliation is None
    add_entry(
        db, "svc.audit_logs", "SNAPSHOT", record_id="public.customer", label="audit log reconciled",
        after={"unrepaired": -1, "rows": "many"},
    )  # fmt: skip
    assert covered(db)["public.customer"].reconciliation == last


def test_the_reconciliations_of_the_first_tables_alone_are_counted(
    db: psycopg.Connection[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    db.autocommit = True
    for table in ("customer", "narrow"):
        audit.reconcile(db, Config(audit=CONFIG), table=table)
    assert audit.coverage(CONFIG).counts(db).reconciled.tables == 2
    monkeypatch.setattr(coverage, "MOST_RECONCILED", 1)
    assert audit.coverage(CONFIG).counts(db).reconciled.tables == 1


def test_three_thousand_tables_are_bounded(db: psycopg.Connection[Any]) -> None:
    for part in range(15):
        db.execute(
            SQL("do $$begin for n in {}..{} loop execute format('create table shop.t%s (n int)', n); end loop; end$$")
            .format(part * 200, part * 200 + 199)
        )  # fmt: skip
        db.commit()
    db.execute("set statement_timeout = '5s'")
    page = audit.coverage(CONFIG).list(db)
    assert len(page.data) == 100
    assert len(audit.coverage(CONFIG).limit(1000).list(db).data) == 1000
    assert audit.coverage(CONFIG).counts(db).drifting == 3000
    many = [
        AuditedTable(name=f"shop.t{n}[0-9]*", exclude=[f"shop.t{n}{digit}?" for digit in range(5)])
        for n in range(10, 30)
    ]
    many += [AuditedTable(name=f"shop.none{n}*") for n in range(100)]
    db.execute("set statement_timeout = '12s'")
    counts = audit.coverage(AuditConfig(tables=[*CONFIG.tables[:2], *many])).counts(db)
    assert (counts.excluded, counts.drifting) == (1000, 1200 + 3)


def test_a_table_that_is_locked_or_dropped_meanwhile_does_not_end_the_list(
    db: psycopg.Connection[Any], database: str
) -> None:
    with psycopg.connect(database) as other:
        other.execute("lock table customer, shop.month, other.loose in access exclusive mode")
        db.execute("set lock_timeout = '2s'")
        assert len(covered(db)) == 10
        other.rollback()
    listed = audit.coverage(CONFIG).list(db)
    db.execute("drop table other.loose")
    details = fetch(db, audit.coverage(CONFIG)._details(listed.data))
    assert [detail.name for detail in details if not detail.is_there] == ["other.loose"]


def test_a_role_that_may_see_no_table_of_others_is_told_of_each(
    db: psycopg.Connection[Any], database: str, postgres: str
) -> None:
    expected = told(db)
    db.commit()
    with new_role(postgres) as role:
        schema.install(db, Config(audit=CONFIG, grants=Grants(admin=[role])))
        with as_role(database, role) as other:
            assert told(other) == expected
        db.execute(SQL("drop owned by {}").format(Identifier(role)))
        db.commit()

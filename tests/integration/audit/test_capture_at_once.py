"""Partitions that are new, and a table that takes the name of an audited one, are captured in the same transaction."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, LiteralString

import psycopg
import pytest
from psycopg import sql

from svc_pg import Config, schema
from svc_pg.capture.patterns import fits, posix
from svc_pg.config import AuditConfig, AuditedTable
from svc_pg.database.query import scalar
from svc_pg.database.table_names import TableName
from tests.support.postgres import Prepare
from tests.support.roles import new_role, noticed, owning
from tests.support.tables import create_and_audit

TABLES: LiteralString = """
create schema shop;
create schema under_score;
create table shop.w (id int primary key, v int, c text);
create table under_score.w (id int primary key, v int);
create table shop.p (id int, v int, primary key (id)) partition by range (id);
create table shop.p1 partition of shop.p for values from (0) to (10);
create table other (id int primary key);
"""
TABLE_RULES = [
    AuditedTable(name="shop.*", exclude=["shop.tmp_*"]),
    AuditedTable(name="under_score.w"),
]
MOST = 200
"""The partitions that one statement captures: v_most of svc.audit_on_new."""
CONFIG = Config(audit=AuditConfig(ddl=True, tables=TABLE_RULES))


@pytest.fixture(scope="module")
def prepare() -> Prepare:
    return lambda conninfo: create_and_audit(conninfo, TABLES, CONFIG)


@pytest.fixture
def db(database: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(database, autocommit=True) as conn:
        yield conn


@pytest.fixture
def owner(postgres: str, db: psycopg.Connection[Any], database: str) -> Iterator[str]:
    """A role that owns the tables, and has no right on schema svc but those of their capture."""
    with new_role(postgres) as role:
        name = sql.Identifier(role)
        for schema_name in ("shop", "under_score", "public"):
            db.execute(sql.SQL("grant all on schema {} to {}").format(sql.Identifier(schema_name), name))
        for table in ("shop.w", "shop.p", "shop.p1", "under_score.w"):
            db.execute(sql.SQL("alter table {} owner to {}").format(sql.Identifier(*table.split(".")), name))
        schema.install(db, CONFIG)
        yield role
        with psycopg.connect(database, autocommit=True) as conn:
            conn.execute(sql.SQL("drop owned by {} cascade").format(name))


def ddl(conn: psycopg.Connection[Any]) -> list[tuple[str, str, dict[str, str] | None]]:
    """The label, the table and the image after of the entries about DDL."""
    text = "select label, table_name, after_data from svc.audit_logs where operation = 'DDL' order by id"
    return conn.execute(text).fetchall()


def captured(conn: psycopg.Connection[Any], table: str) -> list[str]:
    text = "select operation::text from svc.audit_logs where table_name = %s and operation <> 'DDL' order by id"
    return [operation for (operation,) in conn.execute(text, (table,))]


def differing(conn: psycopg.Connection[Any]) -> list[tuple[str, str]]:
    return [(entry.identity, entry.state) for entry in schema.status(conn, CONFIG) if entry.state != "ok"]


ADD: LiteralString = "create table shop.p2 partition of shop.p for values from (10) to (20)"
NEW: list[tuple[LiteralString, LiteralString]] = [
    (ADD, "shop.p2"),
    ("create table other_p2 partition of shop.p for values from (10) to (20)", "other_p2"),
    (
        """create unlogged table shop."P ""2" partition of shop.p for values from (10) to (20)""",
        """shop."P ""2" """,
    ),
    (
        ADD + " partition by range (id); create table shop.p20 partition of shop.p2 default",
        "shop.p20",
    ),
]


@pytest.mark.parametrize(("statement", "name"), NEW)
def test_a_new_partition_is_as_an_install_makes_it(
    database: str, db: psycopg.Connection[Any], owner: str, statement: LiteralString, name: LiteralString
) -> None:
    before = len(ddl(db))
    with owning(database, owner) as (conn, notices), conn.transaction():
        conn.execute(statement)
        conn.execute("insert into shop.p values (15, 1)")
        conn.execute(sql.SQL("truncate {}").format(sql.SQL(name)))
    assert notices == []
    assert captured(db, "shop.p") == ["INSERT", "TRUNCATE"]
    assert {(label, table) for label, table, _ in ddl(db)[before:]} == {("CREATE TABLE", "shop.p")}
    assert all("capture" not in (after or {}) for _, _, after in ddl(db)[before:])
    assert differing(db) == []
    assert schema.install(db, CONFIG) == []


def test_an_attached_tree_is_captured_and_its_own_rows_stay_a_gap(
    database: str, db: psycopg.Connection[Any], owner: str
) -> None:
    with owning(database, owner) as (conn, _):
        conn.execute("create table public.q (id int not null, v int, primary key (id)) partition by range (id)")
        conn.execute("create table public.q1 partition of q for values from (20) to (30)")
        conn.execute("insert into public.q values (21, 1)")
    with owning(database, owner) as (conn, notices), conn.transaction():
        conn.execute("alter table shop.p attach partition public.q for values from (20) to (30)")
        conn.execute("truncate public.q1")
    assert notices == []
    assert captured(db, "shop.p") == ["TRUNCATE"]
    assert differing(db) == [
        ("shop.p: partition public.q was attached with its rows", "incomplete"),
    ]
    assert schema.install(db, CONFIG) == []


SWAP: LiteralString = "create table {0}2 (like {0} including all); alter table {0} rename to w_old"
NAMED: list[LiteralString] = ["shop.w", "under_score.w"]


@pytest.mark.parametrize("name", NAMED)
def test_a_table_that_takes_the_name_of_an_audited_one_is_captured(
    database: str, db: psycopg.Connection[Any], owner: str, name: LiteralString
) -> None:
    table = sql.SQL(name)
    with owning(database, owner) as (conn, notices), conn.transaction():
        conn.execute(sql.SQL("create table {} (id int primary key)").format(sql.SQL(name + "3")))
        conn.execute(sql.SQL(SWAP).format(table))
        conn.execute(sql.SQL("alter table {} add extra text").format(sql.SQL(name + "2")))
        conn.execute(sql.SQL("alter table {} rename to w").format(sql.SQL(name + "2")))
        for text in ("insert into {} values (1, 1)", "update {} set v = 2", "delete from {}", "truncate {}"):
            conn.execute(sql.SQL(text).format(table))
    assert [notice for notice in notices if "shop.w3" not in notice and "shop.w2" not in notice] == []
    assert captured(db, name) == ["INSERT", "UPDATE", "DELETE", "TRUNCATE"]
    of_table = "select count(*) from svc.audit_table_names where table_oid = %s::regclass and table_name = %s"
    assert scalar(db, of_table, (name, name)) == 1
    old, new = [entry for entry in ddl(db) if entry[1] == name][-2:]
    assert old == ("ALTER TABLE", name, {"table name": f"{name}_old"})
    assert new == ("ALTER TABLE", name, {"table name": name})
    schema.install(db, CONFIG)
    assert [identity for identity, state in differing(db) if state != "incomplete"] == []
    assert captured(db, name) == ["INSERT", "UPDATE", "DELETE", "TRUNCATE"]


def test_a_swap_that_is_rolled_back_leaves_nothing(database: str, db: psycopg.Connection[Any], owner: str) -> None:
    with owning(database, owner) as (conn, _), conn.transaction(force_rollback=True):
        conn.execute(sql.SQL(SWAP).format(sql.SQL("under_score.w")))
        conn.execute("alter table under_score.w2 rename to w")
        conn.execute(ADD)
    assert differing(db) == []


UNFIT: list[LiteralString] = [
    "create table under_score.w (id int primary key)",  # a column is gone
    "create table under_score.w (id int primary key, v text)",
    "create table under_score.w (id int primary key, v int) partition by range (id)",
]


@pytest.mark.parametrize("statement", UNFIT)
def test_a_table_that_does_not_fit_is_told_to_be_without_capture(
    database: str, db: psycopg.Connection[Any], owner: str, statement: LiteralString
) -> None:
    with owning(database, owner) as (conn, notices), conn.transaction():
        conn.execute("alter table under_score.w rename to w_old")
        conn.execute(statement)
    assert notices == ["svc-pg: under_score.w is captured not before the next install"]
    last = ddl(db)[-1]
    assert last == (
        "CREATE TABLE",
        "under_score.w",
        {"table name": "under_score.w", "capture": "not before the next install"},
    )
    assert "00_svc_audit_write on under_score.w" in [identity for identity, _ in differing(db)] or (
        "partition by" in statement
    )


def test_a_table_of_the_name_of_a_dropped_one_is_told_to_be_without_capture_until_an_install(
    database: str, db: psycopg.Connection[Any], owner: str
) -> None:
    before = len(ddl(db))
    with owning(database, owner) as (conn, notices), conn.transaction():
        conn.execute("drop table under_score.w")
        conn.execute("create table under_score.w (id int primary key, v int)")
        conn.execute("insert into under_score.w values (1, 1)")
    assert notices == ["svc-pg: under_score.w is captured not before the next install"]
    lacking = {"table name": "under_score.w", "capture": "not before the next install"}
    assert ddl(db)[before:] == [
        ("DROP TABLE", "under_score.w", None),
        ("CREATE TABLE", "under_score.w", lacking),
    ]
    text = "select severity::text from svc.audit_logs where label = 'CREATE TABLE' and table_name = 'under_score.w'"
    assert db.execute(text).fetchall() == [("high",)]
    assert ("00_svc_audit_write on under_score.w", "missing") in differing(db)
    schema.install(db, CONFIG)
    db.execute("insert into under_score.w values (2, 1)")
    assert captured(db, "under_score.w")[-1:] == ["INSERT"]
    assert [state for _, state in differing(db) if state != "incomplete"] == []


HOSTILE: LiteralString = """
create schema evil;
create function evil.runs() returns trigger language plpgsql as $$ begin raise 'evil runs'; end $$;
create function evil.quote_ident(text) returns text language plpgsql as $$ begin raise 'evil runs'; end $$;
create function evil.equal(oid, oid) returns bool language plpgsql as $$ begin raise 'evil runs'; end $$;
create operator evil.= (function = evil.equal, leftarg = oid, rightarg = oid);
create function evil.concat(variadic text[]) returns text language plpgsql as $$ begin raise 'evil runs'; end $$;
create temp table pg_class (oid oid, relname text);
create temp table pg_trigger (oid oid);
set search_path = evil, pg_temp, public, pg_catalog;
"""


def test_a_hostile_owner_has_no_code_run_by_others(database: str, db: psycopg.Connection[Any], owner: str) -> None:
    db.execute(
        sql.SQL("grant create on database {} to {}").format(sql.Identifier(db.info.dbname), sql.Identifier(owner))
    )
    with owning(database, owner) as (conn, notices):
        conn.execute(HOSTILE)
        conn.execute(ADD)
        conn.execute("alter table under_score.w rename to w_old")
        # triggers of the names of ours, which are none of ours: a superuser's DDL must not copy them
        conn.execute("""drop trigger "00_svc_audit_write" on under_score.w_old""")
        conn.execute(
            """create trigger "00_svc_audit_write" after insert or delete on under_score.w_old
               for each row execute function evil.runs()"""
        )
        conn.execute(
            """create trigger "00_svc_audit_truncate_evil" after truncate on shop.p
               for each statement execute function evil.runs()"""
        )
        assert notices == []
        # and none of the names of ours is recorded as installed because its function is one of ours
        conn.execute("create table public.mine (id int)")
        for name in ("00_svc_audit_truncate", "00_svc_audit_write on public.other"):
            conn.execute(
                sql.SQL("create trigger {} before insert on mine execute function svc.capture_shop_p()").format(
                    sql.Identifier(name)
                )
            )
        for refused in ("svc.audit_on_new()", "svc.audit_adopt(1)", "svc.audit_is_wanted('x')"):
            with pytest.raises((psycopg.errors.InsufficientPrivilege, psycopg.errors.FeatureNotSupported)):
                conn.execute(sql.SQL("select {}").format(sql.SQL(refused)))
    recorded = scalar(db, "select count(*) from svc.installed_objects where identity like '%mine%'")
    assert recorded == 0
    db.execute("create table under_score.w (id int primary key, v int)")
    db.execute("create table shop.p3 partition of shop.p for values from (20) to (30)")
    text = "select tgfoid::regproc::text from pg_trigger where tgrelid = %s::regclass and tgtype = 32"
    made = [name for (name,) in db.execute(text, ("shop.p3",))]
    assert len(made) == 1
    assert made[0].startswith("svc.capture_")
    assert scalar(db, "select count(*) from pg_trigger where tgrelid = 'under_score.w'::regclass") == 0


@pytest.mark.parametrize("name", ["'||evil.f()||'", '"||evil.f()||"', "$svc$; select evil.f(); --", "e\\'", "0011223Z"])
@pytest.mark.parametrize(
    "statement", ["create table shop.p3 partition of shop.p default", "alter table shop.p add column n int"]
)
def test_the_name_of_a_trigger_is_no_code(
    database: str, db: psycopg.Connection[Any], owner: str, name: str, statement: LiteralString
) -> None:
    db.execute(
        sql.SQL("create schema evil authorization {}; grant usage on schema evil to public").format(
            sql.Identifier(owner)
        )
    )
    with owning(database, owner) as (conn, _):
        conn.execute("create function evil.f() returns text language plpgsql as 'begin raise query_canceled; end'")
        conn.execute(
            sql.SQL(
                "create trigger {} after truncate on shop.p for each statement execute function svc.capture_shop_p()"
            ).format(sql.Identifier(f"00_svc_audit_truncate_{name}"))
        )
    db.execute(statement)
    made = db.execute("select tgname from pg_trigger where tgrelid = to_regclass('shop.p3') and tgtype = 32").fetchall()
    assert len(made) == ("p3" in statement)
    assert (
        scalar(db, "select svc.audit_trigger_sql('truncate', %s, 'f', 's', 't')", (f"00_svc_audit_truncate_{name}",))
        is None
    )


def test_a_partition_with_another_trigger_of_the_name_is_told(
    database: str, db: psycopg.Connection[Any], owner: str
) -> None:
    name = scalar(db, "select tgname from pg_trigger where tgrelid = 'shop.p'::regclass and tgtype = 32")
    with owning(database, owner) as (conn, notices):
        conn.execute("create table shop.tmp_q (id int, v int, primary key (id))")
        conn.execute("create function shop.nop() returns trigger language plpgsql as 'begin return null; end'")
        conn.execute(
            sql.SQL(
                "create trigger {} after truncate on shop.tmp_q for each statement execute function shop.nop()"
            ).format(sql.Identifier(name))
        )
        conn.execute("alter table shop.p attach partition shop.tmp_q for values from (20) to (30)")
        assert any("without TRUNCATE" in notice or "not captured" in notice for notice in notices), notices
    assert ddl(db)[-1][2] is not None
    assert "capture" in str(ddl(db)[-1][2])


def test_a_table_with_another_key_does_not_take_the_triggers(
    database: str, db: psycopg.Connection[Any], owner: str
) -> None:
    with owning(database, owner) as (conn, _):
        conn.execute("create table under_score.w2 (id int, v int, primary key (v))")
        conn.execute("alter table under_score.w rename to w_old; alter table under_score.w2 rename to w")
        conn.execute("insert into under_score.w values (1, 1), (1, 2)")
    assert captured(db, "under_score.w") == []


def test_a_table_of_another_owner_is_not_captured_as_that_one(
    database: str, db: psycopg.Connection[Any], owner: str
) -> None:
    with owning(database, owner) as (conn, _):
        conn.execute("alter table under_score.w rename to w_old")
    db.execute("create table under_score.w (id int primary key, v int)")  # of the superuser
    assert scalar(db, "select count(*) from pg_trigger where tgrelid = 'under_score.w'::regclass") == 0
    assert ddl(db)[-1][2] == {"table name": "under_score.w", "capture": "not before the next install"}


@pytest.mark.usefixtures("owner")
def test_a_superuser_partition_of_a_table_of_others_is_captured_too(db: psycopg.Connection[Any]) -> None:
    db.execute(ADD)
    db.execute("truncate shop.p2")
    assert captured(db, "shop.p") == ["TRUNCATE"]
    assert schema.plan(db, CONFIG) == []


def test_what_cannot_be_captured_is_told_and_fails_nothing(
    database: str, db: psycopg.Connection[Any], owner: str
) -> None:
    db.execute("revoke usage on schema svc from public")
    db.execute(sql.SQL("revoke usage on schema svc from {}").format(sql.Identifier(owner)))
    with owning(database, owner) as (conn, notices):
        conn.execute(ADD)
        conn.execute("""create table shop."p'3" partition of shop.p for values from (20) to (30)""")
    assert len([notice for notice in notices if "before the next" in notice]) == len(notices)
    found = [after for label, of, after in ddl(db) if label == "CREATE TABLE"]
    assert [(after or {}).get("capture") for after in found] == ["without TRUNCATE before the next install"] * 2
    assert [state for identity, state in differing(db) if "truncate" in identity] == ["missing"] * 2
    schema.install(db, CONFIG)
    assert differing(db) == []


@contextmanager
def hindering(conn: psycopg.Connection[Any], *tables: str, error: str = "raise_exception") -> Iterator[None]:
    """An event trigger of the database's own refuses triggers on these tables."""
    conn.execute(
        sql.SQL(
            """create function public.hinders() returns event_trigger language plpgsql as $$ begin
               if exists (select from pg_event_trigger_ddl_commands() where object_identity ~ {}) then
                   raise {}; end if; end $$;
               create event trigger hinders on ddl_command_end when tag in ('CREATE TRIGGER')
                   execute function public.hinders()"""
        ).format(sql.Literal(f"[.]({'|'.join(tables)})$"), sql.SQL(error))
    )
    try:
        yield
    finally:
        conn.execute("drop event trigger hinders")


@pytest.mark.parametrize("refused", [["q1"], ["q2"], ["q4"], ["q1", "q3"], ["q1", "q2", "q3"]])
def test_a_partition_whose_capture_fails_keeps_no_other_from_its_own(
    database: str, db: psycopg.Connection[Any], owner: str, refused: list[str]
) -> None:
    names = ["q1", "q2", "q3", "q4"]
    with owning(database, owner) as (conn, _):
        conn.execute("create table public.q (id int not null, v int, primary key (id)) partition by range (id)")
        for number, name in enumerate(names, 20):
            conn.execute(
                sql.SQL("create table {} partition of q for values from ({}) to ({})").format(
                    sql.Identifier(name), number, number + 1
                )
            )
    before = len(ddl(db))
    with hindering(db, *refused), owning(database, owner) as (conn, notices):
        conn.execute("alter table shop.p attach partition public.q for values from (20) to (30)")
    told = [notice for notice in notices if notice.startswith("svc-pg: after ")]
    assert [notice.split(" table ")[1].split(" is ")[0] for notice in told[:3]] == [
        f"public.{name}" for name in refused
    ]
    # after three failures the others are left out, and told
    left = ["q4"] if len(refused) == 3 else []
    assert [notice.split(": ")[-1] for notice in told[3:]] == ["1 more" for _ in left]
    text = (
        "select tgrelid::regclass::text from pg_trigger where tgtype = 32 and tgrelid::regclass::text ~ '^q' order by 1"
    )
    assert [name for (name,) in db.execute(text)] == sorted({"q", *names} - {*refused, *left})
    [(_, table, facts)] = ddl(db)[before:]
    assert (table, (facts or {})["capture"]) == ("shop.p", "without TRUNCATE before the next install")
    assert {identity.split(" on ")[1] for identity, state in differing(db) if state == "missing"} == {
        f"public.{name}" for name in [*refused, *left]
    }
    schema.install(db, CONFIG)
    assert [entry for entry in differing(db) if entry[1] != "incomplete"] == []


def test_a_statement_that_is_cancelled_while_it_captures_fails_as_a_whole(
    database: str, db: psycopg.Connection[Any], owner: str
) -> None:
    with hindering(db, "p2", error="query_canceled"), owning(database, owner) as (conn, notices):
        with pytest.raises(psycopg.errors.QueryCanceled):
            conn.execute(ADD)
        conn.execute("create table shop.p3 partition of shop.p for values from (20) to (30)")
        assert notices == []
    assert scalar(db, "select to_regclass('shop.p2') is null")
    assert scalar(db, "select count(*) from pg_trigger where tgrelid = 'shop.p3'::regclass and tgtype = 32") == 1


def test_a_partition_that_another_session_has_locked_is_not_waited_for(
    database: str, db: psycopg.Connection[Any], owner: str
) -> None:
    db.execute("set session_replication_role = replica")
    db.execute(ADD)
    db.execute(sql.SQL("alter table shop.p2 owner to {}").format(sql.Identifier(owner)))
    db.execute("reset session_replication_role")
    with owning(database, owner) as (conn, notices), psycopg.connect(database) as holder:
        holder.execute("lock table only shop.p2 in row exclusive mode")
        conn.execute("alter table shop.p alter v set statistics 50")
        holder.execute("insert into shop.p2 values (15, 1)")
    assert notices == ["svc-pg: shop.p is captured without TRUNCATE before the next install"]
    assert scalar(db, "select count(*) from pg_trigger where tgrelid = 'shop.p2'::regclass and tgtype = 32") == 0


def test_a_statement_costs_one_subtransaction(db: psycopg.Connection[Any]) -> None:
    def consumed() -> int:
        """The transactions of ten statements, without those of others that may run beside them."""
        found: list[int] = []
        for _ in range(3):
            first = scalar(db, "select txid_current()")
            with db.transaction():
                for number in range(10):
                    values = f"from ({100 + number}) to ({101 + number})"
                    db.execute(f"create table shop.n{number} partition of shop.p for values {values}".encode())
            found.append(scalar(db, "select txid_current()") - first)
            db.execute(f"drop table {', '.join(f'shop.n{number}' for number in range(10))}".encode())
        return min(found)

    db.execute("alter event trigger svc_audit_ddl disable")
    with_capture = consumed()
    db.execute("alter event trigger svc_audit_capture disable")
    assert with_capture - consumed() == 10


@pytest.mark.usefixtures("owner")
def test_a_statement_about_many_partitions_is_bounded(db: psycopg.Connection[Any]) -> None:
    notices = noticed(db)
    db.execute("set session_replication_role = replica")
    db.execute("create table public.q (id int not null, v int, primary key (id)) partition by range (id)")
    with db.transaction():
        for number in range(1000, 1000 + MOST + 20):
            db.execute(f"create table q{number} partition of q for values from ({number}) to ({number + 1})".encode())
    db.execute("reset session_replication_role")
    db.execute("alter table shop.p attach partition public.q for values from (1000) to (5000)")
    made = scalar(db, "select count(*) from pg_trigger where tgname ^@ '00_svc_audit_truncate_' and tgtype = 32")
    assert made == MOST + 2  # the table and its first partition
    assert notices == ["svc-pg: shop.p is captured without TRUNCATE before the next install"]
    assert (ddl(db)[-1][2] or {})["capture"] == "without TRUNCATE before the next install"
    schema.install(db, CONFIG)
    assert schema.plan(db, CONFIG) == []


PATTERNS = [
    "shop.*",
    "*.w",
    "a?c.*",
    "[ab]x.*",
    "[!a]x.*",
    "*.t_[0-9]",
    "shop.[",
    "a.b+c*",
    "*.a.b*",
    "*[]]*",
    "*.[!]x]",
    "*[^a]*",
]
NAMES = [
    "shop.w",
    "shopXw",
    "abc.d",
    "ax.y",
    "bx.y",
    "cx.y",
    "public.t_1",
    "public.t_x",
    "shop.[",
    "a.b+c",
    "a.bbc",
    'public."a.b"',
    "x.]",
    "x.^",
    "x.a",
    "x.y\nz",
]


def test_patterns_mean_the_same_in_sql(db: psycopg.Connection[Any]) -> None:
    for pattern in PATTERNS:
        for name in NAMES:
            expected = fits(pattern, TableName.parse(name) if "." in name else TableName("", name))
            spelled = str(TableName.parse(name) if "." in name else TableName("", name))
            assert scalar(db, "select %s ~ %s", (spelled, posix(pattern))) is expected, (pattern, name)

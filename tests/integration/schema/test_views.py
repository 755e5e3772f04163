"""The views of svc are kept by install as functions are, and open to readers only."""

from collections.abc import Iterator
from typing import Any, Final, LiteralString

import psycopg
import pytest
from psycopg import sql

from svc_pg import Config, schema
from svc_pg.database.query import scalar
from svc_pg.errors import InstallError
from svc_pg.schema.postgres.sql_script import script
from tests.support.roles import as_role, new_role

VIEWS: Final = [
    "audit_activity_daily", "audit_changes", "audit_log_export", "audit_seal_lock",
    "webhook_claim_lock", "webhook_delivery_export", "webhook_endpoint_health",
]  # fmt: skip


@pytest.fixture
def db(database: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(database) as conn:
        yield conn


def differing(conn: psycopg.Connection[Any]) -> dict[str, str]:
    return {
        entry.identity: entry.state
        for entry in schema.status(conn, Config())
        if entry.state != "ok" and not entry.identity.startswith("svc.record_")
    }


def test_every_view_of_its_folder_is_installed_and_nothing_differs(db: psycopg.Connection[Any]) -> None:
    names = "select array_agg(viewname::text order by viewname) from pg_views where schemaname = 'svc'"
    assert scalar(db, names + " and viewname !~ '^record_'") == VIEWS
    db.rollback()
    assert differing(db) == {}


@pytest.mark.parametrize(
    "change",
    [
        "create or replace view svc.audit_changes as select * from svc.audit_changes_before where field <> 'salary'",
        "alter view svc.audit_changes set (security_barrier = true)",
        "alter view svc.audit_changes rename column before to was",
    ],
)
def test_a_view_changed_by_hand_is_tampered_and_install_puts_it_back(
    db: psycopg.Connection[Any], change: LiteralString
) -> None:
    definition = scalar(db, "select pg_get_viewdef('svc.audit_changes'::regclass)").rstrip(";")
    db.execute(change.replace("svc.audit_changes_before", f"({definition}) x").encode())
    db.commit()
    assert differing(db) == {"svc.audit_changes": "tampered"}
    [step] = schema.install(db, Config())
    assert (step.action, step.kind, step.identity) == ("replace", "view", "svc.audit_changes")
    assert differing(db) == {}


def test_a_view_of_another_release_is_replaced_also_if_its_columns_are_others(db: psycopg.Connection[Any]) -> None:
    db.execute("drop view svc.audit_changes")
    db.execute("create view svc.audit_changes as select id, table_name as relation from svc.audit_logs")
    db.execute("update svc.installed_objects set source_sha256 = 'old' where identity = 'svc.audit_changes'")
    db.commit()
    assert differing(db)["svc.audit_changes"] == "tampered"
    assert schema.install(db, Config())
    assert differing(db) == {}
    assert scalar(db, "select count(field) from svc.audit_changes") == 0


def test_a_missing_view_is_made_again_and_readers_may_read_it(db: psycopg.Connection[Any]) -> None:
    db.execute("drop view svc.audit_changes")
    db.commit()
    assert differing(db) == {"svc.audit_changes": "missing"}
    schema.install(db, Config())
    assert differing(db) == {}
    assert scalar(db, "select has_table_privilege('svc_reader', 'svc.audit_changes', 'select')")


def test_a_view_of_somebody_else_in_svc_is_theirs(db: psycopg.Connection[Any]) -> None:
    db.execute("create view svc.mine as select 1 as one")
    db.commit()
    [entry] = [entry for entry in schema.status(db, Config()) if entry.identity == "svc.mine"]
    assert (entry.state, entry.is_foreign, entry.action) == ("orphan", True, "keep")


def test_a_view_of_ours_that_is_not_made_any_more_goes_unasked(db: psycopg.Connection[Any]) -> None:
    db.execute("create view svc.audit_old as select 1 as one")
    db.execute(
        "insert into svc.installed_objects (kind, identity, source_sha256, catalog_sha256)"
        " values ('view', 'svc.audit_old', '', '')"
    )
    db.commit()
    steps = schema.install(db, Config())
    assert [(step.action, step.identity) for step in steps if step.kind == "view"] == [("remove", "svc.audit_old")]
    assert scalar(db, "select to_regclass('svc.audit_old') is null")


def test_a_view_that_others_read_from_is_replaced_while_its_columns_stay(db: psycopg.Connection[Any]) -> None:
    db.execute("create view public.report as select day, entries from svc.audit_activity_daily")
    db.execute("alter view svc.audit_activity_daily set (security_barrier = true)")
    db.commit()
    schema.install(db, Config())
    assert differing(db) == {}


def test_whoever_reads_from_a_view_whose_columns_change_is_named(db: psycopg.Connection[Any]) -> None:
    db.execute("alter view svc.audit_changes rename column before to was")
    db.execute("create view public.report as select was from svc.audit_changes")
    db.commit()
    with pytest.raises(InstallError, match=r"view public.report depends on view svc.audit_changes") as refusal:
        schema.install(db, Config())
    assert refusal.value.hint == "Drop what depends on it; you can make it again after an install."
    assert differing(db) == {"svc.audit_changes": "tampered"}


def test_another_major_version_of_postgresql_may_print_a_view_in_other_words(db: psycopg.Connection[Any]) -> None:
    db.execute(
        "update svc.installed_objects set postgres_major = postgres_major - 1, catalog_sha256 = 'as it printed it'"
        " where kind = 'view' and audited_table is null"
    )
    db.commit()
    assert differing(db) == {f"svc.{name}": "outdated" for name in VIEWS}
    assert len(schema.install(db, Config())) == len(VIEWS)
    assert differing(db) == {}


def test_a_view_that_was_restored_from_a_dump_is_the_same(db: psycopg.Connection[Any]) -> None:
    for name in VIEWS:
        definition = scalar(db, "select pg_get_viewdef(%s::regclass)", (f"svc.{name}",))
        db.execute(sql.SQL("create or replace view {} as ").format(sql.Identifier("svc", name)) + sql.SQL(definition))
    db.commit()
    assert differing(db) == {}


def test_uninstall_removes_the_views(db: psycopg.Connection[Any]) -> None:
    schema.uninstall(db)
    assert scalar(db, "select count(*) from pg_class where relnamespace = 'svc'::regnamespace and relkind = 'v'") == 0
    assert scalar(db, "select to_regclass('svc.audit_logs') is not null")


def test_a_script_makes_replaces_and_removes_views_as_an_install_does(empty_database: str) -> None:
    def run(conn: psycopg.Connection[Any]) -> str:
        made = script(conn, Config())
        assert made is not None
        conn.execute(made.upgrade.encode())
        conn.commit()
        return made.downgrade

    with psycopg.connect(empty_database) as conn:
        downgrade = run(conn)
        assert differing(conn) == {}
        conn.execute("alter view svc.audit_changes rename column before to was")
        conn.execute("alter view svc.audit_activity_daily set (security_barrier = true)")
        conn.execute("drop view svc.audit_log_export")
        conn.execute("create view svc.audit_old as select 1 as one")
        conn.execute(
            "insert into svc.installed_objects (kind, identity, source_sha256, catalog_sha256)"
            " values ('view', 'svc.audit_old', '', '')"
        )
        conn.commit()
        run(conn)
        assert differing(conn) == {}
        assert script(conn, Config()) is None
        conn.execute(downgrade.encode())
        assert scalar(conn, "select count(*) from pg_views where schemaname = 'svc'") == 0


def test_readers_read_every_view_and_nobody_else_does(database: str, postgres: str) -> None:
    with new_role(postgres) as reader, new_role(postgres) as other:
        with psycopg.connect(database, autocommit=True) as conn:
            conn.execute(sql.SQL("grant svc_reader to {}").format(sql.Identifier(reader)))
            conn.execute("alter default privileges in schema svc grant select on tables to public")
            schema.install(conn, Config())
        for name in VIEWS:
            text = sql.SQL("select * from {}").format(sql.Identifier("svc", name))
            with as_role(database, reader) as conn:
                conn.execute(text)
            with as_role(database, other) as conn, pytest.raises(psycopg.errors.InsufficientPrivilege):
                conn.execute(text)
        with psycopg.connect(database, autocommit=True) as conn:
            conn.execute(sql.SQL("revoke svc_reader from {}").format(sql.Identifier(reader)))


def test_views_belong_to_the_owner_of_the_schema(db: psycopg.Connection[Any]) -> None:
    owners = "select array_agg(distinct viewowner::text) from pg_views where viewname = any (%s)"
    assert scalar(db, owners, (VIEWS,)) == ["svc_owner"]


def test_a_view_depends_on_no_column_that_readers_may_not_read(db: psycopg.Connection[Any]) -> None:
    """Views read with their owner's rights, so what they read must be no more than their readers may."""
    hidden = """
        select v.relname || ' reads ' || t.relname || '.' || a.attname
          from pg_class v
          join pg_rewrite w on w.ev_class = v.oid
          join pg_depend d on d.classid = 'pg_rewrite'::regclass and d.objid = w.oid
                          and d.refclassid = 'pg_class'::regclass and d.refobjid <> v.oid
          join pg_class t on t.oid = d.refobjid
          join pg_attribute a on a.attrelid = t.oid and a.attnum = d.refobjsubid
         where v.relnamespace = 'svc'::regnamespace and v.relkind = 'v' and v.relname !~ '^record_'
           and not has_column_privilege('svc_reader', t.oid, a.attnum, 'select')"""
    assert db.execute(hidden).fetchall() == []
    assert scalar(db, "select not has_column_privilege('svc_reader', 'svc.webhook_endpoints', 'secret', 'select')")

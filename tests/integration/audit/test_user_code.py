"""Code of a table's or type's owner, which capture meets in a row's values, never has more rights than that owner."""

import re
from collections.abc import Iterator
from typing import Any, LiteralString

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

from svc_pg import Config, audit, schema
from svc_pg.config import AuditConfig, AuditedTable
from svc_pg.database.query import scalar
from svc_pg.errors import ConfigError, InstallError
from tests.support.hooks import hooks_config
from tests.support.postgres import copied, new_database
from tests.support.roles import as_role, execute, new_role
from tests.support.tables import log

# Each type has a cast to json, which to_jsonb calls, and one to text. The code writes down who runs it, and leaves a
# search_path behind in which = is the owner's own.
TYPES: LiteralString = """
create schema shop authorization {0};
set role {0};
create type shop.mood as enum ('low', 'high');
create type shop.span as range (subtype = integer);
create type shop.pair as (mood shop.mood, n integer);
create domain shop.temper as shop.mood;
create table shop.seen (by text, may_forge boolean, may_read_key boolean);
grant insert on shop.seen to public;
create function shop.spy() returns boolean language plpgsql as $$
begin
    insert into shop.seen values (current_user, has_table_privilege('svc.audit_logs', 'insert'),
                                  has_table_privilege('svc.audit_hash_key', 'select'));
    perform set_config('search_path', 'shop, pg_catalog', false);
    return true;
end $$;
create function shop.equal(text, text) returns boolean language plpgsql as
    'begin perform shop.spy(); return $1 operator(pg_catalog.=) $2; end';
create function shop.equal(jsonb, jsonb) returns boolean language plpgsql as
    'begin perform shop.spy(); return $1 operator(pg_catalog.=) $2; end';
create operator shop.= (leftarg = text, rightarg = text, function = shop.equal);
create operator shop.= (leftarg = jsonb, rightarg = jsonb, function = shop.equal);
"""
CASTS: LiteralString = """
set role {0};
create function shop.as_json(shop.mood) returns json language plpgsql as
    'begin perform shop.spy(); return ''"as json"''; end';
create function shop.as_json(shop.span) returns json language plpgsql as
    'begin perform shop.spy(); return ''"as json"''; end';
create function shop.as_text(shop.mood) returns text language plpgsql as
    'begin perform shop.spy(); return ''as text''; end';
create cast (shop.mood as json) with function shop.as_json(shop.mood);
create cast (shop.span as json) with function shop.as_json(shop.span);
create cast (shop.mood as text) with function shop.as_text(shop.mood) as implicit;
"""
TABLES: LiteralString = """
set role {0};
create table shop.by_row (id int primary key, name text, secret text, m shop.mood, s shop.span, p shop.pair,
    t shop.temper, list shop.mood[]);
create table shop.by_statement (like shop.by_row including all);
create table shop.parent (like shop.by_row including all) partition by range (id);
create table shop.leaf partition of shop.parent for values from (0) to (100);
"""
WRITE: LiteralString = """
set role {0};
insert into shop.by_row values (1, 'a', 's', 'low', '[1,2]', ('low', 1), 'low', '{{low}}');
insert into shop.by_statement select * from shop.by_row;
insert into shop.parent select * from shop.by_row;
update shop.by_row set name = 'b';
update shop.by_statement set name = 'b';
update shop.leaf set name = 'b';
delete from shop.by_row;
delete from shop.by_statement;
delete from shop.parent;
"""
NAMES = ("shop.by_row", "shop.by_statement", "shop.parent")


@pytest.fixture(scope="module")
def owner(postgres: str) -> Iterator[str]:
    with new_role(postgres) as name:
        yield name


@pytest.fixture(scope="module", params=[True, False], ids=["roles", "no roles"])
def shop_template(request: pytest.FixtureRequest, postgres: str, template: str, owner: str) -> Iterator[str]:
    """The name of a database with tables of the owner, audited by a superuser before the owner makes its casts."""
    with new_database(postgres, template=template) as conninfo:
        execute(conninfo, TYPES, owner)
        execute(conninfo, TABLES, owner)
        with psycopg.connect(conninfo) as conn:
            schema.install(conn, config(), roles=request.param)
        execute(conninfo, CASTS, owner)
        yield str(conninfo_to_dict(conninfo)["dbname"])


@pytest.fixture
def shop(maintenance: psycopg.Connection[Any], postgres: str, shop_template: str) -> Iterator[str]:
    """The conninfo of the test's own copy."""
    with copied(maintenance, postgres, template=shop_template) as conninfo:
        yield conninfo


def config() -> Config:
    rules = hooks_config("mood.changed")
    rules.audit = AuditConfig(tables=[AuditedTable(name=name, redact={"secret": "hash"}) for name in NAMES])
    rules.audit.tables[1].level = "statement"
    rules.audit.enrich(
        "shop.by_row", "*", label="changed", description="{after[m]}", when={"sql": "shop.spy() and after ->> 'm' = ''"}
    )
    for name in NAMES:
        rules.webhooks.on_change(
            name,
            ["INSERT", "UPDATE", "DELETE"],
            event="mood.changed",
            payload="row",
            tenant="m",
            when="before.m::text = after.m::text or shop.spy()",
        )
    return rules


def seen(conninfo: str) -> set[tuple[Any, ...]]:
    with psycopg.connect(conninfo) as conn:
        return set(conn.execute('select "by", may_forge, may_read_key from shop.seen').fetchall())


def test_writes_run_the_code_of_types_with_the_rights_of_the_owner(shop: str, owner: str) -> None:
    execute(shop, WRITE, owner)
    with psycopg.connect(shop) as conn:
        assert {entry["table_name"] for entry in log(conn)} == set(NAMES)
    assert seen(shop) == {(owner, False, False)}


def test_writes_of_a_superuser_run_it_with_the_rights_of_the_owner(shop: str, owner: str) -> None:
    with psycopg.connect(shop, autocommit=True) as conn:
        conn.execute(sql.SQL(WRITE).format(sql.Identifier(owner)).as_string(conn).replace("set role", "-- ").encode())
    assert {who for who, _, _ in seen(shop)} == {owner}


def test_a_backfill_by_a_superuser_runs_none_of_it(shop: str) -> None:
    with psycopg.connect(shop) as conn:
        conn.execute("set session_replication_role = replica")
        conn.execute(
            "insert into shop.by_row values (1, 'a', 's', 'low', '[1,2]', ('low', 1), 'low', '{low,null,high}'),"
            " (2, 'b', 't', null, null, null, null, null)"
        )
        conn.commit()
        conn.execute("reset session_replication_role")
        conn.commit()
        assert schema.backfill(conn, config()) == {"shop.by_row": 2, "shop.by_statement": 0, "shop.parent": 0}
        first, second = (entry["after_data"] for entry in log(conn))
        assert first.pop("secret")
        assert first == {
            "id": 1, "name": "a", "m": "low", "s": "[1,2]", "p": "(low,1)", "t": "low", "list": ["low", None, "high"],
        }  # fmt: skip
        assert {second[name] for name in ("m", "s", "p", "t", "list")} == {None}
    assert seen(shop) == set()


def test_a_backfill_runs_none_of_a_type_that_somebody_added_to_an_extension(shop: str) -> None:
    with psycopg.connect(shop, autocommit=True) as conn:
        conn.execute("alter extension plpgsql add type shop.mood")
        conn.execute("alter extension plpgsql add type shop.span")
        try:
            conn.execute("set session_replication_role = replica")
            conn.execute("insert into shop.by_row (id, m, s) values (1, 'low', '[1,2]')")
            conn.execute("reset session_replication_role")
            schema.backfill(conn, config())
        finally:
            conn.execute("alter extension plpgsql drop type shop.mood")
            conn.execute("alter extension plpgsql drop type shop.span")
        [entry] = log(conn)
        assert (entry["after_data"]["m"], entry["after_data"]["s"]) == ("low", "[1,2]")
    assert seen(shop) == set()


def test_a_reconciliation_by_a_superuser_runs_none_of_it(shop: str) -> None:
    with psycopg.connect(shop, autocommit=True) as conn:
        schema.backfill(conn, config())
        conn.execute("set session_replication_role = replica")
        for name in NAMES:
            conn.execute(
                f"insert into {name} values (1, 'a', 's', 'low', '[1,2]', ('low', 1), 'low', '{{low}}')".encode()
            )
        conn.execute("reset session_replication_role")
        found = audit.reconcile(conn, config(), repair=True)
        assert [(each.table, each.missing, each.repaired) for each in found.tables] == [(name, 1, 1) for name in NAMES]
        conn.execute("set session_replication_role = replica")
        conn.execute("update shop.by_row set m = 'high', s = '[5,6]', list = '{high}'; delete from shop.parent")
        conn.execute("reset session_replication_role")
        found = audit.reconcile(conn, config(), repair=True)
        assert [(each.kind, each.fields) for each in found.differences] == [
            ("differs", ["list", "m", "s"]),
            ("gone", []),
        ]
        assert audit.reconcile(conn, config()).is_whole
    assert seen(shop) == set()


@pytest.mark.parametrize(
    "definition",
    [
        "create index trap on shop.by_row ((id + shop.constant()))",
        "create index trap on shop.by_row (id) where id operator(shop.+) 1 > 0",
        "create index trap on shop.leaf ((id + shop.constant()))",
        "alter table shop.leaf add constraint trap check (id < shop.constant())",
    ],
)
def test_a_backfill_refuses_a_table_whose_definition_has_code_that_the_planner_calls(
    shop: str, owner: str, definition: LiteralString
) -> None:
    execute(
        shop,
        "set role {}; create function shop.constant() returns integer immutable language sql as 'select 1000';"
        " create function shop.plus(integer, integer) returns integer immutable language sql as 'select $1 + $2';"
        " create operator shop.+ (leftarg = integer, rightarg = integer, function = shop.plus); " + definition + ";"
        " create or replace function shop.constant() returns integer immutable language plpgsql as"
        " 'begin perform shop.spy(); return 1000; end'",
        owner,
    )
    with psycopg.connect(shop) as conn:
        with pytest.raises(InstallError, match=f'trap.* calls shop.*"{owner}"'):
            schema.backfill(conn, config())
        refused = [each.problem for each in audit.reconcile(conn, config()).tables if each.problem]
        assert len(refused) == 1
        assert re.search(f'trap.* calls shop.*"{owner}"', refused[0])
        assert schema.install(conn, config()) == []
    assert seen(shop) == set()


def test_status_plan_and_install_run_none_of_it(shop: str) -> None:
    with psycopg.connect(shop) as conn:
        schema.status(conn, config())
        schema.plan(conn, config())
        changed = config()
        changed.audit.tables[0].redact["name"] = "mask"
        schema.install(conn, changed)
    assert seen(shop) == set()


@pytest.mark.parametrize(
    ("columns", "condition"),
    [
        ("tags shop.checked[]", "after.tags = '{urgent}'"),
        ("tags shop.checked[]", "after.tags = $$ {urgent}$$"),
        ("tags shop.checked[]", r"after.tags = E'\x7burgent}'"),
        ("span shop.checked_span", "after.span = '[a,b]'"),
        ("pair shop.checked_pair", "coalesce(after.pair, '(a)') is null"),
        ("name shop.checked", "coalesce(after, '(a)') is null"),
    ],
)
def test_the_constants_of_conditions_run_none_of_it(
    shop: str, owner: str, columns: LiteralString, condition: str
) -> None:
    execute(
        shop,
        "set role {}; create function shop.check(text) returns boolean language sql as 'select shop.spy()';"
        " create domain shop.checked as text check (shop.check(value));"
        " create type shop.checked_span as range (subtype = shop.checked);"
        " create type shop.checked_pair as (name shop.checked);"
        " create table shop.trap (" + columns + ")",
        owner,
    )
    rules = hooks_config("trap.changed")
    rules.webhooks.on_change("shop.trap", ["INSERT"], event="trap.changed", payload="row", when=condition)
    with psycopg.connect(shop) as conn:
        for step in (schema.status, schema.plan, schema.install):
            with pytest.raises(ConfigError, match=f'domain shop.checked of role "{owner}"'):
                step(conn, rules)
            conn.rollback()
        if "tags" in columns:
            rules.webhooks.change_events[0].when = "after.tags = array['urgent']::shop.checked[]"
            schema.plan(conn, rules)
    assert seen(shop) == set()


def test_a_column_that_is_added_later_changes_nothing_about_it(shop: str, owner: str) -> None:
    execute(
        shop,
        "set role {0}; create type shop.size as enum ('s'); alter table shop.by_row add column size shop.size;"
        " create function shop.as_json(shop.size) returns json language plpgsql as"
        " 'begin perform shop.spy(); return ''0''; end';"
        " create cast (shop.size as json) with function shop.as_json(shop.size);"
        " insert into shop.by_row (id, size) values (1, 's')",
        owner,
    )
    assert seen(shop) == {(owner, False, False)}


@pytest.fixture
def boss(shop: str) -> Config:
    """A superuser's tables, of which one has a column of the owner's type, and one is none of its business."""
    rules = Config(audit=AuditConfig(tables=[AuditedTable(name="public.boss"), AuditedTable(name="public.salaries")]))
    with psycopg.connect(shop) as conn:
        conn.execute("grant usage on schema shop to public")
        conn.execute("create table public.boss (id int primary key, m shop.mood)")
        conn.execute("create table public.salaries (id int primary key)")
        conn.commit()
        schema.install(conn, rules, prune=True)
    return rules


def test_the_captures_of_a_superusers_table_run_no_code_of_a_type(shop: str, boss: Config) -> None:
    with psycopg.connect(shop) as conn:
        conn.execute("insert into public.boss values (1, 'low')")
        assert [(entry["table_name"], entry["after_data"]["m"]) for entry in log(conn)] == [("public.boss", "low")]
        conn.commit()
        assert all(entry.state == "ok" for entry in schema.status(conn, boss))
        assert schema.install(conn, boss) == []
    assert seen(shop) == set()


def test_they_run_as_a_role_of_the_table_which_has_no_right_on_another(shop: str, boss: Config) -> None:
    with psycopg.connect(shop, autocommit=True) as conn:
        conn.execute("alter table public.salaries add column m shop.mood")  # and no install
        conn.execute("insert into public.salaries values (1, 'low')")
        [(role, may_forge, may_read)] = seen(shop)
        assert role.startswith("svc_capture_public_salaries_")
        assert (may_forge, may_read) == (False, False)
        rights = """select c.relname::text from pg_class c
                     where c.relkind in ('r', 'p', 'v') and c.relname !~ '^(pg_|seen$)' and not starts_with(
                               c.relnamespace::regnamespace::text, 'information')
                       and (has_table_privilege(%s, c.oid, 'select, insert, update, delete, truncate'))"""
        assert conn.execute(rights, (role,)).fetchall() == [("record_public_salaries",)]
        schema.install(conn, boss)
        conn.execute("truncate shop.seen")
        conn.execute("update public.salaries set m = 'high'")
        assert log(conn)[-1]["changed_fields"] == ["m"]
    assert seen(shop) == set()


def test_the_role_of_a_superusers_table_with_a_login_or_a_member_is_named(shop: str, boss: Config, owner: str) -> None:
    with psycopg.connect(shop, autocommit=True) as conn:
        role = scalar(
            conn,
            "select relowner::regrole::text from pg_class where relname = 'none'"
            " union all select proowner::regrole::text from pg_proc where proname = 'capture_public_boss'",
        )
        execute(shop, "alter role {} login", role)
        execute(shop, "grant {} to {}", role, owner)
        found = {entry.identity: entry.sql for entry in schema.status(conn, boss) if entry.state != "ok"}
        assert set(found) == {role, f"{owner} as a member of {role}"}
        for statement in found.values():
            conn.execute(statement.encode())
        assert all(entry.state == "ok" for entry in schema.status(conn, boss))


TAKEN_OVER: LiteralString = """
create table shop.plain (id int primary key, n int);
create table shop.typed (id int primary key, m shop.mood, j json);
create table shop.typed_by_statement (id int primary key, m shop.mood, j json);
create table shop.ruled (id int primary key, n int);
create table shop.sent (id int primary key, n int);
create table shop.sent_typed (id int primary key, m shop.mood);
create table shop.sent_ruled (id int primary key, m shop.mood);
"""
PLAIN = ("plain", "typed", "typed_by_statement", "sent", "sent_typed")
REFUSED = ("ruled", "sent_ruled")


@pytest.mark.parametrize("way", ["reassign owned by {} to postgres", "alter role {} superuser"])
def test_code_of_others_never_runs_as_a_superuser_who_became_the_owner_of_a_capture(
    maintenance: psycopg.Connection[Any], postgres: str, shop_template: str, way: LiteralString
) -> None:
    rules = hooks_config("mood.changed")
    rules.audit = AuditConfig(tables=[AuditedTable(name=f"shop.{name}") for name in (*PLAIN, *REFUSED)])
    rules.audit.tables[2].level = "statement"
    rules.audit.enrich("shop.ruled", "*", label="changed", when={"sql": "shop.spy()"})
    for name in ("sent", "sent_typed", "sent_ruled"):
        when = "before is null or shop.spy()" if name == "sent_ruled" else None
        rules.webhooks.on_change(f"shop.{name}", ["INSERT"], event="mood.changed", payload="row", when=when)
    with copied(maintenance, postgres, template=shop_template) as conninfo, new_role(postgres) as app:
        execute(conninfo, "grant all on schema shop to {}; grant usage on schema shop to public", app)
        execute(conninfo, "set role {}; " + TAKEN_OVER, app)
        with psycopg.connect(conninfo, autocommit=True) as conn:
            schema.install(conn, rules, prune=True)
            try:
                execute(conninfo, way, app)
                # a column that the functions do not know yet
                for name in PLAIN[:3]:
                    conn.execute(f"alter table shop.{name} add column later shop.mood".encode())
                for name in PLAIN[:3]:
                    conn.execute(f"insert into shop.{name} (id, later) values (1, 'low')".encode())
                    conn.execute(f"update shop.{name} set later = 'high'".encode())
                    assert log(conn)[-1]["after_data"]["later"] == "high"
                conn.execute("insert into shop.sent values (1)")
                conn.execute("insert into shop.sent_typed values (1, 'low')")
                assert (
                    scalar(conn, "select payload ->> 'm' from svc.webhook_messages where payload::text ~ 'low'")
                    == "low"
                )
                conn.execute("alter table shop.sent alter column n type shop.mood using null")
                with pytest.raises(psycopg.errors.InsufficientPrivilege, match=r"shop\.sent.* superuser"):
                    conn.execute("insert into shop.sent values (2)")
                conn.execute("alter table shop.sent alter column n type integer using null")
                for name in REFUSED:
                    with pytest.raises(
                        psycopg.errors.InsufficientPrivilege, match=f"shop.{name}.* superuser"
                    ) as caught:
                        conn.execute(f"insert into shop.{name} values (1)".encode())
                    assert "svc-pg install" in str(caught.value.diag.message_hint)
                assert seen(conninfo) == set()
                found = {entry.identity: entry.sql for entry in schema.status(conn, rules) if entry.state != "ok"}
                mends = [sql for identity, sql in found.items() if identity.startswith("superuser ")]
                assert len(mends) == len((*PLAIN, *REFUSED)) + 3  # of which three are recorded and sent
                conn.execute("\n".join(mends).encode())
                conn.execute("insert into shop.plain values (3)")
                conn.execute("insert into shop.sent values (3)")
                schema.install(conn, rules)
                for name in REFUSED:
                    conn.execute(f"insert into shop.{name} values (1)".encode())
                assert all(who.startswith("svc_capture_shop_") for who, _, _ in seen(conninfo))
            finally:
                execute(conninfo, "alter role {} nosuperuser", app)
                execute(conninfo, "drop owned by {} cascade", app)


def test_a_new_owner_of_the_table_becomes_that_of_its_triggers_by_an_install(
    shop: str, owner: str, postgres: str
) -> None:
    with new_role(postgres) as heir:
        execute(shop, "alter table shop.by_row owner to {}", heir)
        execute(shop, "grant usage on schema shop to {0}; grant all on all tables in schema shop to {0}", heir)
        try:
            with psycopg.connect(shop) as conn:
                differing = [entry.identity for entry in schema.status(conn, config()) if entry.state != "ok"]
                assert {"function svc.capture_shop_by_row()", "table svc.record_shop_by_row"} <= set(differing)
                schema.install(conn, config())
                left = [entry.identity for entry in schema.status(conn, config()) if entry.state != "ok"]
                assert all(identity.startswith("type shop.") for identity in left)
            with as_role(shop, heir) as conn:
                conn.execute("insert into shop.by_row values (1)")
            assert {who for who, _, _ in seen(shop)} <= {heir}
        finally:
            execute(shop, "reassign owned by {} to {}", heir, owner)
            execute(shop, "drop owned by {}", heir)


def test_whoever_inherits_the_rights_of_an_owner_can_be_given_all_that_it_has(database: str, postgres: str) -> None:
    rules = Config(audit=AuditConfig(tables=[AuditedTable(name="store.t", redact=["secret"])]))
    with new_role(postgres) as new, new_role(postgres) as old:
        execute(database, "create schema store authorization {}", old)
        with as_role(database, old) as conn:
            conn.execute("create table store.t (id int primary key, secret text)")
        with psycopg.connect(database, autocommit=True) as conn:
            schema.install(conn, rules)
            execute(database, "grant {} to {}", old, new)
            execute(database, "reassign owned by {} to {}", old, new)
            conn.execute("insert into store.t values (1)")
            schema.install(conn, rules)
            execute(database, "drop owned by {}", old)
            execute(database, "revoke {} from {}", old, new)  # or drop the role
            conn.execute("insert into store.t values (2)")
            assert [entry["record_id"] for entry in log(conn)] == ["1", "2"]
            assert all(entry.state == "ok" for entry in schema.status(conn, rules))
            conn.execute("drop schema store cascade")
            execute(database, "drop owned by {}", new)


@pytest.mark.parametrize(
    "statement",
    [
        "insert into svc.record_shop_by_row (table_name, table_oid, operation) values ('shop.parent', 0, 'INSERT')",
        "insert into svc.record_shop_by_row (table_name, table_oid, operation) values ('shop', 0, 'INSERT')",
    ],
)
def test_the_owner_can_write_no_entry_about_another_table(shop: str, owner: str, statement: LiteralString) -> None:
    with as_role(shop, owner) as conn, pytest.raises(psycopg.errors.WithCheckOptionViolation):
        conn.execute(statement)


def test_the_owner_can_send_no_other_event(shop: str, owner: str) -> None:
    with as_role(shop, owner) as conn:
        conn.execute("select svc.send_changes_shop_by_row('mood.changed', '{}', '{}')")
        for event in ("audit.forged", None):
            with pytest.raises(psycopg.errors.InsufficientPrivilege, match="is not sent"), conn.transaction():
                conn.execute("select svc.send_changes_shop_by_row(%s, array['{}'::json], array['t'])", (event,))


def test_nobody_but_the_owner_hashes(shop: str, owner: str, postgres: str) -> None:
    with as_role(shop, owner) as conn:
        assert scalar(conn, "select length(svc.audit_hash('guess'))") == 64
    with new_role(postgres) as other:
        execute(shop, "grant usage on schema svc to {}", other)
        with as_role(shop, other) as conn, pytest.raises(psycopg.errors.InsufficientPrivilege):
            conn.execute("select svc.audit_hash('guess')")
        execute(shop, "drop owned by {}", other)


def test_status_names_a_column_whose_type_belongs_to_somebody_else(shop: str, owner: str, postgres: str) -> None:
    with new_role(postgres) as other:
        execute(shop, "create schema elsewhere authorization {}", other)
        execute(shop, "set role {}; create type elsewhere.size as enum ('s')", other)
        execute(shop, "grant usage on schema elsewhere to {}", owner)
        execute(shop, "set role {}; alter table shop.parent add column sizes elsewhere.size[]", owner)
        execute(shop, "alter table shop.parent add column how svc.audit_operation")  # a type of ours
        with psycopg.connect(shop) as conn:
            [found] = [entry for entry in schema.status(conn, config()) if entry.kind == "column"]
            assert found.identity == "type elsewhere.size of sizes of shop.parent"
            assert found.is_foreign
            conn.execute(found.sql.encode())
            conn.commit()
            assert not [entry for entry in schema.status(conn, config()) if entry.kind == "column"]
        execute(shop, "drop owned by {} cascade", other)


KEYED: LiteralString = """
set role {0};
create function shop.shift() returns integer language sql immutable as 'select 0';
create table shop.keyed (id int, name text) partition by range ((id + shop.shift()));
create table shop.keyed_0 partition of shop.keyed for values from (0) to (10);
create or replace function shop.shift() returns integer language plpgsql immutable as
    'begin perform shop.spy(); return 0; end';
"""


def test_neither_install_nor_uninstall_runs_the_functions_of_a_partition_key(shop: str, owner: str) -> None:
    wanted = config()
    wanted.audit.tables.append(AuditedTable(name="shop.keyed"))
    execute(shop, KEYED, owner)
    with psycopg.connect(shop) as conn:
        with pytest.raises(InstallError, match=f'calls shop.shift\\(\\), which belongs to role "{owner}"'):
            schema.install(conn, wanted)
        conn.execute("alter function shop.shift() owner to current_user")
        conn.commit()
        schema.install(conn, wanted)
        conn.execute(sql.SQL("alter function shop.shift() owner to {}").format(sql.Identifier(owner)))
        conn.execute("truncate shop.seen")
        conn.commit()
        with pytest.raises(InstallError, match=r"calls shop.shift"):
            schema.uninstall(conn)
    assert seen(shop) == set()

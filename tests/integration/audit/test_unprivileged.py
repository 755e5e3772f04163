"""The capture as an application role sees it that has rights on its own tables and none on svc."""

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from io import BytesIO
from typing import Any, Final, LiteralString, get_args

import psycopg
import pytest
from psycopg import sql

from svc_pg import Config, audit, schema, webhooks
from svc_pg.audit.log.export_fields import Format
from svc_pg.audit.past import net_changes
from svc_pg.audit.read import tables
from svc_pg.audit.read.facets import afacets
from svc_pg.audit.read.stats import astats
from svc_pg.config.audit import AuditConfig
from svc_pg.console.status import system_status
from svc_pg.console.status.drift import Drift
from svc_pg.database.query import fetch, scalar
from svc_pg.database.table_names import TableName
from svc_pg.settings import Settings
from svc_pg.status.attribution import attribution
from svc_pg.webhooks.traffic import backlog
from tests.support.hooks import KEYS_TEXT, hooks_config, install
from tests.support.postgres import Prepare
from tests.support.roles import as_role, execute, new_role
from tests.support.tables import audited, log

DDL: LiteralString = """
create schema app authorization {0};
set role {0};
create table app.customer (id int primary key, email text, secret text);
create table app.stock (id int primary key, n int);
create table app.event (id int, n int, primary key (id)) partition by range (id);
create table app.event_low partition of app.event for values from (0) to (10);
"""
SETTINGS: Final = Settings(encryption_keys=KEYS_TEXT)
SEAL_KEY: Final = audit.SealKey("s1", b"k" * 32)


@pytest.fixture(scope="module")
def app(postgres: str) -> Iterator[str]:
    with new_role(postgres) as name:
        yield name


@pytest.fixture(scope="module")
def prepare(app: str) -> Prepare:
    """The application's tables are audited, by row and by statement."""

    def prepare(conninfo: str) -> None:
        execute(conninfo, DDL, app)
        config = audited("app.customer", "app.event", redact=[])
        config.audit.table("app.stock", level="statement", redact={"n": "hash"})
        config.audit.tables[0].redact["secret"] = "hash"
        config.audit.enrich("app.customer", "UPDATE", label="edited", description="{before[email]} to {after[email]}")
        config.webhooks = hooks_config("order.created").webhooks
        config.audit.search = ["contains", "text"]  # whose indexes run a function for each entry
        install(conninfo, config)

    return prepare


@pytest.fixture
def shop(database: str) -> str:
    return database


@pytest.fixture
def db(shop: str, app: str) -> Iterator[psycopg.Connection[Any]]:
    with as_role(shop, app) as conn:
        yield conn


def entries(shop: str) -> list[tuple[str, str]]:
    with psycopg.connect(shop) as conn:
        return [(entry["table_name"], entry["operation"]) for entry in log(conn)]


def test_everything_that_the_role_writes_is_recorded(db: psycopg.Connection[Any], shop: str, app: str) -> None:
    db.execute("insert into app.customer values (1, 'a', 'hush')")
    db.execute("update app.customer set email = 'b'")
    db.execute("insert into app.stock select n, n from generate_series(1, 3) n")
    db.execute("update app.stock set n = n + 1 where id = 1")
    db.execute("delete from app.stock where id = 2")
    db.execute("insert into app.event_low values (1, 1)")
    db.execute("delete from app.customer; truncate app.customer; truncate app.stock; truncate app.event")
    db.commit()
    assert entries(shop) == [
        ("app.customer", "INSERT"),
        ("app.customer", "UPDATE"),
        *[("app.stock", "INSERT")] * 3,
        ("app.stock", "UPDATE"),
        ("app.stock", "DELETE"),
        ("app.event", "INSERT"),
        ("app.customer", "DELETE"),
        ("app.customer", "TRUNCATE"),
        ("app.stock", "TRUNCATE"),
        ("app.event", "TRUNCATE"),
        ("app.event", "TRUNCATE"),
    ]
    with psycopg.connect(shop) as conn:
        found = log(conn)
    assert {entry["db_user"] for entry in found} == {app}
    assert found[1]["description"] == "a to b"
    assert len(found[0]["after_data"]["secret"]) == 64


REFUSED: Final[list[LiteralString]] = [
    "select * from svc.audit_logs",
    "insert into svc.audit_logs (table_name, table_oid, operation) values ('app.customer', 0, 'INSERT')",
    "insert into svc.audit_logs_default (table_name, table_oid, operation) values ('app.customer', 0, 'INSERT')",
    "update svc.audit_logs set actor_id = 'somebody else'",
    "delete from svc.audit_logs",
    "truncate svc.audit_logs",
    "truncate svc.audit_logs_default",
    "drop table svc.audit_logs_default",
    "alter table svc.audit_logs detach partition svc.audit_logs_default",
    "drop trigger audit_guard_row on svc.audit_logs",
    "alter table svc.audit_logs disable trigger all",
    "select svc.send('order.created', '{}')",
    "select svc.capture_log('app.customer', 'DELETE')",
    "select svc.audit_ensure_partitions()",
    "set role svc_owner",
    "set role svc_writer",
    "set session authorization svc_writer",
    "set session_replication_role = 'replica'",
    "grant svc_writer to current_user",
    "alter function svc.capture_app_customer() owner to svc_owner",
    "alter function svc.capture_app_customer() rename to capture_app_stock",
    "create or replace function svc.capture_app_customer() returns trigger language plpgsql as 'begin end'",
    "alter view svc.record_app_customer owner to current_user",
    "alter view svc.record_app_customer alter column table_name set default 'app.stock'",
    "create rule forge as on insert to svc.record_app_customer do also nothing",
    "select * from svc.record_app_customer",
    "delete from svc.record_app_customer",
    "update svc.record_app_customer set actor_id = 'somebody else'",
    "insert into svc.record_app_customer (table_name, table_oid, operation) values ('app.customer', 0, 'INSERT')"
    " returning table_name",
    "insert into svc.record_svc_tenants (table_name, table_oid, operation) values ('svc.tenants', 0, 'INSERT')",
    "select * from svc.audit_hash_key",
    "create or replace function svc.audit_hash(p_value text) returns text language sql as 'select p_value'",
    "create trigger forge after insert on app.customer for each row execute function svc.audit_guard()",
]


@pytest.mark.parametrize("usage", ["without usage", "with usage"])
def test_the_role_cannot(db: psycopg.Connection[Any], shop: str, app: str, usage: str) -> None:
    if usage == "with usage":  # as a role has that may send
        execute(shop, "grant usage on schema svc to {}", app)
    for number, statement in enumerate(REFUSED, 1):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            db.execute(statement)
        db.rollback()
        db.execute("insert into app.customer values (%s)", [number])
        db.commit()
        assert entries(shop) == [("app.customer", "INSERT")] * number, statement


def test_sending_needs_svc_sender_and_no_more(shop: str, app: str, db: psycopg.Connection[Any]) -> None:
    execute(shop, "grant svc_sender to {}", app)
    db.execute("select svc.send('order.created', '{}')")
    for statement in ("select * from svc.webhook_messages", "select * from svc.webhook_claim('w', 1)"):
        with pytest.raises(psycopg.errors.InsufficientPrivilege), db.transaction():
            db.execute(statement)
    db.commit()
    with psycopg.connect(shop) as conn:
        assert scalar(conn, "select count(*) from svc.webhook_messages") == 1


def test_functions_and_operators_of_the_role_do_not_run_inside_the_capture(
    db: psycopg.Connection[Any], shop: str, app: str
) -> None:
    with psycopg.connect(shop) as conn:
        conn.execute(sql.SQL("create schema hostile authorization {}").format(sql.Identifier(app)))
    db.execute("""
        create function hostile.ran(text, text) returns boolean language plpgsql as $$ begin raise 'hostile'; end $$;
        create function hostile.ran(jsonb, jsonb) returns boolean language plpgsql as $$ begin raise 'hostile'; end $$;
        create function hostile.to_jsonb(anyelement) returns jsonb language plpgsql as $$ begin raise 'hostile'; end $$;
        create function hostile.nullif(text, text) returns text language plpgsql as $$ begin raise 'hostile'; end $$;
        create function hostile.current_setting(text, boolean) returns text language plpgsql
            as $$ begin raise 'hostile'; end $$;
        create operator hostile.= (leftarg = text, rightarg = text, function = hostile.ran);
        create operator hostile.= (leftarg = jsonb, rightarg = jsonb, function = hostile.ran);
        create operator hostile.<> (leftarg = jsonb, rightarg = jsonb, function = hostile.ran);
        set search_path = hostile, app, pg_catalog;
    """)
    db.execute("insert into customer values (1, 'a', 's')")
    db.execute("update customer set email = 'b'")
    db.execute("insert into stock values (1, 1)")
    db.execute("update stock set n = 2")
    db.commit()
    assert len(entries(shop)) == 4


# PostgreSQL prefers a function for exactly these types to its own for any type, wherever it finds both
OVERLOADS: LiteralString = """
do $$
declare
    v_type text;
    v_name text;
begin
    foreach v_type in array array['text', 'bigint', 'uuid', 'timestamptz', 'jsonb', 'text[]', 'bigint[]', 'uuid[]',
                                  'smallint[]', 'float8[]', 'svc.audit_logs'] loop
        execute format('create function public.hostile(text, %s) returns text language plpgsql '
                       'as $f$ begin raise ''hostile''; end $f$', v_type);
        foreach v_name in array array['array_agg', 'json_agg', 'lag', 'lead', 'count'] loop
            execute format('create aggregate public.%s(%s) (sfunc = public.hostile, stype = text)', v_name, v_type);
        end loop;
        foreach v_name in array array['to_json', 'to_jsonb', 'row_to_json', 'unnest', 'cardinality', 'enum_range',
                                      'pg_column_size'] loop
            execute format('create function public.%s(%s) returns text language plpgsql '
                           'as $f$ begin raise ''hostile''; end $f$', v_name, v_type);
        end loop;
        execute format('create function public.hostile_operator(%1$s, %1$s) returns boolean language plpgsql '
                       'as $f$ begin raise ''hostile''; end $f$', v_type);
        foreach v_name in array array['&&', '@>', '<@', '='] loop
            execute format('create operator public.%1$s (leftarg = %2$s, rightarg = %2$s, '
                           'function = public.hostile_operator)', v_name, v_type);
        end loop;
    end loop;
    create function public.hostile(text, text, bigint) returns text language plpgsql
        as $f$ begin raise 'hostile'; end $f$;
    create aggregate public.json_object_agg(text, bigint) (sfunc = public.hostile, stype = text);
end
$$
"""
# An operator for exactly these types too is preferred to its own, which takes them by a cast or is one for any type
OPERATORS: LiteralString = """
do $$
declare
    v_types text[] := array['smallint', 'integer', 'bigint', 'numeric', 'float8', 'text', 'name', 'oid', 'regclass',
                            'regnamespace', 'interval', 'text[]'];
    v_left text;
    v_right text;
    v_name text;
begin
    foreach v_left in array v_types loop
        foreach v_right in array v_types loop
            execute format('create function public.hostile_mixed(%s, %s) returns boolean language plpgsql '
                           'as $f$ begin raise ''hostile''; end $f$', v_left, v_right);
            foreach v_name in array array['=', '<>', '<', '<=', '>', '>=', '+', '-', '*', '/', '||', '~~'] loop
                begin
                    execute format('select null::%s operator(pg_catalog.%s) null::%s', v_left, v_name, v_right);
                    execute format('create operator public.%s (leftarg = %s, rightarg = %s, '
                                   'function = public.hostile_mixed)', v_name, v_left, v_right);
                exception when undefined_function or ambiguous_function or duplicate_function then null;
                end;
            end loop;
        end loop;
    end loop;
    create function public.pg_total_relation_size(oid) returns bigint language plpgsql
        as $f$ begin raise 'hostile'; end $f$;
    create function public.has_function_privilege(regprocedure, text) returns boolean language plpgsql
        as $f$ begin raise 'hostile'; end $f$;
    create function public.websearch_to_tsquery(text, text) returns tsquery language plpgsql
        as $f$ begin raise 'hostile'; end $f$;
    create function public.hostile_percentile(text, integer) returns text language plpgsql
        as $f$ begin raise 'hostile'; end $f$;
    create aggregate public.percentile_cont(numeric order by integer) (
        sfunc = public.hostile_percentile, stype = text);
    create function public.hostile_percentile(text, float8) returns text language plpgsql
        as $f$ begin raise 'hostile'; end $f$;
    create aggregate public.percentile_cont(numeric[] order by float8) (
        sfunc = public.hostile_percentile, stype = text);
end
$$
"""


def test_functions_and_operators_of_the_role_do_not_run_with_the_rights_of_those_who_read(
    db: psycopg.Connection[Any], shop: str, app: str
) -> None:
    with psycopg.connect(shop) as conn:
        hook = webhooks.endpoints.create(conn, url="https://hooks.example/", events=["*"], settings=SETTINGS)
    execute(shop, "grant create on schema public to {0}", app)
    execute(shop, "grant usage on schema svc to {0}", app)
    db.execute("insert into app.customer values (1, 'a', 's')")
    db.execute("update app.customer set email = 'beech'")
    db.execute(OVERLOADS)
    db.execute(OPERATORS)
    db.commit()
    with psycopg.connect(shop) as conn:
        assert len(audit.query().changed("email").list(conn).data) == 1
        assert len(audit.last_changes(conn, "app.customer", 1)) == 2
        assert len(audit.as_of("app.customer", timedelta(milliseconds=1)).list(conn).data) == 1
        for form in get_args(Format):
            assert audit.export(conn, audit.query(), format=form, out=BytesIO()).entries >= 2
        assert [each.id for each in webhooks.endpoints.list(conn, event="order.created").data] == [hook.id]
        webhooks.endpoints.stats(conn, hook.id)
        webhooks.traffic.of_endpoints(conn, [hook.id])
        webhooks.traffic.read(conn, endpoint=hook.id)
        webhooks.deliveries.replay(conn, hook.id, since=timedelta(days=1), dry_run=True)
        backlog.read_backlog(conn)
        chosen = audit.query().operation("UPDATE").severity(at_least="low").missing("compliance")
        chosen = chosen.transactions(since=1, before=2**63)
        assert chosen.list(conn).data == []
        assert len(audit.query().operation("INSERT", "UPDATE").with_words("beech").list(conn).data) == 1
        assert tables.query(AuditConfig()).list(conn).data != []
        fetch(conn, net_changes.facts_of([TableName("app", "customer")]))
        fetch(conn, attribution())
        conn.commit()
        audit.seal(conn, key=SEAL_KEY)
        assert audit.verify(conn, public_keys=SEAL_KEY.public).is_intact
    asyncio.run(read_console(shop))


async def read_console(shop: str) -> None:
    async with await psycopg.AsyncConnection.connect(shop) as conn:
        await afacets(conn, audit.query())
        await astats(conn, audit.query())
        await system_status.read_system_status(conn, Config(), Drift(datetime.now(UTC), 0, 0, []), has_webhooks=True)


def test_temporary_tables_named_as_ours_are_not_written_to(db: psycopg.Connection[Any], shop: str) -> None:
    db.execute("create temp table audit_logs (like app.customer); create temp table audit_hash_key (id int)")
    db.execute(
        "create function pg_temp.audit_hash(text) returns text language plpgsql as $$ begin raise 'hostile'; end $$"
    )
    db.execute("set search_path = pg_temp, app, pg_catalog")
    db.execute("insert into customer values (1, 'a', 's')")
    db.commit()
    assert entries(shop) == [("app.customer", "INSERT")]


@pytest.mark.parametrize("force", ["no force", "force"])
def test_row_security_on_the_table_hides_nothing_from_the_log(
    db: psycopg.Connection[Any], shop: str, force: str
) -> None:
    db.execute("alter table app.customer enable row level security")
    db.execute(sql.SQL("alter table app.customer {} row level security").format(sql.SQL(force)))
    db.execute("create policy blind on app.customer for select using (id > 100)")
    db.execute("create policy writes on app.customer for insert with check (true)")
    db.execute("insert into app.customer values (1, 'a', 's')")
    db.commit()
    assert entries(shop) == [("app.customer", "INSERT")]


def test_an_owner_who_drops_the_triggers_of_their_table_is_found_out(db: psycopg.Connection[Any], shop: str) -> None:
    trigger = scalar(
        db, "select tgname from pg_trigger where tgrelid = 'app.event'::regclass and tgname like '00_svc_audit_write%'"
    )
    db.execute(sql.SQL("alter table app.event_low disable trigger {}").format(sql.Identifier(trigger)))
    db.execute('drop trigger "00_svc_audit_update" on app.customer')
    db.commit()
    config = audited("app.customer", "app.event", "app.stock")
    with psycopg.connect(shop) as conn:
        found = {entry.identity: entry.state for entry in schema.status(conn, config)}
    assert found["00_svc_audit_update on app.customer"] == "missing"
    assert found[f"{trigger} on app.event"] == "disabled"

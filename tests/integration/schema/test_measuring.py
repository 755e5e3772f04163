"""The measurement of what capture costs: on copies, which it rolls back."""

import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any, Final

import psycopg
import pytest

from svc_pg import Config, schema
from svc_pg.database.query import scalar
from svc_pg.errors import ConfigError, InstallError
from svc_pg.schema.costs import Costs, TableCost
from svc_pg.schema.postgres.migrations import OF_WEBHOOKS
from tests.support.postgres import Prepare
from tests.support.roles import as_role, execute, new_role
from tests.support.tables import audited

TABLES: Final = """
create function refuse() returns trigger language plpgsql as $$ begin raise 'a trigger of users'; end $$;
create function refused(anyelement) returns boolean immutable language plpgsql as $$ begin return true; end $$;
create domain never as int check (refused(value));
create type mood as enum ('sad', 'ok', 'happy');
create type pair as (x int, y text);
create function mood_of(text) returns mood language plpgsql as $$ begin raise 'their cast'; end $$;
create cast (text as mood) with function mood_of(text);
create sequence calls;  -- which no rollback takes back
create function json_of(mood) returns json language plpgsql security definer
    as $$ begin perform nextval('public.calls'); return '"their json"'; end $$;
create cast (mood as json) with function json_of(mood);
create table customer (
    id bigint generated always as identity primary key, number serial, email text unique, secret text,
    amount numeric(6, 2) check (amount < 0), at timestamptz default now(), extra jsonb, tags text[], mood mood,
    pair pair, moods mood[], never never, twice bigint generated always as (7 * 2) stored, tiny numeric(2, 2),
    code varchar(3), letter "char", spot point, rest tsvector, bits bit(3), ip inet, active boolean
);
create trigger theirs before insert or update or delete on customer for each row execute function refuse();
create index on customer (refused(1));
create or replace function refused(anyelement) returns boolean immutable language plpgsql
    as $$ begin raise 'their code'; end $$;
create table part (id int, at date, note text, primary key (id, at)) partition by range (at);
create table part_1 partition of part for values from ('2026-01-01') to ('2027-01-01');
create table bulk (id int primary key, note text);
create table keyless (is_on boolean);
create table bare ();
"""
NAMES: Final = ("customer", "part", "keyless", "bare")
SEEN: Final = """
select jsonb_build_object(
    'relations', (select jsonb_agg(to_jsonb(c) - '{reltuples,relpages,relallvisible,relallfrozen}'::text[] order by oid)
                    from pg_class c where relkind <> 't' and relname !~ '^pg_toast'),
    'functions', (select count(*) from pg_proc), 'types', (select count(*) from pg_type),
    'triggers', (select count(*) from pg_trigger), 'depends', (select count(*) from pg_depend),
    'schemas', (select jsonb_agg(to_jsonb(n) order by oid) from pg_namespace n where nspname !~ '^pg_(toast_)?temp'),
    'roles', (select jsonb_agg(r.rolname order by 1) from pg_roles r where r.rolname ~ '^svc_'),
    'members', (select count(*) from pg_auth_members),
    'sequences', (select jsonb_agg(array[schemaname, sequencename, last_value::text] order by 1, 2) from pg_sequences
                   where schemaname <> 'svc' or sequencename = 'audit_logs_id_seq')
)
"""
CHANGES: Final = {"INSERT", "UPDATE", "DELETE"}


@pytest.fixture(scope="module")
def prepare() -> Prepare:
    def prepare(conninfo: str) -> None:
        with psycopg.connect(conninfo) as conn:
            conn.execute(TABLES)

    return prepare


@pytest.fixture
def conn(database: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(database) as conn:
        yield conn


def configured() -> Config:
    config = audited(*NAMES)
    config.audit.table("bulk", level="statement")
    return config


def assert_figures(cost: TableCost) -> None:
    assert all(row.without_capture > 0 and row.with_capture > 0 for row in cost.rows.values())
    assert cost.bytes_an_entry is not None
    assert cost.bytes_an_entry > 0


def measured(costs: Costs) -> dict[str, TableCost]:
    assert list(costs.left_out) == []
    for cost in costs.measured:
        assert_figures(cost)
    return {cost.table: cost for cost in costs.measured}


@pytest.mark.parametrize("is_installed", [False, True])
def test_every_kind_of_table_gets_figures_and_nothing_stays(
    conn: psycopg.Connection[Any], *, is_installed: bool
) -> None:
    if is_installed:
        schema.install(conn, configured())
    before = scalar(conn, SEEN)
    conn.commit()
    for _ in range(2):
        costs = measured(schema.measure(conn, configured()))
        assert list(costs) == ["public.customer", "public.part", "public.keyless", "public.bare", "public.bulk"]
        assert {name: set(cost.rows) for name, cost in costs.items() if name != "public.bare"} == dict.fromkeys(
            [name for name in costs if name != "public.bare"], CHANGES
        )
        assert costs["public.bulk"].rules == ["by statement"]
        assert "bit(3)" in " ".join(costs["public.customer"].notes)
    assert scalar(conn, SEEN) == before
    if is_installed:
        assert scalar(conn, "select count(*) from svc.audit_logs") == 0
        conn.commit()
        assert schema.plan(conn, configured()) == []


def test_a_table_that_another_session_has_locked_against_everything_is_measured(
    conn: psycopg.Connection[Any], database: str
) -> None:
    schema.install(conn, configured())
    with psycopg.connect(database) as other:
        other.execute("lock table customer, bulk, keyless, bare in access exclusive mode")
        assert "public.customer" in measured(schema.measure(conn, configured()))


def test_widths_are_those_of_the_statistics(conn: psycopg.Connection[Any]) -> None:
    conn.execute("create table doc (id int primary key, body text)")
    conn.commit()
    config = audited("doc")
    short = measured(schema.measure(conn, config))["public.doc"]
    assert "no statistics" in short.notes[0]
    conn.execute("insert into doc select i, repeat(md5(i::text), 20) from generate_series(1, 100) i")
    conn.execute("analyze doc")
    conn.commit()
    wide = measured(schema.measure(conn, config))["public.doc"]
    assert list(wide.notes) == []
    assert (wide.bytes_an_entry or 0) > 400 + (short.bytes_an_entry or 0)
    conn.execute("truncate doc")
    conn.execute(
        "insert into doc select i, (select string_agg(md5(i::text || k::text), '') from generate_series(1, 500) k)"
        " from generate_series(1, 100) i"
    )
    conn.execute("analyze doc")
    conn.commit()
    outside = measured(schema.measure(conn, config))["public.doc"]
    assert (outside.bytes_an_entry or 0) > 10_000


def test_a_very_wide_table_is_measured(conn: psycopg.Connection[Any]) -> None:
    texts = ", ".join(f"column_{number} text" for number in range(700))
    numbers = ", ".join(f"column_{number} bigint" for number in range(1598))
    conn.execute(f"create table wide (id int primary key, {texts})".encode())
    conn.execute(f"create table wider (id int primary key, {numbers})".encode())
    conn.commit()
    costs = measured(schema.measure(conn, audited("wide", "wider")))
    assert [cost.columns for cost in costs.values()] == [701, 1599]


def test_rules_count_and_what_they_leave_out_is_told(conn: psycopg.Connection[Any]) -> None:
    config = Config()
    config.audit.table(
        "customer",
        redact={"secret": "hash", "email": "mask"},
        ignore=["at"],
        max_value_bytes=300,
        on_error="warn",
        record_when={"after": {"active": True}},
        enrich=[{"label": "seen", "when": {"sql": "after ->> 'email' is not null"}}],
    )
    config.audit.unattributed = "refuse"
    cost = measured(schema.measure(conn, config))["public.customer"]
    assert cost.rules == [
        "2 columns redacted",
        "1 column ignored",
        "record_when",
        "max_value_bytes",
        "1 rule",
        'on_error = "warn"',
    ]
    assert cost.rows["INSERT"].recorded == 0.5
    assert cost.rows["DELETE"].recorded == 0


def test_a_table_whose_changes_write_no_entry_has_no_size_of_one(conn: psycopg.Connection[Any]) -> None:
    config = Config()
    config.audit.table("keyless", record_when={"after": {"is_on": "never"}})
    [cost] = schema.measure(conn, config).measured
    assert cost.bytes_an_entry is None
    assert {row.recorded for row in cost.rows.values()} == {0}


def test_two_at_once_both_measure(database: str) -> None:
    def one(_: int) -> Costs:
        with psycopg.connect(database) as conn:
            return schema.measure(conn, audited("keyless", "part"))

    with ThreadPoolExecutor(2) as pool:
        for costs in pool.map(one, range(2)):
            assert set(measured(costs)) == {"public.keyless", "public.part"}


def test_tables_for_which_the_time_is_over_are_named(conn: psycopg.Connection[Any]) -> None:
    for _ in range(2):
        costs = schema.measure(conn, configured(), longest=timedelta(0))
        assert [cost.table for cost in costs.measured] == ["public.customer"]
        assert [(each.table, each.reason) for each in costs.left_out] == [
            (f"public.{name}", "the time was over") for name in ("part", "keyless", "bare", "bulk")
        ]
        schema.install(conn, audited("keyless"))


def test_a_table_of_another_role_is_left_out_with_the_reason(
    conn: psycopg.Connection[Any], database: str, postgres: str
) -> None:
    schema.install(conn, Config())
    with new_role(postgres) as installer, new_role(postgres) as stranger:
        execute(database, "grant svc_owner, svc_writer to {}", installer)
        execute(database, "grant create on schema public to {}", installer)
        execute(database, "create table theirs (id int primary key)")
        execute(database, "alter table theirs owner to {}", stranger)
        with as_role(database, installer) as own:
            own.execute("create table mine (id int primary key, note text)")
            own.execute("alter table mine enable row level security, force row level security")
            own.commit()
            costs = schema.measure(own, audited("mine", "theirs"))
            own.execute("drop table mine")
        [mine] = costs.measured
        assert_figures(mine)
        assert "hidden from this role" in mine.notes[0]
        [left] = costs.left_out
        assert (left.table, stranger in left.reason or "permission" in left.reason) == ("public.theirs", True)
        execute(database, "drop table theirs")
        execute(database, "drop owned by {}", installer)


def test_a_schema_that_must_be_upgraded_is_upgraded_first(conn: psycopg.Connection[Any]) -> None:
    schema.install(conn, configured())
    needed = "select max(number) from svc.migrations where number <> all (%s)"
    conn.execute(f"delete from svc.migrations where number = ({needed})", [list(OF_WEBHOOKS)])
    conn.commit()
    with pytest.raises(InstallError, match="must be upgraded"):
        schema.measure(conn, configured())


def test_after_an_uninstall_it_measures_with_the_log_that_is_left(conn: psycopg.Connection[Any]) -> None:
    schema.install(conn, configured())
    schema.uninstall(conn)
    before = scalar(conn, SEEN)
    conn.commit()
    measured(schema.measure(conn, configured()))
    assert scalar(conn, SEEN) == before


def test_a_configuration_without_tables_has_no_figures(conn: psycopg.Connection[Any]) -> None:
    assert measured(schema.measure(conn, Config())) == {}


def test_nothing_is_measured_on_sqlite() -> None:
    with pytest.raises(ConfigError, match="measured on PostgreSQL, and this is SQLite"):
        schema.measure(sqlite3.connect(":memory:"), Config())

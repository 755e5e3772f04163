from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, LiteralString

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict
from psycopg.rows import dict_row

from svc_pg import Config, SvcError, schema
from svc_pg.database.query import scalar
from svc_pg.errors import (
    ConfigError,
    DatabaseNewerError,
    InstallError,
    MigrationChangedError,
    RemovalRefusedError,
    TransactionError,
    UnknownTableError,
)
from svc_pg.schema.postgres.installation import ROLES
from tests.support.postgres import Prepare, copied
from tests.support.tables import audited, log

TWO_TABLES = "create table customer (id int primary key, email text); create table invoice (id int primary key)"
CUSTOMER = audited("customer")


@pytest.fixture
def db(empty_database: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(empty_database) as conn:
        conn.execute(TWO_TABLES)
        conn.commit()
        yield conn


@pytest.fixture(scope="module")
def prepare() -> Prepare:
    def prepare(conninfo: str) -> None:
        with psycopg.connect(conninfo) as conn:
            conn.execute(TWO_TABLES)

    return prepare


@pytest.fixture
def installed(database: str) -> Iterator[psycopg.Connection[Any]]:
    """A database with two tables, of which none is audited."""
    with psycopg.connect(database) as conn:
        yield conn


@pytest.fixture(scope="module")
def recorded_template(maintenance: psycopg.Connection[Any], postgres: str, module_template: str) -> Iterator[str]:
    with copied(maintenance, postgres, template=module_template) as conninfo:
        with psycopg.connect(conninfo) as conn:
            schema.install(conn, CUSTOMER)
        yield str(conninfo_to_dict(conninfo)["dbname"])


@pytest.fixture
def recorded(
    maintenance: psycopg.Connection[Any], postgres: str, recorded_template: str
) -> Iterator[psycopg.Connection[Any]]:
    """A database in which CUSTOMER is installed."""
    with copied(maintenance, postgres, template=recorded_template) as conninfo, psycopg.connect(conninfo) as conn:
        yield conn


def states(conn: psycopg.Connection[Any], config: Config) -> dict[str, str]:
    return {entry.identity: entry.state for entry in schema.status(conn, config)}


def differing(conn: psycopg.Connection[Any], config: Config) -> dict[str, str]:
    return {identity: state for identity, state in states(conn, config).items() if state != "ok"}


def test_a_second_install_changes_nothing(db: psycopg.Connection[Any]) -> None:
    config = audited("customer", "invoice")
    assert schema.install(db, config)
    assert schema.install(db, config) == []
    assert differing(db, config) == {}


def test_install_leaves_the_connection_idle(db: psycopg.Connection[Any]) -> None:
    schema.install(db, audited("customer"))
    assert db.info.transaction_status == psycopg.pq.TransactionStatus.IDLE


def test_install_works_whatever_rows_the_connection_makes(empty_database: str) -> None:
    with psycopg.connect(empty_database, row_factory=dict_row) as conn:
        assert schema.install(conn, Config())
        assert schema.install(conn, Config()) == []


def test_install_works_on_an_autocommit_connection_with_other_settings(empty_database: str) -> None:
    with psycopg.connect(empty_database, autocommit=True) as conn:
        conn.execute("set default_transaction_isolation = 'serializable'")
        conn.execute("set standard_conforming_strings = off")
        conn.execute("set quote_all_identifiers = on")
        assert schema.install(conn, Config())
        assert schema.install(conn, Config()) == []
        assert differing(conn, Config()) == {}
        assert scalar(conn, "select svc.audit_erased_key('[1, 2]')") == "[1, 2]"


def test_install_inside_a_transaction_is_refused(db: psycopg.Connection[Any]) -> None:
    db.execute("select 1")
    with pytest.raises(TransactionError, match="inside a transaction"):
        schema.install(db, Config())


def test_plan_changes_nothing_and_is_what_install_does(db: psycopg.Connection[Any]) -> None:
    config = audited("customer")
    planned = [(step.action, step.identity) for step in schema.plan(db, config)]
    assert scalar(db, "select to_regnamespace('svc') is null")
    db.rollback()
    assert [(step.action, step.identity) for step in schema.install(db, config)] == planned


def test_a_function_edited_by_hand_is_tampered_and_install_puts_it_back(installed: psycopg.Connection[Any]) -> None:
    installed.execute("create or replace function svc.webhook_notify() returns void language sql as 'select'")
    installed.commit()
    assert differing(installed, Config()) == {"svc.webhook_notify": "tampered"}
    [step] = schema.install(installed, Config())
    assert (step.action, step.identity) == ("replace", "svc.webhook_notify")
    assert differing(installed, Config()) == {}


@pytest.mark.parametrize(
    "change",
    [
        "alter function svc.capture_public_customer() security invoker",
        "alter function svc.capture_public_customer() reset search_path",
        "alter function svc.capture_public_customer() set search_path = public",
    ],
)
def test_a_changed_attribute_of_a_function_is_tampered(recorded: psycopg.Connection[Any], change: Any) -> None:
    recorded.execute(change)
    recorded.commit()
    assert differing(recorded, CUSTOMER) == {"svc.capture_public_customer": "tampered"}


def test_a_disabled_trigger_is_noticed_and_put_back(recorded: psycopg.Connection[Any]) -> None:
    recorded.execute('alter table customer disable trigger "00_svc_audit_write"')
    recorded.commit()
    assert differing(recorded, CUSTOMER) == {"00_svc_audit_write on public.customer": "disabled"}
    schema.install(recorded, CUSTOMER)
    told = "trigger 00_svc_audit_write on public.customer was off, gone or another for a time"
    assert differing(recorded, CUSTOMER) == {f"public.customer: {told}": "incomplete"}
    schema.backfill(recorded, CUSTOMER)
    assert differing(recorded, CUSTOMER) == {}


def test_a_dropped_trigger_is_missing(recorded: psycopg.Connection[Any]) -> None:
    recorded.execute('drop trigger "00_svc_audit_update" on customer')
    recorded.commit()
    assert differing(recorded, CUSTOMER) == {"00_svc_audit_update on public.customer": "missing"}


def test_a_lost_index_or_constraint_is_missing_and_comes_back(installed: psycopg.Connection[Any]) -> None:
    installed.execute("drop index svc.webhook_queue_later, svc.audit_logs_severity")
    installed.execute("alter table svc.webhook_endpoint_state drop constraint webhook_endpoint_state_endpoint_id_fkey")
    installed.execute("alter table svc.webhook_endpoints drop constraint webhook_endpoints_pkey")
    installed.commit()
    assert differing(installed, Config()) == {
        "svc.webhook_queue_later": "missing",
        "svc.audit_logs_severity": "missing",
        "webhook_endpoint_state_endpoint_id_fkey on svc.webhook_endpoint_state": "missing",
        "webhook_endpoints_pkey on svc.webhook_endpoints": "missing",
    }
    assert len(schema.install(installed, Config())) == 4
    assert differing(installed, Config()) == {}


def test_an_index_of_the_log_that_is_not_whole_is_built_again_on_every_partition(database: str) -> None:
    with psycopg.connect(database, autocommit=True) as conn:
        schema.install(conn, Config())
        definition = scalar(conn, "select pg_get_indexdef('svc.audit_logs_record'::regclass)")
        conn.execute("drop index svc.audit_logs_record, svc.audit_logs_moved, svc.audit_logs_severity")
        conn.execute(definition.encode())  # ON ONLY, as the catalog says it: not valid, and without children
        conn.execute("create index audit_logs_moved on svc.audit_logs (tenant_id)")
        assert differing(conn, Config()) == {
            "svc.audit_logs_record": "tampered",
            "svc.audit_logs_moved": "tampered",
            "svc.audit_logs_severity": "missing",
        }
        assert len(schema.install(conn, Config())) == 3
        assert differing(conn, Config()) == {}
        assert scalar(conn, "select pg_get_indexdef('svc.audit_logs_record'::regclass)") == definition
        lacking = """
            select count(*) from pg_index i join pg_inherits p on p.inhparent = i.indrelid
             where i.indexrelid in ('svc.audit_logs_record'::regclass, 'svc.audit_logs_moved'::regclass)
               and not exists (select from pg_inherits q join pg_index x on x.indexrelid = q.inhrelid and x.indisvalid
                                where q.inhparent = i.indexrelid and x.indrelid = p.inhrelid)"""
        assert scalar(conn, lacking) == 0
        assert schema.install(conn, Config()) == []


ALTERED: list[tuple[LiteralString, str, bool]] = [
    (
        "drop index svc.webhook_queue_later; create index webhook_queue_later on svc.webhook_deliveries (status)",
        "svc.webhook_queue_later",
        False,
    ),
    (
        "alter table svc.audit_seals drop constraint audit_seals_entries_check,"
        " add constraint audit_seals_entries_check check (entries >= -1)",
        "audit_seals_entries_check on svc.audit_seals",
        False,
    ),
    (
        "alter table svc.audit_seal_leaves disable trigger all",
        "audit_seal_leaves_seal_fkey on svc.audit_seal_leaves",
        False,
    ),
    ("alter table svc.audit_holds alter reason drop not null", "reason of svc.audit_holds", True),
    ("alter table svc.webhook_messages alter xact_id drop default", "xact_id of svc.webhook_messages", True),
]


@pytest.mark.parametrize(("change", "identity", "is_left"), ALTERED)
def test_an_object_of_the_same_name_that_is_another_is_tampered(
    installed: psycopg.Connection[Any], change: LiteralString, identity: str, *, is_left: bool
) -> None:
    installed.execute(change)
    installed.commit()
    assert differing(installed, Config())[identity] == "tampered"
    schema.install(installed, Config())
    left = [entry for entry in schema.status(installed, Config()) if entry.state != "ok"]
    assert [entry.identity for entry in left] == ([identity] if is_left else [])
    for entry in left:
        installed.execute(entry.sql.encode())
    installed.commit()
    assert differing(installed, Config()) == {}


def test_an_index_that_somebody_adds_is_theirs(installed: psycopg.Connection[Any]) -> None:
    installed.execute("create index mine on svc.audit_logs (tenant_id)")
    installed.commit()
    assert differing(installed, Config()) == {}


@pytest.mark.parametrize(
    ("drop", "identity"),
    [
        ("drop table svc.webhook_messages cascade", "svc.webhook_messages"),
        ("drop table svc.installation", "svc.installation"),
        ("alter table svc.webhook_messages drop column tenant cascade", "tenant of svc.webhook_messages"),
    ],
)
def test_a_lost_table_or_column_is_named_and_stops_the_install(
    installed: psycopg.Connection[Any], drop: Any, identity: str
) -> None:
    installed.execute(drop)
    installed.commit()
    assert differing(installed, Config())[identity] == "missing"
    with pytest.raises(InstallError, match=identity):
        schema.install(installed, Config())


def test_a_new_column_makes_the_capture_function_outdated(recorded: psycopg.Connection[Any]) -> None:
    recorded.execute("alter table customer add column phone text")
    recorded.commit()
    made = ("as_of", "capture", "history", "typed")
    assert differing(recorded, CUSTOMER) == {f"svc.{name}_public_customer": "outdated" for name in made}


def test_a_changed_rule_changes_functions_only(recorded: psycopg.Connection[Any]) -> None:
    steps = schema.install(recorded, audited("customer", redact=["email"]))
    assert {(step.action, step.identity) for step in steps} == {
        ("create", "svc.redact_public_customer"),
        ("replace", "svc.capture_public_customer"),
    }


def test_a_function_whose_signature_changed_is_replaced_and_leaves_no_overload(
    installed: psycopg.Connection[Any],
) -> None:
    installed.execute("drop function svc.webhook_notify()")
    installed.execute("create function svc.webhook_notify() returns int language sql as 'select 1'")
    installed.execute("create function svc.webhook_notify(x int) returns int language sql as 'select 1'")
    installed.commit()
    assert differing(installed, Config())["svc.webhook_notify"] == "tampered"
    schema.install(installed, Config())
    overloads = "select string_agg(oid::regprocedure::text, ' ') from pg_proc where proname = 'webhook_notify'"
    assert scalar(installed, overloads) == "svc.webhook_notify()"


def test_what_the_configuration_does_not_name_is_kept_and_named(db: psycopg.Connection[Any]) -> None:
    config = audited("customer", "invoice")
    config.webhooks.event("invoice.paid")
    schema.install(db, config)
    with pytest.raises(RemovalRefusedError, match=r"event invoice\.paid.*public\.customer|public\.customer.*event"):
        schema.install(db, audited("invoice"))
    assert differing(db, config) == {}


def test_prune_removes_capture_and_events(db: psycopg.Connection[Any]) -> None:
    config = audited("customer", "invoice")
    config.webhooks.event("invoice.paid")
    schema.install(db, config)
    schema.install(db, audited("invoice"), prune=True)
    assert differing(db, audited("invoice")) == {}
    db.execute("insert into customer values (1)")
    db.execute("insert into invoice values (1)")
    assert [entry["table_name"] for entry in log(db)] == ["public.invoice"]


def test_a_function_of_somebody_else_in_our_schema_is_shown_closed_and_kept(installed: psycopg.Connection[Any]) -> None:
    installed.execute("create function svc.theirs() returns int language sql as 'select 1'")
    installed.commit()
    assert differing(installed, Config()) == {"svc.theirs": "orphan", "function svc.theirs()": "tampered"}
    assert [step.kind for step in schema.install(installed, Config(), prune=True)] == ["access"]
    assert differing(installed, Config()) == {"svc.theirs": "orphan"}


def test_unknown_tables_are_all_named_with_near_matches_and_nothing_is_changed(db: psycopg.Connection[Any]) -> None:
    with pytest.raises(UnknownTableError) as caught:
        schema.install(db, audited("custmer", "shop.invoice"))
    assert 'table "public.custmer" does not exist; Did you mean public.customer?' in caught.value.message
    assert 'table "shop.invoice" does not exist; Did you mean public.invoice?' in caught.value.message
    with pytest.raises(UnknownTableError) as caught:
        schema.install(db, audited("product"))  # as before the migration that creates it
    assert caught.value.message == 'table "public.product" does not exist'
    assert caught.value.hint == "Create it first, or correct its name."
    assert scalar(db, "select to_regnamespace('svc') is null")


@pytest.mark.parametrize(
    ("ddl", "name", "reason"),
    [
        ("create view v as select 1 as a", "v", "is a view"),
        ("create materialized view m as select 1 as a", "m", "is a materialized view"),
        ("create sequence s", "s", "is a sequence"),
        ("select 1", "svc.audit_logs", "belongs to svc-pg"),
    ],
)
def test_what_is_not_a_table_cannot_be_audited(db: psycopg.Connection[Any], ddl: Any, name: str, reason: str) -> None:
    db.execute(ddl)
    db.commit()
    with pytest.raises(UnknownTableError, match=reason):
        schema.install(db, audited(name))


def test_redacting_an_unknown_column_names_the_nearest(db: psycopg.Connection[Any]) -> None:
    with pytest.raises(ConfigError, match='redact names "emial"') as caught:
        schema.install(db, audited("customer", redact=["emial"]))
    assert caught.value.hint == 'Did you mean "email"?'


def test_redacting_the_key_is_refused_because_the_record_id_would_tell_it(db: psycopg.Connection[Any]) -> None:
    with pytest.raises(ConfigError, match="part of the key"):
        schema.install(db, audited("customer", redact=["id"]))


def test_an_edited_migration_is_refused(installed: psycopg.Connection[Any]) -> None:
    installed.execute("update svc.migrations set sha256 = 'other' where number = 2")
    installed.commit()
    with pytest.raises(MigrationChangedError, match="0002_audit") as caught:
        schema.install(installed, Config())
    assert caught.value.hint


@pytest.mark.parametrize(
    "trace",
    [
        "insert into svc.migrations (number, name, sha256) values (9999, 'future', 'x')",
        "update svc.installation set version = '99.0.0'",
    ],
)
def test_a_newer_database_is_refused(installed: psycopg.Connection[Any], trace: Any) -> None:
    installed.execute(trace)
    installed.commit()
    with pytest.raises(DatabaseNewerError, match=r"9999_future|99\.0\.0"):
        schema.install(installed, Config())


def test_a_schema_svc_of_somebody_else_is_refused(db: psycopg.Connection[Any]) -> None:
    db.execute("create schema svc")
    db.commit()
    with pytest.raises(InstallError, match="did not make it"):
        schema.install(db, Config())


def test_two_installs_at_once_both_succeed_and_install_once(empty_database: str, db: psycopg.Connection[Any]) -> None:
    config = audited("customer", "invoice")

    def install(_: int) -> list[str]:
        with psycopg.connect(empty_database) as conn:
            return [step.identity for step in schema.install(conn, config) if step.kind != "index"]

    with ThreadPoolExecutor(4) as threads:
        taken = [identity for steps in threads.map(install, range(4)) for identity in steps]
    expected = [entry.identity for entry in schema.status(db, config) if entry.kind != "role"]
    assert sorted(identity for identity in taken if identity not in ROLES) == sorted(expected)
    assert differing(db, config) == {}


def test_a_failing_table_is_named_the_others_stay_and_the_next_install_goes_on(db: psycopg.Connection[Any]) -> None:
    db.execute("""
        create function refuse() returns event_trigger language plpgsql as $$ begin
            if exists (select from pg_event_trigger_ddl_commands() where object_identity ~ 'customer') then
                raise exception 'no triggers on customer today';
            end if;
        end $$;
        create event trigger refuse on ddl_command_end when tag in ('CREATE TRIGGER') execute function refuse();
    """)
    db.commit()
    config = audited("customer", "invoice")
    with pytest.raises(InstallError, match="no triggers on customer today") as caught:
        schema.install(db, config)
    assert "not installed: public.customer" in caught.value.message
    assert all("customer" in identity for identity in differing(db, config))
    db.execute("drop event trigger refuse")
    db.commit()
    assert all("customer" in step.identity for step in schema.install(db, config))
    assert differing(db, config) == {}


def test_uninstall_keeps_the_log_guarded_and_a_later_install_goes_on(recorded: psycopg.Connection[Any]) -> None:
    recorded.execute("insert into customer values (1)")
    recorded.commit()
    assert schema.uninstall(recorded)
    recorded.execute("insert into customer values (2)")
    assert len(log(recorded)) == 1
    with pytest.raises(psycopg.DatabaseError, match="append-only"):
        recorded.execute("delete from svc.audit_logs")
    recorded.rollback()
    assert schema.uninstall(recorded) == []
    schema.install(recorded, CUSTOMER)
    recorded.execute("insert into customer values (3)")
    assert [entry["record_id"] for entry in log(recorded)] == ["1", "3"]


def test_uninstall_with_drop_data_leaves_nothing(recorded: psycopg.Connection[Any]) -> None:
    schema.uninstall(recorded, drop_data=True)
    assert scalar(recorded, "select to_regnamespace('svc') is null")
    assert scalar(recorded, "select count(*) from pg_trigger where not tgisinternal") == 0
    recorded.rollback()
    assert schema.uninstall(recorded, drop_data=True) == []


def test_uninstall_does_not_drop_views_of_the_application(installed: psycopg.Connection[Any]) -> None:
    installed.execute("create view recent as select * from svc.audit_logs")
    installed.commit()
    with pytest.raises(InstallError, match="recent"):
        schema.uninstall(installed, drop_data=True)
    assert differing(installed, Config()) == {}


ODD = ["Odd Name", 'quo"te', "dot.ted", "ä" * 31, "x" * 63, "semi;colon", "new\nline", "$1", "$svc$", "$svc$svc$svc1$"]


def test_tables_with_odd_names_are_audited(db: psycopg.Connection[Any]) -> None:
    spelled = ["public." + '"' + name.replace('"', '""') + '"' for name in ODD]
    for name in ODD:
        identifiers = psycopg.sql.Identifier(name), psycopg.sql.Identifier(name[:60])
        db.execute(psycopg.sql.SQL("create table {} ({} int primary key, n int)").format(*identifiers))
    db.commit()
    config = audited(*spelled)
    schema.install(db, config)
    for number, name in enumerate(ODD):
        db.execute(psycopg.sql.SQL("insert into {} values (%s, 2)").format(psycopg.sql.Identifier(name)), (number,))
    entries = log(db)
    assert [entry["record_id"] for entry in entries] == [str(number) for number in range(len(ODD))]
    assert len({entry["table_name"] for entry in entries}) == len(ODD)
    db.commit()
    assert differing(db, config) == {}


def test_tables_whose_names_run_together_get_functions_of_their_own(db: psycopg.Connection[Any]) -> None:
    db.execute("create schema a_b; create schema a; create table a_b.c (id int); create table a.b_c (id int)")
    db.commit()
    schema.install(db, audited("a_b.c", "a.b_c"))
    db.execute("insert into a_b.c values (1); insert into a.b_c values (1)")
    assert [entry["table_name"] for entry in log(db)] == ["a_b.c", "a.b_c"]


def test_errors_are_ours(db: psycopg.Connection[Any]) -> None:
    with pytest.raises(SvcError):
        schema.install(db, audited("nothing"))

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import sql

from svc_pg import Config, schema
from svc_pg.database.advisory_locks import Lock
from svc_pg.database.query import scalar
from svc_pg.errors import InstallError
from svc_pg.schema.postgres import install, preflight
from svc_pg.schema.postgres.sql_script import script
from tests.support.commands import svc_pg
from tests.support.postgres import new_database
from tests.support.roles import as_role, execute, new_role
from tests.support.tables import audited
from tests.support.waiting import wait_until

TWO_TABLES = "create table customer (id int primary key, email text); create table invoice (id int primary key)"
CONFIG = audited("customer", "invoice")
AT_ONCE = timedelta(milliseconds=50)


@pytest.fixture
def role(postgres: str, template: str) -> Iterator[str]:  # noqa: ARG001 - whose install made the roles of svc
    with new_role(postgres) as name:
        yield name


@pytest.fixture
def shop(role: str, postgres: str) -> Iterator[str]:  # noqa: ARG001 - outlives the database
    """A database with two tables of the superuser's, that is dropped before the role."""
    with new_database(postgres) as conninfo:
        with psycopg.connect(conninfo) as conn:
            conn.execute(TWO_TABLES)
        yield conninfo


@pytest.fixture
def db(shop: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(shop) as conn:
        yield conn


def differing(conn: psycopg.Connection[Any]) -> set[str | None]:
    return {entry.audited_table for entry in schema.status(conn, CONFIG) if entry.state != "ok"}


def test_a_locked_table_is_named_with_who_holds_it_and_the_others_are_installed(
    db: psycopg.Connection[Any], shop: str
) -> None:
    with psycopg.connect(shop, application_name="nightly report") as other:
        other.execute("lock table customer in share mode")
        with pytest.raises(InstallError, match=r"not installed: public\.customer") as caught:
            schema.install(db, CONFIG, wait_for_table=AT_ONCE)
        assert f"pid {other.info.backend_pid} (postgres, nightly report, idle in transaction, since 20" in str(
            caught.value
        )
        assert differing(db) == {"public.customer"}
    schema.install(db, CONFIG)
    assert differing(db) == set()


def test_a_locked_partition_is_found_as_well(db: psycopg.Connection[Any], shop: str) -> None:
    db.execute("create table m (id int) partition by list (id); create table m_one partition of m for values in (1)")
    db.commit()
    with psycopg.connect(shop) as other:
        other.execute("lock table m_one in access exclusive mode")
        with pytest.raises(InstallError, match=f"pid {other.info.backend_pid} "):
            schema.install(db, audited("m"), wait_for_table=AT_ONCE)


def test_a_lock_that_ends_in_time_is_waited_for(db: psycopg.Connection[Any], shop: str) -> None:
    with (
        psycopg.connect(shop) as other,
        psycopg.connect(shop, autocommit=True) as observer,
        ThreadPoolExecutor() as pool,
    ):
        other.execute("lock table customer")
        installing = pool.submit(schema.install, db, CONFIG, wait_for_table=timedelta(seconds=20))
        wait_until(
            lambda: scalar(observer, "select count(*) from pg_locks where not granted and locktype = 'relation'")
        )
        other.rollback()
        assert installing.result()
    assert differing(db) == set()


@pytest.mark.parametrize(
    ("config", "ddl", "error"),
    [
        (CONFIG, "alter table customer add note text; alter table invoice drop constraint invoice_pkey", None),
        (CONFIG, "drop table customer; create table customer (code text primary key, email text)", None),
        (CONFIG, "alter table customer add note text; drop table invoice", 'table "public.invoice" does not'),
        (audited("customer", redact=["email"]), "alter table customer drop email", "meanwhile: .*email"),
    ],
)
def test_what_changes_a_table_while_its_lock_is_waited_for_is_seen(
    db: psycopg.Connection[Any], shop: str, config: Config, ddl: Any, error: str | None
) -> None:
    with (
        psycopg.connect(shop) as other,
        psycopg.connect(shop, autocommit=True) as observer,
        ThreadPoolExecutor() as pool,
    ):
        other.execute("lock table customer, invoice in row exclusive mode")  # as a writer
        installing = pool.submit(schema.install, db, config, wait_for_table=timedelta(seconds=20))
        wait_until(
            lambda: scalar(observer, "select count(*) from pg_locks where not granted and locktype = 'relation'")
        )
        other.execute(ddl)
        other.commit()
        if error is None:
            assert installing.result()
            assert schema.install(db, config) == []
        else:
            with pytest.raises(InstallError, match=error):
                installing.result()


def test_a_first_install_waits_for_no_reader(db: psycopg.Connection[Any], shop: str) -> None:
    with psycopg.connect(shop) as reader:
        reader.execute("select from customer")
        schema.install(db, CONFIG, wait_for_table=AT_ONCE)


def test_a_trigger_is_replaced_beside_a_reader_and_fires_as_the_configuration_says(
    db: psycopg.Connection[Any], shop: str
) -> None:
    def config(*, replica: bool) -> Config:
        return Config.model_validate({"audit": {"tables": [{"name": "customer", "replica": replica}]}})

    schema.install(db, config(replica=True))
    with psycopg.connect(shop) as reader:
        reader.execute("select from customer")
        if db.info.server_version < 140000:  # has no CREATE OR REPLACE TRIGGER
            with pytest.raises(InstallError, match=f"pid {reader.info.backend_pid} "):
                schema.install(db, config(replica=False), wait_for_table=AT_ONCE)
            reader.rollback()
        schema.install(db, config(replica=False), wait_for_table=AT_ONCE)
    fires = "select array_agg(distinct tgenabled::text) from pg_trigger where tgrelid = 'customer'::regclass"
    assert scalar(db, fires) == ["O"]


def test_a_locked_log_stops_the_install_before_anything_is_changed(db: psycopg.Connection[Any], shop: str) -> None:
    schema.install(db, CONFIG)
    db.execute("drop trigger audit_guard_truncate on svc.audit_logs")
    db.commit()
    with psycopg.connect(shop) as other:
        other.execute("lock table svc.audit_logs in share mode")
        with pytest.raises(InstallError, match=f"locks are held by pid {other.info.backend_pid} "):
            schema.install(db, CONFIG, wait_for_table=AT_ONCE)
    assert db.info.transaction_status == psycopg.pq.TransactionStatus.IDLE
    assert {entry.identity for entry in schema.status(db, CONFIG) if entry.state != "ok"} == {
        "audit_guard_truncate on svc.audit_logs"
    }


def test_another_install_is_not_waited_for_for_ever(db: psycopg.Connection[Any], shop: str) -> None:
    with psycopg.connect(shop) as other:
        other.execute("select pg_advisory_xact_lock(%s, %s)", Lock.INSTALL.key)
        with pytest.raises(InstallError, match=r"another install has been running for more than 0\.05 s"):
            schema.install(db, CONFIG, wait_for_install=AT_ONCE)


def test_a_table_of_another_owner_is_named_with_the_grant_that_is_missing(shop: str, role: str) -> None:
    execute(shop, "alter table customer owner to {}", role)
    execute(shop, "grant create on database {} to {}", psycopg.conninfo.conninfo_to_dict(shop)["dbname"], role)  # type: ignore[arg-type]
    with psycopg.connect(shop) as conn:
        conn.execute(sql.SQL("grant svc_owner, svc_writer to {}").format(sql.Identifier(role)))
    with as_role(shop, role) as conn:
        with pytest.raises(InstallError, match=r"not installed: public\.invoice") as caught:
            schema.install(conn, CONFIG)
        assert f'the table belongs to role "postgres", and you are "{role}"' in caught.value.message
        assert f'alter table public.invoice owner to "{role}"' in caught.value.message
        assert "grant" not in caught.value.message  # which would make the role a superuser
        assert differing(conn) == {"public.invoice"}


def test_a_table_of_another_role_that_is_no_superuser_is_named_with_the_grant(
    shop: str, role: str, postgres: str
) -> None:
    with new_role(postgres) as owner:
        execute(shop, "alter table customer owner to {}", role)
        execute(shop, "alter table invoice owner to {}", owner)
        execute(shop, "grant create on database {} to {}", psycopg.conninfo.conninfo_to_dict(shop)["dbname"], role)  # type: ignore[arg-type]
        execute(shop, "grant svc_owner, svc_writer to {}", role)
        with as_role(shop, role) as conn, pytest.raises(InstallError, match=f'grant "{owner}" to "{role}"'):
            schema.install(conn, CONFIG)
        execute(shop, "drop owned by {}", owner)


def test_whoever_may_not_act_as_the_owner_of_a_table_is_told_the_grant(shop: str, role: str, postgres: str) -> None:
    with psycopg.connect(shop) as conn:
        if conn.info.server_version < 160000:
            pytest.skip("a membership has no options before PostgreSQL 16")
    with new_role(postgres) as owner:
        execute(shop, "alter table customer owner to {}", role)
        execute(shop, "alter table invoice owner to {}", owner)
        execute(shop, "grant create on database {} to {}", psycopg.conninfo.conninfo_to_dict(shop)["dbname"], role)  # type: ignore[arg-type]
        execute(shop, "grant svc_owner, svc_writer to {}", role)
        execute(shop, "grant {} to {} with inherit true, set false", owner, role)
        with as_role(shop, role) as conn, pytest.raises(InstallError, match=f'grant "{owner}" to "{role}"'):
            schema.install(conn, CONFIG)
        execute(shop, "drop owned by {}", owner)


def test_a_schema_of_a_superuser_is_not_to_be_had_by_a_grant(db: psycopg.Connection[Any], shop: str, role: str) -> None:
    schema.install(db, CONFIG, roles=False)
    with as_role(shop, role) as conn, pytest.raises(InstallError, match='schema svc belongs to role "postgres"') as e:
        schema.install(conn, CONFIG)
    assert e.value.hint == "Install as postgres."


def test_an_event_trigger_that_may_not_run_as_our_owner_is_named(db: psycopg.Connection[Any]) -> None:
    db.execute("""
        create table ddl_log (command text);
        create function log_ddl() returns event_trigger language plpgsql as $$ begin
            insert into public.ddl_log select command_tag from pg_event_trigger_ddl_commands();
        end $$;
        create event trigger "log ddl" on ddl_command_end execute function log_ddl();
    """)
    db.commit()
    with pytest.raises(InstallError, match="permission denied for table ddl_log") as caught:
        schema.install(db, CONFIG)
    assert caught.value.hint == (
        'An install fires event triggers ("log ddl") also as svc_owner: let their functions be security definer,'
        " or disable them meanwhile."
    )
    assert scalar(db, "select to_regnamespace('svc') is null")
    db.execute("alter function log_ddl() security definer")
    db.commit()
    schema.install(db, CONFIG)
    assert differing(db) == set()
    assert scalar(db, "select exists (select from ddl_log where command = 'CREATE TRIGGER')")


def test_a_read_only_session_is_told_so(db: psycopg.Connection[Any], shop: str) -> None:
    with psycopg.connect(shop, options="-c default_transaction_read_only=on") as conn:
        with pytest.raises(InstallError, match="read-only") as caught:
            schema.install(conn, CONFIG)
        assert caught.value.hint is not None
        assert "default_transaction_read_only" in caught.value.hint
        assert schema.status(conn, CONFIG)
    assert scalar(db, "select to_regnamespace('svc') is null")


def test_a_database_that_is_not_utf8_is_refused(shop: str, postgres: str) -> None:
    name = psycopg.conninfo.conninfo_to_dict(shop)["dbname"]
    execute(postgres, "drop database {}", str(name))
    execute(postgres, "create database {} template template0 encoding 'LATIN1' lc_collate 'C' lc_ctype 'C'", str(name))
    with psycopg.connect(shop) as conn, pytest.raises(InstallError, match="encoding of the database is LATIN1"):
        schema.install(conn, Config())


@pytest.mark.parametrize("command", [schema.install, schema.status, schema.plan, script])
def test_an_older_server_is_refused_before_its_catalog_is_read(
    db: psycopg.Connection[Any], monkeypatch: pytest.MonkeyPatch, command: Callable[..., object]
) -> None:
    monkeypatch.setattr(preflight, "OLDEST", 990000)
    with pytest.raises(InstallError, match=r"svc-pg needs 13 or later"):
        command(db, Config())
    assert db.info.transaction_status == psycopg.pq.TransactionStatus.IDLE
    assert scalar(db, "select to_regnamespace('svc') is null")


@pytest.mark.parametrize("together", [1, 2])
def test_a_lost_connection_keeps_what_is_finished_and_names_the_rest(
    db: psycopg.Connection[Any], shop: str, monkeypatch: pytest.MonkeyPatch, together: int
) -> None:
    monkeypatch.setattr(install, "_TOGETHER", together)
    db.execute("create table artist (id int)")
    db.execute("create table zebra (id int)")
    db.execute("""
        create function cut() returns event_trigger language plpgsql as $$ begin
            if exists (select from pg_event_trigger_ddl_commands() where object_identity ~ 'invoice') then
                perform pg_terminate_backend(pg_backend_pid());
            end if;
        end $$;
        create event trigger cut on ddl_command_end when tag in ('CREATE TRIGGER') execute function cut();
    """)
    db.commit()
    config = audited("artist", "customer", "invoice", "zebra")
    with pytest.raises(InstallError, match=r"not installed: public\.invoice, public\.zebra") as caught:
        schema.install(db, config)
    assert "connection to the database was lost" in caught.value.message
    with psycopg.connect(shop) as conn:
        conn.execute("drop event trigger cut")
        conn.commit()
        captured = scalar(
            conn,
            "select array_agg(distinct tgrelid::regclass::text order by tgrelid::regclass::text)"
            " from pg_trigger where tgname ~ 'svc'",
        )
        assert [table for table in captured if not table.startswith("svc.")] == ["artist", "customer"]
        conn.commit()
        taken = schema.install(conn, config)
        assert {step.audited_table for step in taken} == {"public.invoice", "public.zebra"}


@pytest.mark.parametrize(
    ("timeout", "code", "words"), [("50us", 2, "is not a duration"), ("50ms", 1, "locks are held by")]
)
def test_the_command_line_says_how_long_to_wait(
    db: psycopg.Connection[Any], shop: str, tmp_path: Path, timeout: str, code: int, words: str
) -> None:
    Path(tmp_path, "svc-pg.toml").write_text('[[audit.tables]]\nname = "customer"\n', encoding="utf-8")
    db.execute("lock table customer")
    found = svc_pg("install", "--lock-timeout", timeout, folder=tmp_path, variables={"DATABASE_URL": shop})
    assert found.returncode == code
    assert words in found.stderr

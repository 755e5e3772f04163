"""Revisions that name their changes: from each earlier version of the schema, and through each driver."""

import asyncio
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from sqlalchemy import URL, Connection, create_engine, text
from sqlalchemy.ext.asyncio import create_async_engine

from svc_pg import Config, schema
from svc_pg.config import AuditedTable
from svc_pg.config.installed_parts import Difference, document_of, parts_of
from svc_pg.database.query import scalar
from svc_pg.errors import ConfigError, InstallError, SvcError
from svc_pg.schema.configuration_change import ConfigurationChange
from svc_pg.schema.installer import installer_of
from svc_pg.schema.postgres import installation, inventory, migrations
from svc_pg.schema.postgres.differences import look
from svc_pg.schema.postgres.migrations import released
from svc_pg.schema.postgres.target import target_of
from svc_pg.schema.postgres.transactions import looking
from svc_pg.schema.revision_connection import revision_connection
from svc_pg.schema.status import Status
from tests.support.postgres import new_database
from tests.support.roles import as_role, execute, new_role

NEWEST = released()[-1].number
EARLIER = [each.number for each in released() if each.number >= 6]  # the files before were one version
DEFINED_SINCE = 9  # the inventory has definitions
_RECORDED_BEFORE = inventory.RECORD.replace("sql, definition)", "sql)").replace("sql, definition from", "sql from")
TABLES = """
select c.relname, format('%s %s %s', a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull)
  from pg_class c join pg_attribute a on a.attrelid = c.oid
 where c.relnamespace = 'svc'::regnamespace and c.relkind in ('r', 'p') and a.attnum > 0 and not a.attisdropped
 union all
select c.relname, x.conname || ' ' || pg_get_constraintdef(x.oid)
  from pg_class c join pg_constraint x on x.conrelid = c.oid
 where c.relnamespace = 'svc'::regnamespace
 union all
select c.relname, pg_get_indexdef(i.indexrelid)
  from pg_class c join pg_index i on i.indrelid = c.oid
 where c.relnamespace = 'svc'::regnamespace
 order by 1, 2
"""
REFUSED = "cannot act as svc_owner and svc_writer"
TABLE = "create table customer (id int primary key, email text, tags text[], price numeric(10, 2) not null default 1)"


def configuration(**rules: Any) -> Config:
    made = Config()
    made.audit.table("customer", **rules)
    made.webhooks.event("customer.created", description="100% :new $$ $svc$ \\ \"'", schema={"enum": [None, 1.5, "%s"]})
    made.webhooks.on_change("customer", "INSERT", event="customer.created", payload=["id"])
    return made


def run(conn: psycopg.Connection[Any], change: ConfigurationChange, *, backwards: bool = False) -> list[str]:
    """Run a revision as a tool does, statement by statement in one transaction."""
    with conn.transaction():
        made = installer_of(conn).statements(change, backwards=backwards)
        for statement in made:
            conn.execute(statement.encode())
    return made


def differing(conn: psycopg.Connection[Any], config: Config) -> list[str]:
    return [f"{each.state} {each.kind} {each.identity}" for each in schema.status(conn, config) if each.state != "ok"]


@pytest.fixture
def own(empty_database: str) -> Any:
    with psycopg.connect(empty_database, autocommit=True) as conn:
        conn.execute(TABLE)
        yield conn


@pytest.mark.postgres
@pytest.mark.parametrize("number", EARLIER)
def test_a_revision_upgrades_from_each_earlier_version(
    own: psycopg.Connection[Any], shared_database: str, number: int
) -> None:
    with own.transaction():
        own.execute("set local search_path = pg_catalog, pg_temp")
        for migration in released():
            if migration.number <= number:
                migrations.apply(own, migration)
        own.execute((inventory.RECORD if number >= DEFINED_SINCE else _RECORDED_BEFORE).encode())
        own.execute("""
            insert into svc.installation (version, has_roles, access_sha256, hash_key_sha256)
            select '0.0.1', false, '', encode(sha256(inner_pad || outer_pad), 'hex') from svc.audit_hash_key
        """)
    config = configuration()
    written_then = ConfigurationChange(number, None, document_of(parts_of(config)))
    run(own, written_then)
    # indexes of the log are for an install, or the maintenance of a worker
    assert {step.kind for step in schema.install(own, config)} <= {"index"}
    assert differing(own, config) == []
    assert run(own, written_then) == []
    with psycopg.connect(shared_database) as other:
        assert own.execute(TABLES).fetchall() == other.execute(TABLES).fetchall()


def test_a_change_and_its_way_back_know_only_what_they_name(own: psycopg.Connection[Any]) -> None:
    first, second = configuration(), configuration(redact=["email"])
    run(own, ConfigurationChange(NEWEST, None, document_of(parts_of(first))))
    table = ("audit", "tables", "public.customer")
    change = ConfigurationChange(
        NEWEST, document_of({table: parts_of(first)[table]}), document_of({table: parts_of(second)[table]})
    )
    run(own, change)
    assert differing(own, second) == []
    run(own, change, backwards=True)
    assert differing(own, first) == []
    assert run(own, change, backwards=True) == []


def test_the_way_back_of_the_first_change_leaves_the_data_and_its_guards(own: psycopg.Connection[Any]) -> None:
    config = configuration()
    first = ConfigurationChange(NEWEST, None, document_of(parts_of(config)))
    run(own, first)
    own.execute("insert into customer (id) values (1)")
    run(own, first, backwards=True)
    assert scalar(own, "select count(*) from svc.audit_logs") == 1
    assert scalar(own, "select count(*) from pg_trigger where tgrelid = 'customer'::regclass") == 0
    with pytest.raises(psycopg.Error, match="append-only"):
        own.execute("delete from svc.audit_logs")
    assert run(own, first, backwards=True) == []


def test_nobody_installs_between_the_look_of_a_revision_and_its_statements(own: psycopg.Connection[Any]) -> None:
    change = ConfigurationChange(NEWEST, None, document_of(parts_of(configuration())))
    with psycopg.connect(own.info.dsn, autocommit=True) as other, own.transaction():
        made = installer_of(own).statements(change, backwards=False)
        assert scalar(own, "show lock_timeout") == "0"
        with pytest.raises(InstallError, match="another install has been running"):
            schema.install(other, Config(), wait_for_install=timedelta(milliseconds=1))
        for statement in made:
            own.execute(statement.encode())
    assert schema.install(own, configuration()) == []


def test_another_order_of_the_same_keys_is_a_difference(own: psycopg.Connection[Any]) -> None:
    one, other = Config(), Config()
    for made, payload in ((one, ["id", "email"]), (other, ["email", "id"])):
        made.webhooks.event("customer.created", description="new")
        made.webhooks.on_change("customer", "INSERT", event="customer.created", payload=payload)
    schema.install(own, one)
    difference = Difference.between(parts_of(one), parts_of(other))
    run(own, ConfigurationChange(NEWEST, document_of(difference.before), document_of(difference.after)))
    assert schema.install(own, other) == []


def test_a_change_of_what_no_object_has_is_recorded(own: psycopg.Connection[Any]) -> None:
    run(own, ConfigurationChange(NEWEST, None, document_of(parts_of(configuration()))))
    kept = ConfigurationChange(NEWEST, {}, {"audit": {"retention_days": 30}})
    [statement] = run(own, kept)
    assert statement.startswith("update svc.installation set configuration")
    assert run(own, kept) == []


@pytest.mark.parametrize(
    ("change", "kind", "words"),
    [
        (ConfigurationChange(NEWEST + 1, None, {}), InstallError, f"needs version {NEWEST + 1} of schema svc"),
        (ConfigurationChange(NEWEST, {}, {}), InstallError, "is not installed in this database"),
        (ConfigurationChange(NEWEST, None, {"audit": 1}), ConfigError, "audit: not a table: 1"),
        (ConfigurationChange(NEWEST, None, {"audit": {"tabels": {}}}), ConfigError, 'this revision: .* "tables"'),
        (ConfigurationChange(NEWEST, None, {"audit": {"tables": {"x": {}}}}), SvcError, "public.x"),
    ],
)
def test_a_change_that_does_not_fit_is_refused(
    own: psycopg.Connection[Any], change: ConfigurationChange, kind: type[Exception], words: str
) -> None:
    with pytest.raises(kind, match=words):
        run(own, change)
    assert scalar(own, "select to_regnamespace('svc') is null")


def test_a_database_that_does_not_know_its_configuration_takes_no_later_change(own: psycopg.Connection[Any]) -> None:
    config = configuration()
    schema.install(own, config)
    own.execute("update svc.installation set configuration = null")  # as an earlier version left it
    with pytest.raises(InstallError, match="does not say with which one svc-pg was installed") as caught:
        run(own, ConfigurationChange(NEWEST, {}, {}))
    assert str(caught.value.hint).startswith("Run svc-pg install")
    schema.install(own, config)
    assert run(own, ConfigurationChange(NEWEST, {}, {})) == []


def test_uninstall_forgets_the_configuration(own: psycopg.Connection[Any]) -> None:
    schema.install(own, configuration())
    assert scalar(own, "select configuration is not null from svc.installation")
    schema.uninstall(own)
    assert scalar(own, "select configuration is null from svc.installation")


def url(conninfo: str, driver: str) -> URL:
    parts: dict[str, Any] = conninfo_to_dict(conninfo)
    return URL.create(
        f"postgresql+{driver}",
        username=parts["user"],
        password=parts.get("password"),
        host=parts["host"],
        port=int(parts["port"]),
        database=parts["dbname"],
    )


def with_driver(conninfo: str, driver: str, work: Callable[[Connection], Any]) -> Any:
    """Do the work in a transaction of SQLAlchemy, which an async driver runs in a greenlet."""
    if driver in ("psycopg", "psycopg2"):
        engine = create_engine(url(conninfo, driver))
        with engine.begin() as bind:
            result = work(bind)
        engine.dispose()
        return result

    async def connected() -> Any:
        engine = create_async_engine(url(conninfo, driver))
        async with engine.begin() as bind:
            result = await bind.run_sync(work)
        await engine.dispose()
        return result

    return asyncio.run(connected())


OTHERS = ["psycopg2", "asyncpg", "psycopg_async"]


def seen(conn: Any, config: Config) -> list[Status]:
    with looking(conn):
        present = installation.read_installation(conn, installation.look_around(conn))
        return look(conn, present, target_of(conn, present, config))


@pytest.mark.parametrize("driver", OTHERS)
@pytest.mark.parametrize("is_installed", [False, True])
def test_each_driver_sees_what_psycopg_sees(own: psycopg.Connection[Any], driver: str, *, is_installed: bool) -> None:
    pytest.importorskip(driver.removesuffix("_async"))
    config = configuration(redact={"email": "mask"}, record_when={"after": {"email": {"is_null": False}}})
    if is_installed:
        schema.install(own, Config())
        own.execute("create rule lost as on insert to svc.audit_logs do instead nothing")
    found = with_driver(own.info.dsn, driver, lambda bind: seen(revision_connection(bind), config))
    with own.transaction():
        assert found == seen(own, config)
    assert is_installed == any(entry.kind == "rule" for entry in found)


@pytest.mark.parametrize("driver", OTHERS)
def test_a_revision_sees_the_table_that_its_own_transaction_has_made(own: psycopg.Connection[Any], driver: str) -> None:
    pytest.importorskip(driver.removesuffix("_async"))
    config = Config()
    config.audit.table("made_now")
    change = ConfigurationChange(NEWEST, None, document_of(parts_of(config)))

    def work(bind: Connection) -> int:
        bind.execute(text("create table made_now (id int primary key)"))
        return len(installer_of(revision_connection(bind)).statements(change, backwards=False))

    assert with_driver(own.info.dsn, driver, work) > 100


@pytest.mark.parametrize("driver", ["psycopg", *OTHERS])
def test_a_wrong_condition_is_told_in_the_words_of_the_server(own: psycopg.Connection[Any], driver: str) -> None:
    pytest.importorskip(driver.removesuffix("_async"))
    config = Config()
    config.audit.tables = [AuditedTable.model_validate({"name": "customer", "record_when": {"sql": "nosuch > 1"}})]
    change = ConfigurationChange(NEWEST, None, document_of(parts_of(config)))

    def work(bind: Connection) -> None:
        with pytest.raises(ConfigError, match='cannot be evaluated: column "nosuch" does not exist'):
            installer_of(revision_connection(bind)).statements(change, backwards=False)
        assert bind.execute(text("select 1")).scalar() == 1  # the transaction goes on

    with_driver(own.info.dsn, driver, work)


@pytest.fixture
def role(postgres: str, template: str) -> Iterator[str]:  # noqa: ARG001 - whose install made the roles of svc
    with new_role(postgres) as name:
        yield name


@pytest.fixture
def shop(role: str, postgres: str) -> Iterator[str]:  # noqa: ARG001 - outlives the database
    with new_database(postgres) as conninfo:
        with psycopg.connect(conninfo) as conn:
            conn.execute(TABLE)
        yield conninfo


def refused(conninfo: str, role: str, driver: str = "psycopg") -> InstallError:
    """The error of a revision run by a role; the transaction must go on after it."""
    config = Config()
    config.audit.table("customer")
    change = ConfigurationChange(NEWEST, None, document_of(parts_of(config)))

    def work(bind: Connection) -> InstallError:
        installer = installer_of(revision_connection(bind))
        with pytest.raises(InstallError) as caught:
            installer.statements(change, backwards=False)
        assert bind.execute(text("select 1")).scalar() == 1
        return caught.value

    found: InstallError = with_driver(make_conninfo(conninfo, user=role), driver, work)
    return found


@pytest.mark.postgres
@pytest.mark.parametrize("driver", ["psycopg", *OTHERS])
def test_a_role_that_may_not_install_is_told_so_by_a_revision_as_by_install(shop: str, role: str, driver: str) -> None:
    pytest.importorskip(driver.removesuffix("_async"))
    error = refused(shop, role, driver)
    assert error.message == f'role "{role}" cannot create a schema in this database'
    with as_role(shop, role) as conn, pytest.raises(InstallError) as caught:
        schema.install(conn, configuration())
    assert (error.message, error.hint) == (caught.value.message, caught.value.hint)
    with psycopg.connect(shop) as conn:
        schema.install(conn, Config())
    error = refused(shop, role, driver)
    assert error.message == f'role "{role}" cannot act as svc_owner and svc_writer, which own schema svc'
    with as_role(shop, role) as conn, pytest.raises(InstallError) as caught:
        schema.install(conn, configuration())
    assert (error.message, error.hint) == (caught.value.message, caught.value.hint)


@pytest.mark.parametrize("driver", ["psycopg", *OTHERS])
def test_a_table_of_another_owner_is_named_before_a_revision_begins(shop: str, role: str, driver: str) -> None:
    pytest.importorskip(driver.removesuffix("_async"))
    database: Any = conninfo_to_dict(shop)["dbname"]
    execute(shop, "grant create on database {} to {}", database, role)
    execute(shop, "grant svc_owner, svc_writer to {}", role)
    error = refused(shop, role, driver)
    assert error.message == f'table public.customer belongs to role "postgres", and you are "{role}"'
    assert error.hint == f'Install as a superuser, or let one execute: alter table public.customer owner to "{role}";'
    execute(shop, "alter table customer owner to {}", role)
    with as_role(shop, role) as conn:
        conn.autocommit = True
        config = Config()
        config.audit.table("customer")
        run(conn, ConfigurationChange(NEWEST, None, document_of(parts_of(config))))
        assert differing(conn, config) == []


def test_a_role_that_may_not_install_need_not_if_somebody_has(shop: str, role: str) -> None:
    config = configuration()
    change = ConfigurationChange(NEWEST, None, document_of(parts_of(config)))
    with psycopg.connect(shop) as conn:
        schema.install(conn, config)
    with as_role(shop, role) as conn, pytest.raises(InstallError, match=REFUSED):  # it cannot see that all is there
        run(conn, change)
    execute(shop, "grant svc_admin to {}", role)
    with as_role(shop, role) as conn:
        conn.autocommit = True
        assert run(conn, change) == []
        with pytest.raises(InstallError, match=REFUSED):
            run(conn, ConfigurationChange(NEWEST, {}, {"audit": {"retention_days": 30}}))
        with pytest.raises(InstallError, match=REFUSED):
            run(conn, change, backwards=True)


def test_a_revision_is_printed_for_somebody_who_may_run_it(shop: str, role: str) -> None:
    change = ConfigurationChange(NEWEST, None, document_of(parts_of(configuration())))
    with as_role(shop, role) as conn:
        assert installer_of(conn).statements(change, backwards=False, is_printed=True)

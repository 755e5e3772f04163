"""Databases that have the audit trail alone, and get webhooks later."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest

from svc_pg import Config, audit, schema, webhooks
from svc_pg.config.installed_parts import Difference, document_of, parts_of
from svc_pg.database.query import scalar
from svc_pg.errors import ConfigError, InstallError, NotInstalledError, RemovalRefusedError
from svc_pg.maintenance import maintain
from svc_pg.schema.configuration_change import ConfigurationChange
from svc_pg.schema.installer import installer_of
from svc_pg.schema.postgres.migrations import released
from tests.support.documents import ROOT
from tests.support.postgres import new_database
from tests.support.products import (
    ALL,
    ONLY,
    ONLY_WEBHOOKS,
    TABLE,
    configuration,
    differing,
    names_of_webhooks,
    shape,
    with_event,
)
from tests.support.tables import log

NEWEST = released()[-1].number

NUMBERS = """
select 'functions', count(*) from pg_proc where pronamespace = 'svc'::regnamespace
 union all
select what, count(*) from pg_class c
  join (values ('tables', 'r'), ('tables', 'p'), ('views', 'v'), ('indexes', 'i'), ('indexes', 'I')) w(what, kind)
    on w.kind = c.relkind::text
 where c.relnamespace = 'svc'::regnamespace and not c.relispartition group by what
 order by 1
"""


@pytest.fixture
def db(empty_database: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(empty_database, autocommit=True) as conn:
        conn.execute(TABLE)
        yield conn


@pytest.fixture(scope="module")
def whole(postgres: str) -> Iterator[tuple[str, list[Any]]]:
    """The shape of a database in which all was installed at once."""
    with new_database(postgres) as conninfo, psycopg.connect(conninfo, autocommit=True) as conn:
        conn.execute(TABLE)
        schema.install(conn, configuration())
        yield shape(conn)


def run(conn: psycopg.Connection[Any], change: ConfigurationChange, *, backwards: bool = False) -> None:
    with conn.transaction():
        for statement in installer_of(conn).statements(change, backwards=backwards):
            conn.execute(statement.encode())


@pytest.mark.postgres
def test_the_audit_trail_alone_is_clearly_less_than_all(
    db: psycopg.Connection[Any], whole: tuple[str, list[Any]]
) -> None:
    config = configuration(**ONLY)
    planned = [(step.action, step.identity) for step in schema.plan(db, config)]
    assert [(step.action, step.identity) for step in schema.install(db, config)] == planned
    assert names_of_webhooks(db) == []
    text, objects = shape(db)
    assert "svc_sender" not in text
    for beginning, least in (("create table", 13), ("create function", 60), ("create view", 3)):
        assert text.count(beginning) <= whole[0].count(beginning) - least, beginning
    assert len(objects) < len(whole[1]) * 3 / 4
    found = schema.status(db, config)
    assert {each.state for each in found} == {"ok"}
    assert [each.identity for each in found if "webhook" in each.identity or each.identity == "svc_sender"] == []


def test_the_documented_numbers_are_those_of_a_database_without_audited_tables(empty_database: str) -> None:
    found = []
    with psycopg.connect(empty_database, autocommit=True) as conn:
        for products in (ALL, ONLY, ONLY_WEBHOOKS):
            schema.install(conn, Config(**products))
            roles = [each for each in schema.status(conn, Config()) if each.kind == "role"]
            found.append({**dict(conn.execute(NUMBERS).fetchall()), "roles": len(roles)})
            conn.execute("drop schema svc cascade")
    lines = [f"| {what} | {' | '.join(str(each[what]) for each in found)}" for what in found[0]]
    document = (ROOT / "docs/configuration.md").read_text(encoding="utf-8")
    assert [line for line in lines if line not in document] == []


def test_the_audit_trail_alone_records_changes_and_can_be_maintained(db: psycopg.Connection[Any]) -> None:
    schema.install(db, configuration(**ONLY))
    with db.transaction(), audit.actor(db, "ann"):
        db.execute("insert into customer (id) values (1); insert into svc.tenants (id, name) values ('acme', 'Acme')")
    assert [(entry["table_name"], entry["actor_id"]) for entry in log(db)] == [
        ("public.customer", "ann"),
        ("svc.tenants", "ann"),
    ]
    assert maintain(db, Config())
    assert scalar(db, "select array_agg(problem) from svc.maintenance where task = 'maintenance'") == [None]
    assert scalar(db, "select svc.console_is_new_tenant('acme') or not svc.console_is_new_tenant('other')") is False


def test_later_installs_keep_to_the_audit_trail_unless_the_configuration_says_otherwise(
    db: psycopg.Connection[Any],
) -> None:
    schema.install(db, configuration(**ONLY))
    assert schema.plan(db, configuration()) == []
    assert schema.install(db, configuration()) == []
    assert schema.install(db, Config(), prune=True)
    assert names_of_webhooks(db) == []
    assert any("webhook_endpoints" in step.identity for step in schema.plan(db, configuration(**ALL)))


@pytest.mark.postgres
def test_webhooks_that_are_added_later_are_those_of_a_whole_install(
    db: psycopg.Connection[Any], whole: tuple[str, list[Any]]
) -> None:
    schema.install(db, configuration(**ONLY))
    db.execute("insert into customer (id) values (1)")
    config = configuration(**ALL)
    planned = [(step.action, step.identity) for step in schema.plan(db, config)]
    assert [(step.action, step.identity) for step in schema.install(db, config)] == planned
    assert shape(db) == whole
    assert differing(db, config) == []
    assert schema.install(db, configuration()) == []
    assert len(log(db)) == 1


def test_webhooks_are_taken_away_only_with_prune_and_leave_their_data(
    db: psycopg.Connection[Any], whole: tuple[str, list[Any]]
) -> None:
    schema.install(db, with_event())
    db.execute("insert into customer (id) values (1)")
    with pytest.raises(RemovalRefusedError, match="webhooks") as refused:
        schema.install(db, configuration(**ONLY))
    assert refused.value.hint is not None
    assert "The tables of webhooks stay, with their data." in refused.value.hint
    assert differing(db, with_event()) == []

    schema.install(db, configuration(**ONLY), prune=True)
    assert scalar(db, "select to_regproc('svc.webhook_claim') is null and to_regproc('svc.send_many') is null")
    assert scalar(db, "select count(*) from svc.webhook_messages") == 1
    assert differing(db, configuration()) == []
    db.execute("insert into customer (id) values (2)")
    assert scalar(db, "select count(*) from svc.webhook_messages") == 1

    schema.install(db, configuration(**ALL))
    assert shape(db) == whole
    assert scalar(db, "select count(*) from svc.webhook_messages") == 1


@pytest.mark.parametrize("is_in_the_configuration", [True, False])
def test_a_configuration_with_something_of_webhooks_is_refused(
    db: psycopg.Connection[Any], *, is_in_the_configuration: bool
) -> None:
    products = ONLY if is_in_the_configuration else {}
    if not is_in_the_configuration:
        schema.install(db, configuration(**ONLY))
    config = with_event(**products)
    config.grants.send = ["pg_monitor"]
    for ask in (schema.install, schema.plan, schema.status):
        with pytest.raises(ConfigError, match=r"has webhooks\.events, webhooks\.on_change, grants\.send, and") as error:
            ask(db, config)
        assert error.value.hint is not None
        wanted = "only the audit trail is wanted" if is_in_the_configuration else "this database has only the audit"
        assert wanted in error.value.message
        assert ("svc-pg install --all" in error.value.hint) is not is_in_the_configuration


def test_calls_of_webhooks_say_that_these_are_not_installed(db: psycopg.Connection[Any]) -> None:
    schema.install(db, configuration(**ONLY))
    for call in (
        lambda: webhooks.send(db, "customer.created", {}),
        lambda: webhooks.endpoints.list(db),
        lambda: webhooks.deliveries.list(db),
    ):
        with pytest.raises(NotInstalledError, match="no webhooks of svc-pg") as error:
            call()
        assert error.value.hint == "Run: svc-pg install. Where only the audit trail is installed, add --all."


def test_installs_of_different_products_at_once_leave_no_half_of_webhooks(
    db: psycopg.Connection[Any], whole: tuple[str, list[Any]]
) -> None:
    def install(products: Any) -> str:
        with psycopg.connect(db.info.dsn) as conn:
            try:
                schema.install(conn, configuration(**products))
            except RemovalRefusedError:
                return "refused"
            except InstallError as error:
                return "overtaken" if "chosen other products" in error.message else "failed"
            return "installed"

    with ThreadPoolExecutor() as pool:
        told = list(pool.map(install, [ONLY, ALL]))
    assert told[0] in ("installed", "refused", "overtaken")
    assert told[1] == "installed"
    assert scalar(db, "select to_regproc('svc.webhook_claim') is not null")
    assert [each for each in differing(db, configuration(**ALL)) if not each.startswith("outdated access")] == []
    schema.install(db, configuration(**ALL))
    assert shape(db) == whole


@pytest.mark.postgres
def test_revisions_install_one_product_and_then_both_and_go_back(
    db: psycopg.Connection[Any], whole: tuple[str, list[Any]]
) -> None:
    only, both = parts_of(configuration(**ONLY)), parts_of(configuration(**ALL))
    first = ConfigurationChange(NEWEST, None, document_of(only))
    difference = Difference.between(only, both)
    second = ConfigurationChange(NEWEST, document_of(difference.before), document_of(difference.after))
    assert second.before == {"products": ["audit"]}
    run(db, first)
    assert names_of_webhooks(db) == []
    assert differing(db, configuration()) == []
    run(db, second)
    assert shape(db) == whole
    run(db, second, backwards=True)
    assert differing(db, configuration()) == []
    assert scalar(db, "select to_regproc('svc.webhook_claim') is null")
    run(db, first, backwards=True)
    assert scalar(db, "select count(*) from pg_trigger where tgrelid = 'customer'::regclass") == 0


def test_a_script_adds_webhooks_and_takes_them_away(db: psycopg.Connection[Any], whole: tuple[str, list[Any]]) -> None:
    schema.install(db, configuration(**ONLY))
    script = installer_of(db).script(configuration(**ALL), prune=False, roles=None)
    assert script is not None
    with db.transaction():
        db.execute(script.upgrade.encode())
    assert shape(db) == whole
    with db.transaction():
        db.execute(script.downgrade.encode())
    assert scalar(db, "select to_regproc('svc.webhook_claim') is null")
    left = [each for each in differing(db, configuration()) if " access " not in each]
    assert left == ["outdated function svc.console_is_new_tenant"]
    schema.install(db, configuration())
    assert differing(db, configuration()) == []

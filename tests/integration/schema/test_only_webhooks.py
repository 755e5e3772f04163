"""Databases that have webhooks alone, and get the audit trail later."""

import re
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from svc_pg import Config, Settings, audit, schema, webhooks
from svc_pg.config.installed_parts import Difference, document_of, parts_of
from svc_pg.database.query import scalar
from svc_pg.errors import ConfigError, NotInstalledError, RemovalRefusedError
from svc_pg.maintenance import maintain
from svc_pg.schema.configuration_change import ConfigurationChange
from svc_pg.schema.installer import installer_of
from svc_pg.schema.postgres.migrations import released
from tests.support.hooks import KEYS_TEXT
from tests.support.postgres import new_database
from tests.support.products import (
    ALL,
    ONLY_WEBHOOKS,
    TABLE,
    configuration,
    differing,
    names_of_the_audit_trail,
    shape,
    webhooks_alone,
)
from tests.support.tables import log

pytestmark = pytest.mark.postgres

NEWEST = released()[-1].number
SETTINGS = Settings(encryption_keys=KEYS_TEXT)


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
        schema.install(conn, both())
        yield shape(conn)


def both() -> Config:
    made = configuration(**ALL)
    made.webhooks.event("customer.created")
    return made


def run(conn: psycopg.Connection[Any], change: ConfigurationChange, *, backwards: bool = False) -> None:
    with conn.transaction():
        for statement in installer_of(conn).statements(change, backwards=backwards):
            conn.execute(statement.encode())


def test_webhooks_alone_are_clearly_less_than_all(db: psycopg.Connection[Any], whole: tuple[str, list[Any]]) -> None:
    planned = [(step.action, step.identity) for step in schema.plan(db, webhooks_alone())]
    assert [(step.action, step.identity) for step in schema.install(db, webhooks_alone())] == planned
    assert names_of_the_audit_trail(db) == []
    text, _ = shape(db)
    for beginning, least in (("create function", 60), ("create view", 3)):
        assert text.count(beginning) <= whole[0].count(beginning) - least, beginning
    found = schema.status(db, webhooks_alone())
    assert {each.state for each in found} == {"ok"}
    assert [each.identity for each in found if each.product == "audit" or "audit_holds" in each.identity] == [
        "audit_guard_row on svc.audit_holds",
        "audit_guard_truncate on svc.audit_holds",
    ]


def test_changes_of_our_own_tables_stay_on_record_and_can_be_maintained(db: psycopg.Connection[Any]) -> None:
    schema.install(db, webhooks_alone())
    with db.transaction(), audit.actor(db, "ann"):
        endpoint = webhooks.endpoints.create(db, url="https://example.com/hook", events=["*"], settings=SETTINGS)
        webhooks.endpoints.rotate_secret(db, endpoint.id, settings=SETTINGS)
        db.execute("insert into svc.tenants (id, name) values ('acme', 'Acme')")
    assert [(entry["table_name"], entry["operation"], entry["actor_id"]) for entry in log(db)] == [
        ("svc.webhook_endpoints", "INSERT", "ann"),
        ("svc.webhook_endpoints", "UPDATE", "ann"),
        ("svc.tenants", "INSERT", "ann"),
    ]
    [newest] = audit.query().resource("svc.webhook_endpoints").operation("UPDATE").list(db)
    assert newest.actor_id == "ann"
    assert maintain(db, webhooks_alone())
    assert scalar(db, "select array_agg(problem) from svc.maintenance where task = 'maintenance'") == [None]


def test_old_changes_are_purged_as_the_retention_says(db: psycopg.Connection[Any]) -> None:
    config = webhooks_alone()
    config.audit.retention_days = 30
    schema.install(db, config)
    db.execute("alter table svc.audit_logs alter \"timestamp\" set default clock_timestamp() - interval '400 days'")
    db.execute("insert into svc.tenants (id, name) values ('acme', 'Acme')")
    db.execute('alter table svc.audit_logs alter "timestamp" set default clock_timestamp()')
    db.execute("insert into svc.tenants (id, name) values ('globex', 'Globex')")
    assert maintain(db, config)
    assert [(entry["table_name"], entry["record_id"]) for entry in log(db)] == [
        ("svc.tenants", "globex"),
        ("svc.audit_logs", None),
    ]


def test_a_message_is_sent_and_change_events_need_no_audit_trail(db: psycopg.Connection[Any]) -> None:
    config = webhooks_alone()
    config.webhooks.on_change("customer", "INSERT", event="customer.created")
    schema.install(db, config)
    webhooks.send(db, "customer.created", {"id": 1})
    db.execute("insert into customer (id) values (1)")
    assert scalar(db, "select count(*) from svc.webhook_messages") == 2
    assert log(db) == []
    assert differing(db, config) == []


def test_later_installs_keep_to_webhooks_unless_the_configuration_says_otherwise(
    db: psycopg.Connection[Any],
) -> None:
    schema.install(db, webhooks_alone())
    config = Config()
    config.webhooks.event("customer.created")
    assert schema.plan(db, config) == []
    assert schema.install(db, config) == []


def test_an_audit_trail_that_is_added_later_is_that_of_a_whole_install(
    db: psycopg.Connection[Any], whole: tuple[str, list[Any]]
) -> None:
    schema.install(db, webhooks_alone())
    webhooks.endpoints.create(db, url="https://example.com/hook", events=["*"], settings=SETTINGS)
    webhooks.send(db, "customer.created", {"id": 1})
    planned = {(step.action, step.identity) for step in schema.plan(db, both())}
    assert {(step.action, step.identity) for step in schema.install(db, both())} == planned
    assert shape(db) == whole
    assert differing(db, both()) == []
    db.execute("insert into customer (id) values (1)")
    assert [entry["table_name"] for entry in log(db)] == ["svc.webhook_endpoints", "public.customer"]
    assert scalar(db, "select count(*) from svc.webhook_messages") == 1
    hold = audit.hold(db, "customer", "1", reason="a claim")
    assert hold is not None
    assert [entry["table_name"] for entry in log(db)][-1] == "svc.audit_holds"


def test_the_audit_trail_is_taken_away_only_with_prune_and_leaves_its_data(
    db: psycopg.Connection[Any], whole: tuple[str, list[Any]]
) -> None:
    config = both()
    config.audit.search = ["text"]
    schema.install(db, config)
    db.execute("insert into customer (id) values (1)")
    audit.hold(db, "customer", "1", reason="a claim")
    with pytest.raises(RemovalRefusedError, match="the audit trail") as refused:
        schema.install(db, webhooks_alone())
    assert refused.value.hint is not None
    assert "The tables of the audit trail stay, with their data." in refused.value.hint
    assert differing(db, config) == []

    schema.install(db, webhooks_alone(), prune=True)
    assert names_of_the_audit_trail(db) == []
    assert differing(db, webhooks_alone()) == []
    before = len(log(db))
    db.execute("insert into customer (id) values (2)")
    assert len(log(db)) == before
    assert maintain(db, webhooks_alone())
    assert scalar(db, "select count(*) from svc.audit_holds where lifted_at is null") == 1

    schema.install(db, both())
    assert shape(db) == whole
    assert differing(db, both()) != []  # the rows that nobody recorded meanwhile
    schema.backfill(db, both())
    assert differing(db, both()) == []


def test_what_is_held_stays_although_the_audit_trail_was_taken_away(db: psycopg.Connection[Any]) -> None:
    config = both()
    config.audit.retention_days = 30
    schema.install(db, config)
    db.execute("alter table svc.audit_logs alter \"timestamp\" set default clock_timestamp() - interval '400 days'")
    db.execute("insert into customer (id) values (1), (2)")
    db.execute('alter table svc.audit_logs alter "timestamp" set default clock_timestamp()')
    audit.hold(db, "customer", "1", reason="a claim")
    alone = webhooks_alone()
    alone.audit.retention_days = 30
    schema.install(db, alone, prune=True)
    assert maintain(db, alone)
    kept = [entry["record_id"] for entry in log(db) if entry["table_name"] == "public.customer"]
    assert kept == ["1"]


@pytest.mark.parametrize("is_in_the_configuration", [True, False])
def test_a_configuration_with_something_of_the_audit_trail_is_refused(
    db: psycopg.Connection[Any], *, is_in_the_configuration: bool
) -> None:
    if not is_in_the_configuration:
        schema.install(db, webhooks_alone())
    config = configuration(**(ONLY_WEBHOOKS if is_in_the_configuration else {}))
    config.audit.ddl = True
    config.audit.retention_days = 30
    for ask in (schema.install, schema.plan, schema.status):
        with pytest.raises(ConfigError, match=r"has audit\.ddl, audit\.tables, and") as error:
            ask(db, config)
        assert error.value.hint is not None
        wanted = "only webhooks are wanted" if is_in_the_configuration else "this database has only webhooks"
        assert wanted in error.value.message
        assert ("svc-pg install --all" in error.value.hint) is not is_in_the_configuration


def test_calls_of_the_audit_trail_say_that_it_is_not_installed(db: psycopg.Connection[Any]) -> None:
    schema.install(db, webhooks_alone())
    for call in (
        lambda: audit.capture_log(db, "invoice", "INSERT", record_id="7"),
        lambda: audit.erase(db, "customer", "1"),
        lambda: audit.hold(db, "customer", "1", reason="a claim"),
        lambda: audit.blame(db, "customer", "1"),
    ):
        with pytest.raises(NotInstalledError, match="no audit trail of svc-pg") as error:
            call()
        assert error.value.hint == "Run: svc-pg install. Where only webhooks are installed, add --all."


def test_revisions_install_webhooks_and_then_both_and_go_back(
    db: psycopg.Connection[Any], whole: tuple[str, list[Any]]
) -> None:
    only, all_ = parts_of(webhooks_alone()), parts_of(both())
    first = ConfigurationChange(NEWEST, None, document_of(only))
    difference = Difference.between(only, all_)
    second = ConfigurationChange(NEWEST, document_of(difference.before), document_of(difference.after))
    assert second.before == {"products": ["webhooks"]}
    run(db, first)
    assert names_of_the_audit_trail(db) == []
    assert differing(db, webhooks_alone()) == []
    run(db, second)
    assert shape(db) == whole
    run(db, second, backwards=True)
    assert differing(db, webhooks_alone()) == []
    assert names_of_the_audit_trail(db) == []
    run(db, first, backwards=True)
    assert scalar(db, "select to_regproc('svc.send_many') is null")


def test_a_script_adds_the_audit_trail_and_takes_it_away(
    db: psycopg.Connection[Any], whole: tuple[str, list[Any]]
) -> None:
    schema.install(db, webhooks_alone())
    script = installer_of(db).script(both(), prune=False, roles=None)
    assert script is not None
    with db.transaction():
        db.execute(script.upgrade.encode())
    assert shape(db) == whole
    with db.transaction():
        db.execute(script.downgrade.encode())
    assert names_of_the_audit_trail(db) == []
    assert maintain(db, webhooks_alone())
    assert [each for each in differing(db, webhooks_alone()) if not re.search(" access |holds", each)] == []
    schema.install(db, webhooks_alone(), prune=True)
    assert differing(db, webhooks_alone()) == []

"""Databases whose webhooks are taken away, or whose products two installs choose at once."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import psycopg
import pytest

from svc_pg import Config, Settings, audit, schema, webhooks
from svc_pg.database.query import scalar
from svc_pg.errors import InstallError
from svc_pg.schema.postgres import install as install_module
from tests.support.documents import examples
from tests.support.hooks import KEYS_TEXT
from tests.support.products import (
    ALL,
    ONLY,
    TABLE,
    configuration,
    differing,
    names_of_webhooks,
    shape,
    with_event,
)
from tests.support.tables import log

SETTINGS = Settings(encryption_keys=KEYS_TEXT)
(DROP,) = examples("configuration.md", "products", "psql")


@pytest.fixture
def db(empty_database: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(empty_database, autocommit=True) as conn:
        conn.execute(TABLE)
        yield conn


def test_webhooks_are_whole_until_no_table_sends_its_changes(db: psycopg.Connection[Any]) -> None:
    schema.install(db, with_event())
    with psycopg.connect(db.info.dsn) as other:
        other.execute("lock table customer in row exclusive mode")
        with pytest.raises(InstallError, match=r"not installed: public\.customer"):
            schema.install(db, configuration(**ONLY), prune=True, wait_for_table=timedelta(milliseconds=10))
    db.execute("insert into customer (id) values (1)")
    assert scalar(db, "select count(*) from svc.webhook_messages") == 1
    schema.install(db, configuration(**ONLY), prune=True)
    assert scalar(db, "select to_regproc('svc.webhook_claim') is null and to_regproc('svc.send_many') is null")
    assert differing(db, configuration()) == []
    db.execute("insert into customer (id) values (2)")


@pytest.mark.postgres
def test_endpoints_that_stay_are_recorded_as_before(db: psycopg.Connection[Any]) -> None:
    schema.install(db, configuration())
    endpoint = webhooks.endpoints.create(db, url="https://example.com/hook", events=["*"], settings=SETTINGS)
    schema.install(db, configuration(**ONLY), prune=True)
    assert differing(db, configuration()) == []
    with db.transaction(), audit.actor(db, "ann"):
        webhooks.endpoints.rotate_secret(db, endpoint.id, settings=SETTINGS)
    entry = log(db)[-1]
    assert (entry["table_name"], entry["operation"], entry["actor_id"]) == ("svc.webhook_endpoints", "UPDATE", "ann")


@pytest.mark.postgres
def test_tables_that_are_dropped_afterwards_are_forgotten_and_made_anew(db: psycopg.Connection[Any]) -> None:
    schema.install(db, configuration())
    whole = shape(db)
    schema.install(db, configuration(**ONLY), prune=True)
    drop_tables_of_webhooks(db)
    left = differing(db, configuration())
    assert [each for each in left if "webhook_endpoints" not in each] == []
    assert schema.install(db, configuration(), prune=True)
    assert differing(db, configuration()) == []
    assert names_of_webhooks(db) == []
    schema.install(db, configuration(**ALL))
    assert shape(db) == whole
    assert differing(db, configuration()) == []


def drop_tables_of_webhooks(db: psycopg.Connection[Any]) -> None:
    """As the documentation says."""
    query, ending = DROP.split("\\gexec")
    assert not ending.strip()
    db.execute(scalar(db, query))


def test_tables_that_are_not_forgotten_yet_are_not_made_anew(db: psycopg.Connection[Any]) -> None:
    schema.install(db, configuration())
    schema.install(db, configuration(**ONLY), prune=True)
    drop_tables_of_webhooks(db)
    with pytest.raises(InstallError, match=r"gone from schema svc: table svc\.webhook_blocks") as refused:
        schema.install(db, configuration(**ALL))
    assert refused.value.hint is not None
    assert "svc-pg install --only audit --prune" in refused.value.hint
    assert "drop-data" not in refused.value.hint


def test_an_install_does_not_override_the_products_that_another_has_chosen_meanwhile(
    db: psycopg.Connection[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    schema.install(db, Config(**ONLY))
    install_tables = install_module._install_together

    def after_another(*arguments: Any) -> Any:
        monkeypatch.setattr(install_module, "_install_together", install_tables)
        with psycopg.connect(db.info.dsn) as other:
            schema.install(other, Config(**ALL))
        return install_tables(*arguments)

    monkeypatch.setattr(install_module, "_install_together", after_another)
    with pytest.raises(InstallError, match="another install has chosen other products meanwhile: audit, webhooks"):
        schema.install(db, configuration(), prune=True)
    assert differing(db, Config()) == []
    schema.install(db, configuration(), prune=True)
    assert differing(db, configuration(**ALL)) == []


def test_an_uninstall_forgets_the_choice(db: psycopg.Connection[Any]) -> None:
    schema.install(db, configuration(**ONLY))
    schema.uninstall(db)
    assert any("webhook" in step.identity for step in schema.plan(db, configuration()))
    schema.install(db, configuration(**ONLY))
    assert names_of_webhooks(db) == []
    schema.uninstall(db, drop_data=True)
    assert scalar(db, "select to_regnamespace('svc') is null")

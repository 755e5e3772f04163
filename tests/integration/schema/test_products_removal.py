"""Databases whose webhooks are taken away, or whose products two installs choose at once."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import psycopg
import pytest

from svc_pg import Config, schema
from svc_pg.database.query import scalar
from svc_pg.errors import InstallError
from svc_pg.schema.postgres import install as install_module
from tests.support.products import ALL, ONLY, TABLE, configuration, differing, with_event


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

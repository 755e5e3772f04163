"""An erasure reaches all that shows a person under other names, and nothing that only says so."""

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from svc_pg import Config, audit
from svc_pg.query import scalar
from tests.support.postgres import Prepare
from tests.support.tables import create_and_audit

DDL = """
create table customer (id int primary key, name text);
create table orders (id int primary key, customer_id int, address text);
"""
CONFIG = Config.model_validate(
    {
        "audit": {
            "tables": [{"name": name} for name in ("customer", "orders")],
            "erasure": {"customer": ["orders.customer_id"]},
        }
    }
)


@pytest.fixture(scope="module")
def prepare() -> Prepare:
    return lambda conninfo: create_and_audit(conninfo, DDL, CONFIG)


@pytest.fixture
def db(database: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(database, autocommit=True) as conn:
        conn.execute("insert into customer values (5, 'Bob'), (6, 'Ann')")
        yield conn


def test_an_entry_whose_context_names_an_erasure_stays(db: psycopg.Connection[Any]) -> None:
    audit.erase(db, "customer", 5)
    erasure = scalar(db, "select max(id) from svc.audit_logs where label = 'audit log erased'")
    with db.transaction(), audit.actor(db, "user:mallory", context={"erasure": str(erasure)}):
        db.execute("insert into orders values (7, 6, 'Oak Road')")
    assert audit.erase(db, "customer", 5).tables == {}
    [entry] = audit.query().resource("orders").list(db).data
    assert not entry.is_erased

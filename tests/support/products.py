"""Configurations with the audit trail alone, with webhooks alone, and with both."""

from typing import Any, Final

from psycopg import Connection

from svc_pg import Config, schema
from svc_pg.database.sql_products import product_of
from tests.support.schema_dump import dump
from tests.support.tables import audited

ONLY: Final[Any] = {"products": ["audit"]}
ONLY_WEBHOOKS: Final[Any] = {"products": ["webhooks"]}
ALL: Final[Any] = {"products": ["audit", "webhooks"]}
TABLE: Final = "create table customer (id int primary key, email text)"
_OBJECTS: Final = """
select kind, identity, audited_table, source_sha256, catalog_sha256 from svc.installed_objects
 union all select kind, identity, of_table, sql, definition from svc.installed_inventory
 union all select 'migration', name, number::text, sha256, null from svc.migrations
 order by 1, 2, 3
"""
_NAMES: Final = """
select proname from pg_proc where pronamespace = 'svc'::regnamespace
 union all select relname from pg_class where relnamespace = 'svc'::regnamespace
 union all select typname from pg_type where typnamespace = 'svc'::regnamespace
"""


def configuration(**products: Any) -> Config:
    return Config(**products, audit=audited("customer").audit)


def with_event(**products: Any) -> Config:
    made = configuration(**products)
    made.webhooks.event("customer.created")
    made.webhooks.on_change("customer", "INSERT", event="customer.created")
    return made


def webhooks_alone() -> Config:
    made = Config(**ONLY_WEBHOOKS)
    made.webhooks.event("customer.created")
    return made


def differing(conn: Connection[Any], config: Config) -> list[str]:
    return [f"{each.state} {each.kind} {each.identity}" for each in schema.status(conn, config) if each.state != "ok"]


def shape(conn: Connection[Any]) -> tuple[str, list[Any]]:
    """All objects, their rights, and the record of them."""
    with conn.transaction():
        return dump(conn), conn.execute(_OBJECTS).fetchall()


def names_of_the_audit_trail(conn: Connection[Any]) -> list[str]:
    """The functions and views of the audit trail, which are not of every log."""
    return [name for (name,) in conn.execute(_NAMES) if product_of(name) == "audit"]


def names_of_webhooks(conn: Connection[Any]) -> list[str]:
    return [name for (name,) in conn.execute(_NAMES) if name.startswith(("webhook", "_webhook", "send", "uuid7"))]

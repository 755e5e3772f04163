"""Configurations with the audit trail alone, and with webhooks too."""

from typing import Any, Final

from psycopg import Connection

from svc_pg import Config, schema
from tests.support.tables import audited

ONLY: Final[Any] = {"products": ["audit"]}
ALL: Final[Any] = {"products": ["audit", "webhooks"]}
TABLE: Final = "create table customer (id int primary key, email text)"


def configuration(**products: Any) -> Config:
    return Config(**products, audit=audited("customer").audit)


def with_event(**products: Any) -> Config:
    made = configuration(**products)
    made.webhooks.event("customer.created")
    made.webhooks.on_change("customer", "INSERT", event="customer.created")
    return made


def differing(conn: Connection[Any], config: Config) -> list[str]:
    return [f"{each.state} {each.kind} {each.identity}" for each in schema.status(conn, config) if each.state != "ok"]

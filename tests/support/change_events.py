"""Rules for changes of a table of orders, their events, and the state of their triggers."""

from typing import Any, LiteralString

import psycopg

from svc_pg import Config, schema

ORDERS: LiteralString = "create table orders (id int primary key, status text, note json, shop text)"
ALL = ["INSERT", "UPDATE", "DELETE"]

Sent = list[tuple[str, Any]]


def config(*rules: dict[str, Any], **audit: Any) -> Config:
    """A configuration with these rules, by default for every change of orders, and their events."""
    written = [{"table": "orders", "operation": ALL, "event": "order.changed"} | rule for rule in rules]
    events: dict[str, Any] = {rule["event"]: {} for rule in written}
    return Config.model_validate({"webhooks": {"events": events, "on_change": written}, "audit": audit})


def install(conn: psycopg.Connection[Any], wanted: Config, *, ddl: LiteralString = ORDERS) -> Config:
    conn.execute(ddl)
    conn.commit()
    schema.install(conn, wanted)
    return wanted


def sent(conn: psycopg.Connection[Any]) -> Sent:
    """The events and payloads since the last call, sorted: one statement's events have no order."""
    found = conn.execute("""
        with gone as (delete from svc.webhook_messages returning event_name, payload)
        select event_name, payload from gone order by event_name, payload::text
    """).fetchall()
    return [(event, payload) for event, payload in found]


def states(conn: psycopg.Connection[Any], wanted: Config) -> dict[str, str]:
    """The state of every object that is not ok."""
    return {entry.identity: entry.state for entry in schema.status(conn, wanted) if entry.state != "ok"}

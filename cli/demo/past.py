"""Fill the demo's database with a past hour.

Everything is written by the shop's own statements, and recorded and sent by svc-pg's own triggers and functions. Only
times and answers are made up: as a superuser of an otherwise unused database, the demo sets the log's clock back for a
while, and then gives messages, deliveries and attempts their times and results. Without these rights this is
impossible, and svc-pg status would report the clock, if it stayed so.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

import psycopg
from psycopg import Connection, Cursor
from psycopg.types.json import Json

from svc_pg.database.query import fetch_one, scalar
from svc_pg.webhooks.endpoints import endpoint_queries as endpoints
from svc_pg.webhooks.http.guard import Guard
from svc_pg.webhooks.secrets import KeyRing, new_key

from .answers import RECEIVERS, Receiver
from .database import CONFIG, create
from .hour import OPERATOR, Step, steps
from .made_up import make_up

_SET_BACK: Final = """
alter table svc.audit_logs alter column "timestamp"
    set default coalesce(nullif(current_setting('demo.now', true), '')::timestamptz, clock_timestamp())
"""
_SET_RIGHT: Final = 'alter table svc.audit_logs alter column "timestamp" set default clock_timestamp()'
_BEGIN: Final = """
select set_config('demo.now', %s::timestamptz::text, true), set_config('svc.actor_id', %s, true),
       set_config('svc.tenant_id', %s, true), set_config('svc.context', %s, true)
"""
_REGISTERED: Final = timedelta(minutes=59)


def fill(conninfo: str, *, keys: KeyRing | None = None, receivers: str | None = None) -> None:
    """Create the shop in an empty database, with a past hour of traffic. The database must have no other use.

    ``receivers`` is the base URL of all endpoints; by default each has a host of its own. ``keys`` seal their secrets;
    by default these cannot be opened again.
    """
    create(conninfo)
    with psycopg.connect(conninfo, autocommit=True) as conn:
        conn.execute("set synchronous_commit = off")
        now: datetime = scalar(conn, "select date_trunc('milliseconds', clock_timestamp())")
        with _clock_set_back(conn):
            known = _register(conn, now, keys or KeyRing.parse(new_key("demo")), receivers)
            with conn.pipeline():  # nothing waits for an answer, of which there would be thousands
                playing = [message for step in steps() for message in _play(conn, step, now)]
        sent = [(message, at) for cursor, at in playing for (message,) in cursor]
        make_up(conn, sent, known, now)


@contextmanager
def _clock_set_back(conn: Connection[Any]) -> Iterator[None]:
    conn.execute(_SET_BACK)
    try:
        yield
    finally:
        conn.execute(_SET_RIGHT)


def _register(conn: Connection[Any], now: datetime, keys: KeyRing, receivers: str | None) -> dict[UUID, Receiver]:
    known: dict[UUID, Receiver] = {}
    guard = Guard.of(CONFIG.webhooks)
    with conn.transaction():
        conn.execute(_BEGIN, (now - _REGISTERED, OPERATOR, "", ""))
        for tenant, name in (("acme", "Acme"), ("northwind", "Northwind Traders")):
            conn.execute("insert into svc.tenants (id, name) values (%s, %s)", [tenant, name])
        for receiver in RECEIVERS:
            url = f"{receivers}/{receiver.name}" if receivers else f"https://{receiver.name}"
            registered = endpoints.create(
                url=url,
                events=receiver.events,
                keys=keys,
                guard=guard,
                tenant=receiver.tenant,
                description=receiver.description,
            )
            known[UUID(fetch_one(conn, registered).id)] = receiver
    return known


def _play(conn: Connection[Any], step: Step, now: datetime) -> list[tuple[Cursor[Any], datetime]]:
    """Run a step as its actor; return cursors that will hold the ids of its messages, with their time."""
    at = now - timedelta(milliseconds=step.ago // timedelta(milliseconds=1))  # as ids have it
    with conn.transaction():
        context = json.dumps(step.context) if step.context else ""
        conn.execute(_BEGIN, (at, step.actor or "", step.tenant or "", context))
        if step.is_past_the_application:  # a person with rights of their own; at the end no trace of the role is left
            conn.execute("create role dba_temp superuser")
            conn.execute("set local session authorization dba_temp")
        for statement in step.statements:
            conn.execute(*statement)
        if step.is_past_the_application:
            conn.execute("reset session authorization")
            conn.execute("drop role dba_temp")
        return [
            (conn.execute("select svc.send(%s, %s, tenant => %s)", (event, Json(data), step.tenant)), at)
            for event, data in step.events
        ]

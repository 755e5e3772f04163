"""A day of business on the Chinook music shop, and what must be on record afterwards."""

import os
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import sql
from psycopg.types.json import Jsonb

from svc_pg import Config, audit, schema, webhooks
from svc_pg.config import AuditConfig, AuditedTable, EventDefinition
from svc_pg.database.query import scalar
from tests.support.hooks import endpoint, hooks_config, rows, working
from tests.support.receiver import receiving
from tests.support.tables import log
from tests.support.waiting import wait_until

CHINOOK = Path(os.environ.get("SVC_TEST_CHINOOK", Path(__file__).parents[3] / "shared/data/chinook.sql"))
CHINOOK_ROWS = 15607

pytestmark = pytest.mark.skipif(not CHINOOK.exists(), reason=f"the Chinook data is not at {CHINOOK}")

Connection = psycopg.Connection[Any]


@pytest.fixture
def shop(empty_database: str) -> Iterator[Connection]:
    with psycopg.connect(empty_database, autocommit=True) as conn:
        conn.execute(CHINOOK.read_bytes())
        yield conn


def tables(conn: Connection) -> list[str]:
    """The names of the shop's tables."""
    names: list[str] = scalar(
        conn,
        "select array_agg(relname::text order by relname) from pg_class"
        " where relkind = 'r' and relnamespace = 'public'::regnamespace",
    )
    return names


def snapshot(conn: Connection) -> dict[str, list[dict[str, Any]]]:
    """All rows of all tables as JSON, in the order of their text."""
    return {
        table: [
            row
            for (row,) in conn.execute(
                sql.SQL("select to_jsonb(t) from {} t order by to_jsonb(t)::text").format(sql.Identifier(table))
            )
        ]
        for table in tables(conn)
    }


def configuration(conn: Connection) -> Config:
    config = hooks_config("invoice.created")
    config.webhooks.events["invoice.created"] = EventDefinition(description="An invoice was made out")
    config.audit = AuditConfig(tables=[AuditedTable(name=table) for table in tables(conn)])
    return config


class Day:
    """The work of people in the shop; ``changed`` counts the rows that each of them changed and committed."""

    def __init__(self, conn: Connection) -> None:
        self.conn = conn
        self.changed: Counter[tuple[str, str, str]] = Counter()

    def _run(self, actor: str, operation: str, table: str, statement: Any, params: Any = ()) -> int:
        count = self.conn.execute(statement, params).rowcount
        self.changed[actor, operation, f"public.{table}"] += count
        return count

    def sign_up(self, number: int) -> None:
        """A customer signs up."""
        actor = f"customer:{number}"
        with self.conn.transaction(), audit.actor(self.conn, actor):
            self._run(
                actor,
                "INSERT",
                "customer",
                "insert into customer (customer_id, first_name, last_name, email) values (%s, 'New', %s, %s)",
                (number, f"Customer {number}", f"{number}@example.com"),
            )

    def buy(self, invoice: int, customer: int, tracks: list[int]) -> None:
        """A customer buys tracks: the invoice, its lines and the webhook in one transaction."""
        actor = f"customer:{customer}"
        with self.conn.transaction(), audit.actor(self.conn, actor, context={"request_id": f"r-{invoice}"}):
            self._run(
                actor,
                "INSERT",
                "invoice",
                "insert into invoice (invoice_id, customer_id, invoice_date, total) values (%s, %s, now(), 0)",
                (invoice, customer),
            )
            for place, track in enumerate(tracks):
                self._run(
                    actor,
                    "INSERT",
                    "invoice_line",
                    "insert into invoice_line select %s, %s, track_id, unit_price, 1 from track where track_id = %s",
                    (invoice * 100 + place, invoice, track),
                )
            self._run(
                actor,
                "UPDATE",
                "invoice",
                "update invoice set total = (select sum(unit_price) from invoice_line l"
                " where l.invoice_id = invoice.invoice_id) where invoice_id = %s",
                (invoice,),
            )
            total = scalar(self.conn, "select total from invoice where invoice_id = %s", (invoice,))
            webhooks.send(self.conn, "invoice.created", {"id": invoice, "total": str(total)})

    def raise_prices(self) -> None:
        """The manager raises the price of a genre in bulk, and says once more what is so already."""
        with self.conn.transaction(), audit.actor(self.conn, "manager"):
            changed = self._run(
                "manager", "UPDATE", "track", "update track set unit_price = unit_price + 0.10 where genre_id = 1"
            )
            assert changed > 1000
            self.conn.execute("update track set unit_price = unit_price where genre_id = 2")

    def clear_out(self) -> None:
        """Playlists are deleted with what is in them, keys of two columns included."""
        with self.conn.transaction(), audit.actor(self.conn, "janitor"):
            self._run("janitor", "DELETE", "playlist_track", "delete from playlist_track where playlist_id <= 3")
            self._run("janitor", "DELETE", "playlist", "delete from playlist where playlist_id <= 3")

    def change_mind(self) -> None:
        """Somebody deletes all invoices, sends a webhook, and rolls back."""
        with self.conn.transaction(force_rollback=True), audit.actor(self.conn, "vandal"):
            self.conn.execute("delete from invoice_line")
            webhooks.send(self.conn, "invoice.created", {"id": -1})


def have_a_day(conn: Connection) -> Day:
    day = Day(conn)
    for number in (60, 61, 62):
        day.sign_up(number)
    for invoice in range(413, 433):
        day.buy(invoice, 60 + invoice % 3, list(range(invoice, invoice + 5)))
    day.raise_prices()
    day.change_mind()
    day.clear_out()
    return day


def replay(conn: Connection, entries: list[dict[str, Any]]) -> None:
    """Apply the log, entry by entry, to a copy of the starting state."""
    for entry in entries:
        table = entry["table_name"].removeprefix("public.")
        if entry["before_data"] is not None:
            delete, before = DELETE.format(sql.Identifier(table), same_key(conn, table)), Jsonb(entry["before_data"])
            assert conn.execute(delete, (before, before)).rowcount == 1
        if entry["after_data"] is not None:
            conn.execute(INSERT.format(sql.Identifier(table)), (Jsonb(entry["after_data"]),))


DELETE = sql.SQL("delete from {0} t using jsonb_populate_record(null::{0}, %s) r where {1} and to_jsonb(t) = %s")
INSERT = sql.SQL("insert into {0} select * from jsonb_populate_record(null::{0}, %s)")


def same_key(conn: Connection, table: str) -> sql.Composed:
    """That the rows t and r have the same primary key."""
    columns = scalar(
        conn,
        """select array_agg(attname::text) from pg_index i join pg_attribute a on attrelid = indrelid
            where indisprimary and indrelid = %s::regclass and attnum = any (indkey)""",
        (table,),
    )
    return sql.SQL(" and ").join(sql.SQL("t.{0} = r.{0}").format(sql.Identifier(column)) for column in columns)


def test_a_day_of_business_is_on_record_and_every_invoice_is_announced(
    shop: Connection, empty_database: str, database: str
) -> None:
    """One entry a changed row, none of what was rolled back, and the log rebuilds every table."""
    start = snapshot(shop)
    assert sum(len(table) for table in start.values()) == CHINOOK_ROWS
    config = configuration(shop)
    schema.install(shop, config)
    with receiving() as receiver:
        _, secret = endpoint(empty_database, config, receiver.url)
        with working(empty_database, config):
            day = have_a_day(shop)
            wait_until(lambda: len(receiver.requests) >= 20, "every invoice is announced")
            wait_until(
                lambda: {row["status"] for row in rows(empty_database, "webhook_deliveries")} == {"delivered"},
                "every delivery is acknowledged",
            )
    announced = [
        webhooks.assert_webhook_signature(headers=request.headers, body=request.body, secret=secret)["data"]
        for request in receiver.requests
    ]
    entries = [entry for entry in log(shop) if entry["table_name"].startswith("public.")]
    assert_one_entry_a_change(day, entries)
    assert_invoices_are_announced(shop, announced)
    with psycopg.connect(database) as copy:
        copy.execute(CHINOOK.read_bytes())
        for foreign_key in copy.execute(
            "select format('alter table %s drop constraint %I', conrelid::regclass, conname)"
            " from pg_constraint where contype = 'f' and connamespace = 'public'::regnamespace"
        ).fetchall():
            copy.execute(foreign_key[0])
        replay(copy, entries)
        assert snapshot(copy) == snapshot(shop)
        assert snapshot(copy) != start


def assert_one_entry_a_change(day: Day, entries: list[dict[str, Any]]) -> None:
    found = Counter((entry["actor_id"], entry["operation"], entry["table_name"]) for entry in entries)
    for entry in entries:
        assert (entry["before_data"] is None) == (entry["operation"] == "INSERT")
        assert (entry["after_data"] is None) == (entry["operation"] == "DELETE")
    assert found == day.changed


def assert_invoices_are_announced(shop: Connection, announced: list[dict[str, Any]]) -> None:
    made = shop.execute("select invoice_id, total from invoice where invoice_id >= 413 order by 1").fetchall()
    assert sorted((data["id"], Decimal(data["total"])) for data in announced) == made

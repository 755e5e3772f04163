"""Business with triggers and cascades on the Chinook shop: its past equals the copies taken on the way, and returns."""

import os
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, LiteralString

import psycopg
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from psycopg import sql

from svc_pg import Config, audit, schema
from svc_pg.config import AuditConfig, AuditedTable
from svc_pg.database.query import scalar
from tests.support.postgres import new_database

CHINOOK = Path(os.environ.get("SVC_TEST_CHINOOK", Path(__file__).parents[3] / "shared/data/chinook.sql"))

pytestmark = pytest.mark.skipif(not CHINOOK.exists(), reason=f"the Chinook data is not at {CHINOOK}")

Connection = psycopg.Connection[Any]

# Lines change the total of their invoice, and totals what a customer spent. Most of the tracks go, and most of those of
# playlists, so that a copy and the past of a table are cheap.
SHOP: LiteralString = """
delete from playlist_track where playlist_id in (1, 5, 8) or track_id % 4 <> 2;
delete from invoice_line where track_id % 4 <> 2;
delete from track where track_id % 4 <> 2 and track_id > 4;
create table loyalty (customer_id int primary key references customer on delete cascade, spent numeric not null);
insert into loyalty select customer_id, sum(total) from invoice group by customer_id;
create function add_up() returns trigger language plpgsql as $$
begin
    if tg_op <> 'INSERT' then
        update invoice set total = total - old.unit_price * old.quantity where invoice_id = old.invoice_id;
    end if;
    if tg_op <> 'DELETE' then
        update invoice set total = total + new.unit_price * new.quantity where invoice_id = new.invoice_id;
    end if;
    return null;
end $$;
create function reward() returns trigger language plpgsql as $$
begin
    if tg_op <> 'INSERT' then
        update loyalty set spent = spent - old.total where customer_id = old.customer_id;
    end if;
    if tg_op <> 'DELETE' and exists (select from customer c where c.customer_id = new.customer_id) then
        insert into loyalty values (new.customer_id, new.total)
        on conflict (customer_id) do update set spent = loyalty.spent + excluded.spent;
    end if;
    return null;
end $$;
create trigger add_up after insert or update or delete on invoice_line for each row execute function add_up();
create trigger reward after insert or update or delete on invoice for each row execute function reward();
do $$
declare
    v_key record;
begin
    for v_key in select conname, conrelid::regclass as t, pg_get_constraintdef(oid) as definition from pg_constraint
                  where contype = 'f' and connamespace = 'public'::regnamespace and confdeltype = 'a' loop
        execute format('alter table %s drop constraint %I, add constraint %I %s on update cascade on delete %s',
                       v_key.t, v_key.conname, v_key.conname, v_key.definition,
                       case when v_key.definition ~ 'reports_to|support_rep|album_id|genre_id|media_type_id'
                            then 'set null' else 'cascade' end);
    end loop;
end $$;
alter table track alter media_type_id drop not null;
"""

numbers = st.integers(1, 60)
statements = st.one_of(
    st.builds("delete from customer where customer_id = {}".format, numbers),
    st.builds("update customer set email = email || 'x' where customer_id % 7 = {} % 7".format, numbers),
    st.builds(
        "insert into customer (customer_id, first_name, last_name, email)"
        " select max(customer_id) + 1, 'A', 'B', '{}@x' from customer".format,
        numbers,
    ),
    st.builds(
        "with i as (insert into invoice (invoice_id, customer_id, invoice_date, total)"
        " select (select max(invoice_id) + 1 from invoice), min(customer_id), now(), 0 from customer"
        " where customer_id >= {0} having count(*) > 0 returning invoice_id)"
        " insert into invoice_line select (select max(invoice_line_id) from invoice_line) + track_id, i.invoice_id,"
        " track_id, unit_price, 1 from track, i where track_id <= {0} % 5".format,
        numbers,
    ),
    st.builds("update invoice_line set quantity = quantity + 1 where invoice_id % 61 = {}".format, numbers),
    st.builds("delete from invoice_line where invoice_id % 61 = {}".format, numbers),
    st.builds(
        "update invoice_line l set invoice_id = (select max(invoice_id) from invoice where invoice_id <> l.invoice_id)"
        " where invoice_line_id = (select min(invoice_line_id) from invoice_line where invoice_line_id >= {}0)".format,
        numbers,
    ),
    st.builds("delete from employee where employee_id = {} % 9".format, numbers),
    st.builds("update employee set employee_id = employee_id + 100 where employee_id % 3 = {} % 3".format, numbers),
    st.builds("delete from playlist where playlist_id = {} % 19".format, numbers),
    st.builds("update playlist_track set playlist_id = 3 where playlist_id = 2 + {} % 10".format, numbers),
    st.builds("update track set unit_price = unit_price + 0.10 where genre_id = {} % 25".format, numbers),
    st.builds("delete from genre where genre_id = {} % 25".format, numbers),
    st.builds("update artist set name = name || '{}' where artist_id % 100 = {} % 100".format, numbers, numbers),
)
REFUSED = (psycopg.errors.UniqueViolation, psycopg.errors.TriggeredDataChangeViolation)


@pytest.fixture(scope="module")
def shop(postgres: str, template: str) -> Iterator[Connection]:
    with new_database(postgres, template=template) as conninfo, psycopg.connect(conninfo, autocommit=True) as conn:
        conn.execute(CHINOOK.read_bytes())
        conn.execute(SHOP)
        config = Config(audit=AuditConfig(tables=[AuditedTable(name=table) for table in tables(conn)]))
        schema.install(conn, config)
        schema.backfill(conn, config)
        conn.execute("create schema copies; analyze; set statement_timeout = '60s'")
        yield conn


def tables(conn: Connection) -> list[str]:
    names: list[str] = scalar(
        conn,
        "select array_agg(relname::text order by relname) from pg_class"
        " where relkind = 'r' and relnamespace = 'public'::regnamespace",
    )
    return names


def copied(conn: Connection, number: int) -> datetime:
    """Copy all tables; return the time of the copy."""
    for table in tables(conn):
        conn.execute(
            sql.SQL("drop table if exists {0}; create table {0} as table {1}").format(
                sql.Identifier("copies", f"{table}_{number}"), sql.Identifier(table)
            )
        )
    time: datetime = scalar(conn, "select clock_timestamp()")
    return time


def differing(conn: Connection, number: int, time: datetime | None) -> list[str]:
    """The tables of which the rows as of a time, or those of now, are not those of the copy."""
    found = []
    for table in tables(conn):
        columns = sql.SQL(", ").join(
            sql.Identifier(column)
            for (column,) in conn.execute(
                "select attname from pg_attribute where attrelid = %s::regclass and attnum > 0 and not attisdropped",
                (table,),
            )
        )
        rows = (
            sql.Identifier(table)
            if time is None
            else sql.SQL("{}({})").format(sql.Identifier("svc", f"as_of_public_{table}"), sql.Literal(time))
        )
        copy = sql.Identifier("copies", f"{table}_{number}")
        query = sql.SQL(
            "select count(*) from (select from (select 1 as side, {0} from {1} union all select -1, {0} from {2}) r"
            " group by {0} having sum(side) <> 0) d"
        )  # reads each side once, which "except all" both ways does not
        if conn.execute(query.format(columns, rows, copy)).fetchone() != (0,):
            found.append(table)
    return found


@settings(max_examples=4, phases=[Phase.explicit, Phase.generate])  # a failure leaves the shop changed
@given(transactions=st.lists(st.lists(statements, min_size=1, max_size=3), min_size=9, max_size=9))
def test_the_past_equals_its_copies_and_every_transaction_can_be_taken_back(
    shop: Connection, transactions: list[list[str]]
) -> None:
    times, numbers = [copied(shop, 0)], []
    for count, steps in enumerate(transactions, start=1):
        try:
            with shop.transaction():
                for statement in steps:
                    shop.execute(statement.encode())
                numbers.append(scalar(shop, "select txid_current()"))
        except REFUSED:
            numbers.append(None)
        times.append(copied(shop, count))
    for count, time in enumerate(times):
        assert differing(shop, count, time) == [], count
    for count in reversed(range(len(transactions))):
        number = numbers[count]
        if number is not None and audit.transaction(number).limit(1).list(shop).data:
            shop.execute(audit.revert(shop, transaction=number).encode())
        assert differing(shop, count, None) == [], (count, transactions[count])

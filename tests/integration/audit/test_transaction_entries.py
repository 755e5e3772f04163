"""The entries of a transaction are found without reading all of them, in whatever order they stand in the log."""

from collections.abc import Iterator
from functools import partial
from typing import Any, Final, LiteralString

import psycopg
import pytest

from svc_pg import audit
from svc_pg.database.pagination import encode
from tests.support.long_log import STATES, Statistics, know, pages
from tests.support.postgres import Prepare
from tests.support.tables import audited, create_and_audit

ENTRIES: Final = 5_000
SHAPES: Final[dict[int, LiteralString]] = {  # by the number of the transaction, the time of its entry n
    101: "n * interval '1 ms'",
    102: "- n * interval '1 ms'",  # last things first, as no server writes them
    103: "hashtext(n::text) * interval '1 ms'",
    104: "n * interval '2 h'",
    105: "n / 700 * interval '1 min'",  # many of one time
    106: "interval '0'",
    107: "case when n < 2500 then n else n - 3000 end * interval '1 s'",  # the clock was put back
    108: "n * n * interval '1 ms'",
    109: "case when n = 5000 then interval '1 y' else n * interval '1 us' end",
    110: "case when n = 1 then interval '-1 y' else n * interval '1 us' end",
}
LARGE: Final = 200
WIDE: Final[LiteralString] = """
insert into svc.audit_logs ("timestamp", xact_id, table_name, table_oid, operation, description)
select timestamptz '2026-07-15' + n * interval '1 ms', case when n % 7 = 0 then 1000 + n else 200 end, 'public.t', 0,
       'UPDATE', repeat('x', 350)
  from generate_series(1, 70000) n
"""
FILL: Final[LiteralString] = """
insert into svc.audit_logs ("timestamp", xact_id, table_name, table_oid, operation)
select timestamptz '2026-06-15' + case x when 100 then n * interval '1 s' {cases} end, x, 'public.t', 0, 'UPDATE'
  from generate_series(1, %(entries)s) n cross join generate_series(100, 110) x
 order by case when n %% 3 = 0 then n else x * 10000 + n end
"""


@pytest.fixture(scope="module")
def prepare() -> Prepare:
    def fill(conninfo: str) -> None:
        create_and_audit(conninfo, "create table t (id int primary key)", audited("t"))
        cases = " ".join(f"when {number} then {time}" for number, time in SHAPES.items())
        with psycopg.connect(conninfo, autocommit=True) as conn:
            conn.execute(FILL.replace("{cases}", cases).encode(), {"entries": ENTRIES})
            conn.execute("analyze")
            conn.execute(WIDE)
            conn.execute("select brin_summarize_new_values(indexrelid) from pg_index where indrelid in"
                         " (select inhrelid from pg_inherits where inhparent = 'svc.audit_logs'::regclass)"
                         " and indexrelid in (select c.oid from pg_class c join pg_am m on m.oid = c.relam"
                         " where m.amname = 'brin')")  # fmt: skip

    return fill


@pytest.fixture
def conn(database: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(database, autocommit=True) as conn:
        yield conn


def ids_of(conn: psycopg.Connection[Any], number: int) -> list[str]:
    rows = conn.execute(
        'select l.id::text from svc.audit_logs l where xact_id = %s order by l."timestamp", l.id', (number,)
    )
    return [entry_id for (entry_id,) in rows]


@pytest.mark.parametrize("number", SHAPES)
def test_pages_of_a_transaction_have_each_entry_once_in_order(conn: psycopg.Connection[Any], number: int) -> None:
    ids = ids_of(conn, number)
    assert len(ids) == ENTRIES
    for size in (7, 1000):
        found: list[str] = []
        page = audit.transaction(number).limit(size).list(conn)
        found += [entry.id for entry in page]
        while page.next_cursor is not None and len(found) < 20 * size:
            page = audit.transaction(number).limit(size).after(page.next_cursor).list(conn)
            found += [entry.id for entry in page]
        assert found == ids[: len(found)]
        assert len(found) >= 140
        page = audit.transaction(number).limit(size).before(encode(("2999-01-01T00:00:00+00:00", "1"))).list(conn)
        found = [entry.id for entry in page]
        while page.prev_cursor is not None and len(found) < 20 * size:
            page = audit.transaction(number).limit(size).before(page.prev_cursor).list(conn)
            found = [*(entry.id for entry in page), *found]
        assert found == ids[len(ids) - len(found) :]


def test_the_times_of_transactions_are_those_of_their_first_and_last_entries(conn: psycopg.Connection[Any]) -> None:
    for first, before in [*((number, number + 1) for number in SHAPES), (100, 111), (101, 104), (500, 600)]:
        found = conn.execute("select first, last from svc.audit_transaction_times(%s, %s)", (first, before)).fetchall()
        assert (
            found
            == conn.execute(
                'select min("timestamp"), max("timestamp") from svc.audit_logs where xact_id >= %s and xact_id < %s',
                (first, before),
            ).fetchall()
        ), (first, before)


def test_the_entries_of_a_list_of_a_transaction_are_the_same(conn: psycopg.Connection[Any]) -> None:
    for number in (103, 107):
        query = audit.query().transactions(since=number, before=number + 1).order("oldest").limit(1000)
        page = query.list(conn)
        found = [entry.id for entry in page]
        while page.next_cursor is not None:
            page = query.after(page.next_cursor).list(conn)
            found += [entry.id for entry in page]
        assert found == ids_of(conn, number)


@pytest.mark.parametrize("state", STATES)
def test_a_page_of_a_transaction_reads_few_of_its_entries(conn: psycopg.Connection[Any], state: Statistics) -> None:
    know(conn, state)  # the pages of its 60,000 entries are 4,000
    large = audit.transaction(LARGE).limit(50)
    first = large.list(conn)
    assert first.next_cursor is not None
    end = large.before(encode(("2999-01-01T00:00:00+00:00", "1")))
    listed = audit.query().transactions(since=LARGE, before=LARGE + 1).limit(50)
    for query in (large, large.after(first.next_cursor), end, listed, listed.order("oldest")):
        assert len(query.list(conn).data) == 50
        assert pages(conn, partial(query.list, conn)) < 1_700, query


def test_a_number_that_no_transaction_has_is_an_empty_page(conn: psycopg.Connection[Any]) -> None:
    page = audit.transaction(99).list(conn)
    assert (page.data, page.next_cursor, page.prev_cursor) == ([], None, None)

"""What is read of a long log has a bound, whatever the statistics of the planner say, and if there are none."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any, Final

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from svc_pg import audit
from tests.support.long_log import HOT, STATES, fill, know, pages
from tests.support.postgres import new_database

Connection = psycopg.Connection[Any]

ENTRIES: Final = 200_000


@pytest.fixture(scope="module")
def filled(postgres: str, template: str) -> Iterator[str]:
    with new_database(postgres, template=template) as conninfo:
        with psycopg.connect(conninfo, autocommit=True) as conn:
            fill(conn, ENTRIES)
        yield conninfo_to_dict(conninfo)["dbname"]


@pytest.fixture(scope="module", params=STATES)
def conn(request: pytest.FixtureRequest, postgres: str, filled: str) -> Iterator[Connection]:
    with new_database(postgres, template=filled) as conninfo, psycopg.connect(conninfo, autocommit=True) as conn:
        know(conn, request.param)
        yield conn


def test_a_page_of_rows_as_of_a_time_costs_a_probe_a_record_wherever_it_begins(conn: Connection) -> None:
    past = audit.as_of("t", timedelta(days=30)).limit(50)
    first = past.list(conn)
    assert len(first.data) == 50
    assert first.next_cursor is not None
    middle = past.after(first.next_cursor).list(conn)
    assert middle.next_cursor is not None
    assert middle.prev_cursor is not None
    for query in (past, past.after(middle.next_cursor), past.before(middle.prev_cursor)):
        assert pages(conn, lambda query=query: query.list(conn)) < 20_000
    assert past.before(middle.prev_cursor).list(conn).data == first.data


def test_a_record_as_of_a_time_is_one_probe_however_many_entries_it_has(conn: Connection) -> None:
    for days in (10, 60, 230):
        past = audit.as_of("t", timedelta(days=days)).record(HOT)
        assert len(past.list(conn).data) == 1
        assert pages(conn, lambda past=past: past.list(conn)) < 1_000


def test_the_origins_of_the_fields_of_a_record_cost_what_lies_after_them(conn: Connection) -> None:
    with conn.transaction(force_rollback=True):
        conn.execute(
            "insert into svc.audit_logs (table_name, table_oid, operation, record_id, before_data, after_data,"
            " changed_fields) select 'public.t', 0, 'UPDATE', '1', jsonb_build_object('id', 1, 'a', n),"
            " jsonb_build_object('id', 1, 'a', n + 1), array['a', 'id'] from generate_series(1, 3) n"
        )
        assert {origin.operation for origin in audit.blame(conn, "t", HOT)} == {"UPDATE"}
        assert pages(conn, lambda: audit.blame(conn, "t", HOT)) < 2_000
    assert pages(conn, lambda: audit.blame(conn, "t", HOT)) < 100_000  # to the beginning, of 60,000 entries

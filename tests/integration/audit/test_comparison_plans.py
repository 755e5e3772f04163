"""A comparison with the log costs a few pages a row, whatever the statistics say, and the silences a few pages."""

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from svc_pg.audit.past.silences import silences
from svc_pg.capture.postgres.catalog import read_tables
from svc_pg.capture.postgres.comparing import SETTINGS, Comparison
from svc_pg.capture.postgres.log_stretches import LOG_BOUNDS
from svc_pg.capture.rules import rules_for
from svc_pg.config import AuditedTable
from svc_pg.database.query import fetch_one
from svc_pg.database.table_names import TableName
from tests.support.long_log import STATES, fill, know, pages
from tests.support.postgres import new_database

Connection = psycopg.Connection[Any]

NAME = TableName("public", "t")
ROWS = 100


@pytest.fixture(scope="module")
def filled(postgres: str, template: str) -> Iterator[str]:
    with new_database(postgres, template=template) as conninfo:
        with psycopg.connect(conninfo, autocommit=True) as conn:
            fill(conn, 6_000)
            conn.execute("set session_replication_role = replica")
            conn.execute("insert into t select n, 1 from generate_series(1000001, 1000000 + %s) n", [ROWS])
        yield str(conninfo_to_dict(conninfo)["dbname"])


@pytest.fixture(scope="module", params=STATES)
def conn(request: pytest.FixtureRequest, postgres: str, filled: str) -> Iterator[Connection]:
    with new_database(postgres, template=filled) as conninfo, psycopg.connect(conninfo, autocommit=True) as conn:
        know(conn, request.param)
        yield conn


def comparison(conn: Connection) -> Comparison:
    rules = rules_for(read_tables(conn, [NAME])[NAME], AuditedTable(name="t"))
    stretches = fetch_one(conn, LOG_BOUNDS).stretches()
    return Comparison.of(rules, "reconciliation", has_plain_key=True, stretches=stretches)


def cost(conn: Connection, text: str) -> int:
    """The pages of the log that the statement touches, with the settings of a comparison."""

    def call() -> None:
        with conn.transaction(force_rollback=True):
            conn.execute(SETTINGS, prepare=False)
            conn.execute("set local search_path = pg_catalog, pg_temp")
            conn.execute(text.encode(), prepare=False)

    return pages(conn, call)


def test_a_row_is_looked_up_by_its_record_alone(conn: Connection) -> None:
    assert cost(conn, comparison(conn).rows(NAME, None, "report", most=0)) < 30 * ROWS


def test_silences_are_found_among_the_entries_about_no_record(conn: Connection) -> None:
    assert pages(conn, lambda: silences(conn, "t")) < 100

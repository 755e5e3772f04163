"""Installs: a second one changes nothing, and the work of the first one is in proportion to the tables."""

import time
from collections.abc import Iterator
from typing import Final

import psycopg
from psycopg.conninfo import conninfo_to_dict

from svc_pg import Config, schema
from tests.benchmarks.installing import every_table, make_tables
from tests.proof.scale.measuring import Checked, Connection, Counter, flush
from tests.proof.scale.sizes import CONFIG
from tests.proof.scale.stage import Stage
from tests.support.postgres import new_database
from tests.support.traffic import counting

_STATEMENTS: Final = 30
"""The most of an install that changes nothing, or of a status, whatever the number of tables."""
_STATEMENTS_OF_A_TABLE: Final = 15
_LEAST_TABLES: Final = 50
_LINEAR: Final = 2.4
"""The most that twice as many tables more may cost, times: 2 if the cost is in proportion to them."""


def installs(stage: Stage) -> Iterator[Checked]:
    """Those of this database, and of three new ones with a twentieth of its tables and more."""
    with psycopg.connect(stage.conninfo) as conn:
        planned = schema.plan(conn, CONFIG)
        yield Checked("statements that a second install would execute", "statements", len(planned), 0, 0)
        for name, step in (("second install", schema.install), ("status", schema.status)):
            began = time.monotonic()
            with counting(conn) as traffic:
                step(conn, CONFIG)
            milliseconds = (time.monotonic() - began) * 1000
            conn.rollback()
            yield Checked(name, "statements", traffic.statements, _STATEMENTS, milliseconds)
    smallest = max(stage.sizes.tables // 20, _LEAST_TABLES)
    (_, one, _), (_, two, _), (statements, four, milliseconds) = (
        _first(stage, tables) for tables in (smallest, 2 * smallest, 4 * smallest)
    )
    detail = f"{smallest}, {2 * smallest} and {4 * smallest} tables: {one:,.0f}, {two:,.0f} and {four:,.0f} pages"
    growth = round((four - two) / max(two - one, 1), 2)
    yield Checked("pages of a first install for twice as many more tables", "times", growth, _LINEAR, 0, detail)
    name = f"first install of {4 * smallest} tables"
    bound = _STATEMENTS + _STATEMENTS_OF_A_TABLE * 4 * smallest
    yield Checked(name, "statements", statements, bound, milliseconds)


def _first(stage: Stage, tables: int) -> tuple[float, float, float]:
    """The statements, the pages and the milliseconds of a first install of an audit trail, beyond schema svc."""
    with new_database(stage.server) as conninfo, psycopg.connect(stage.server, autocommit=True) as monitor:
        counter = Counter(monitor, str(conninfo_to_dict(conninfo)["dbname"]))
        with psycopg.connect(conninfo) as conn:
            schema.install(conn, Config())
            make_tables(conn, tables)
            _told(conn)
            before = counter.touched()
            began = time.monotonic()
            with counting(conn) as traffic:
                schema.install(conn, every_table())
            milliseconds = (time.monotonic() - began) * 1000
            _told(conn)
            return traffic.statements, counter.touched() - before, milliseconds


def _told(conn: Connection) -> None:
    flush(conn)
    conn.commit()

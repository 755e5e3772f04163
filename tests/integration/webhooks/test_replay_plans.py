"""A preview of a replay reads a batch, whatever the planner knows of an endpoint with nearly all deliveries."""

from collections.abc import Iterator
from typing import Any, Final

import psycopg
import pytest

from svc_pg.webhooks.deliveries import replay
from svc_pg.webhooks.deliveries.replay_queries import ReplayBy
from tests.benchmarks.week import Week
from tests.support.long_log import STATES, know, pages
from tests.support.postgres import new_database

DELIVERIES: Final = 20_000
OF_A_ROW: Final = 20
"""The most pages for each delivery that a batch looks at."""


@pytest.fixture(scope="module", params=STATES)
def conn(request: pytest.FixtureRequest, postgres: str, template: str) -> Iterator[psycopg.Connection[Any]]:
    week = Week(DELIVERIES, have_all_tenants=True, busy_tenths=9)
    with new_database(postgres, template=template) as conninfo, psycopg.connect(conninfo, autocommit=True) as conn:
        week.grow(conn, parts=100)
        know(conn, request.param)
        yield conn


@pytest.mark.parametrize(("by", "looked_at"), [("sent", 10_000), ("finished", 600)])
def test_a_preview_reads_a_batch(conn: psycopg.Connection[Any], by: ReplayBy, looked_at: int) -> None:
    endpoint = conn.execute("select id::text from svc.webhook_endpoints where description = 'Partner 1'").fetchall()[0][
        0
    ]
    counted: list[int] = []

    def look() -> None:
        counted.append(replay(conn, endpoint, since="8d", by=by, dry_run=True).count)

    assert pages(conn, look) < OF_A_ROW * looked_at
    assert min(counted) > looked_at // 2

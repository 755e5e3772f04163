from typing import Any

import psycopg
import pytest

from svc_pg import audit
from svc_pg.capture.postgres.own_tables import OWN_TABLES
from svc_pg.capture.table import Table
from svc_pg.database.query import scalar
from tests.support.hooks import endpoint, hooks_config
from tests.support.tables import log


@pytest.mark.parametrize("table", [table for table, _ in OWN_TABLES])
def test_what_is_written_down_of_a_table_is_what_the_catalog_says(conn: psycopg.Connection[Any], table: Table) -> None:
    columns = scalar(
        conn,
        """select array_agg(attname::text order by attnum) from pg_attribute
            where attrelid = %s::regclass and attnum > 0 and not attisdropped""",
        (str(table.name),),
    )
    assert columns == table.columns


def test_endpoints_are_audited_without_their_secrets(database: str) -> None:
    endpoint_id, secret = endpoint(database, hooks_config("order.created"), "http://127.0.0.1:9/hook")
    with psycopg.connect(database) as conn, audit.actor(conn, "alice"):
        conn.execute("update svc.webhook_endpoints set status = 'paused'")
        created, paused = log(conn)
    assert (created["table_name"], created["operation"]) == ("svc.webhook_endpoints", "INSERT")
    assert (paused["record_id"], paused["actor_id"], paused["changed_fields"]) == (endpoint_id, "alice", ["status"])
    assert not {"secret", "previous_secret", "headers"} & paused["after_data"].keys()
    assert secret not in str([created, paused])


def test_the_state_that_workers_write_is_not_audited(database: str) -> None:
    endpoint(database, hooks_config("order.created"), "http://127.0.0.1:9/hook")
    with psycopg.connect(database) as conn:
        conn.execute("update svc.webhook_endpoint_state set last_success_at = now()")
        assert len(log(conn)) == 1

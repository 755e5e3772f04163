"""Through a view, the usual conditions find the indexes and prune the partitions that they find on its tables."""

from collections.abc import Iterator
from datetime import UTC, date, datetime
from typing import Any, Final, LiteralString

import psycopg
import pytest

from svc_pg import schema
from svc_pg.database.query import scalar
from tests.support.postgres import new_database
from tests.support.queue import add_delivered, add_due, add_endpoints
from tests.support.tables import audited

Connection = psycopg.Connection[Any]

PARTITIONS: Final = 12
MARCH: Final = (datetime(2020, 3, 1, tzinfo=UTC), datetime(2020, 3, 8, tzinfo=UTC))


@pytest.fixture(scope="module")
def conn(postgres: str, template: str) -> Iterator[Connection]:
    """60,000 entries of 20 tables and 50 actors in six months of 2020; 50 endpoints and 21,000 deliveries."""
    with new_database(postgres, template=template) as conninfo, psycopg.connect(conninfo, autocommit=True) as conn:
        conn.execute(
            """insert into svc.audit_logs ("timestamp", xact_id, table_name, table_oid, operation, record_id, actor_id,
                                           before_data, after_data, changed_fields)
               select timestamptz '2020-01-01Z' + n * interval '260 s', n, 'public.t' || n % 20, 0, 'UPDATE',
                      (n % 1000)::text, 'actor ' || n % 50, '{"a": 1}', '{"a": 2}', '{a}'
                 from generate_series(0, 59999) n"""
        )
        conn.execute("select svc.audit_ensure_partitions()")
        conn.execute("create table t7 (id int primary key, a int)")
        config = audited("t7")
        config.audit.indexes = ["actor"]
        schema.install(conn, config)
        endpoints = add_endpoints(conn, 50)
        add_delivered(conn, 20_000)
        add_due(conn, endpoints, 20)
        conn.execute("vacuum analyze")
        yield conn


def executed(conn: Connection, text: LiteralString, *params: Any) -> list[dict[str, Any]]:
    """The nodes of the plan that were executed: what is pruned when the statement runs is left out."""
    [explained] = scalar(conn, "explain (analyze, timing off, format json) " + text, params)

    def nodes(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
        if node["Actual Loops"]:
            yield node
            for each in node.get("Plans", []):
                yield from nodes(each)

    return list(nodes(explained["Plan"]))


def scanned(nodes: list[dict[str, Any]]) -> set[str]:
    """The tables that were read from their beginning to their end, and hold more than a page or two."""
    whole = [node for node in nodes if node["Node Type"] == "Seq Scan"]
    return {node["Relation Name"] for node in whole if rows(node) > 100}


def rows(node: dict[str, Any]) -> float:
    """The number of rows that a node read."""
    return float(node["Actual Rows"] + node.get("Rows Removed by Filter", 0)) * int(node["Actual Loops"])


def read(nodes: list[dict[str, Any]]) -> set[str]:
    """The partitions of 2020 of which rows were read."""
    tables = {node["Relation Name"] for node in nodes if node.get("Actual Rows") and "Relation Name" in node}
    return {table for table in tables if table.startswith("audit_logs_2020")}


def rows_of_the_log(nodes: list[dict[str, Any]], partitions: str = "audit_logs") -> float:
    return sum(rows(node) for node in nodes if node.get("Relation Name", "").startswith(partitions))


def indexes(nodes: list[dict[str, Any]]) -> list[str]:
    """The indexes in which something was found: an empty partition takes any."""
    return [node["Index Name"] for node in nodes if "Index Name" in node and node["Actual Rows"]]


LOG: Final[list[tuple[LiteralString, LiteralString, LiteralString, LiteralString, LiteralString, LiteralString]]] = [
    ("audit_log_export", "recorded_at", "entry_id", '"tableName"', '"recordId"', '"actorId"'),
    ("audit_changes", '"timestamp"', "entry_id", "table_name", "record_id", "actor_id"),
]


@pytest.mark.parametrize(("view", "time"), [row[:2] for row in LOG])
def test_a_range_of_time_reads_its_month_only(conn: Connection, view: LiteralString, time: LiteralString) -> None:
    text = "select * from svc." + view + " where " + time + " >= %s and " + time + " < %s"
    assert read(executed(conn, text, *MARCH)) == {"audit_logs_2020_03"}
    for_months = "select count(*) from svc." + view + " where " + time + " >= %s"
    assert read(executed(conn, for_months, datetime(2020, 5, 1, tzinfo=UTC))) == {
        "audit_logs_2020_05", "audit_logs_2020_06"
    }  # fmt: skip


@pytest.mark.parametrize(("view", "table", "record"), [(row[0], row[3], row[4]) for row in LOG])
def test_a_record_is_found_by_the_index(
    conn: Connection, view: LiteralString, table: LiteralString, record: LiteralString
) -> None:
    nodes = executed(conn, "select * from svc." + view + " where " + table + " = 'public.t7' and " + record + " = '7'")
    assert scanned(nodes) == set()
    assert (len(indexes(nodes)), len(read(nodes))) == (6, 6)
    assert all("_record_id_" in index for index in indexes(nodes))


@pytest.mark.parametrize(("view", "time", "table"), [(row[0], row[1], row[3]) for row in LOG])
def test_a_table_and_a_range_of_time_are_found_by_the_index(
    conn: Connection, view: LiteralString, time: LiteralString, table: LiteralString
) -> None:
    text = (
        "select * from svc." + view + " where " + table + " = 'public.t7' and " + time + " >= %s and " + time + " < %s"
    )
    nodes = executed(conn, text, *MARCH)
    assert (scanned(nodes), read(nodes)) == (set(), {"audit_logs_2020_03"})


@pytest.mark.parametrize(("view", "time", "actor"), [(row[0], row[1], row[5]) for row in LOG])
def test_an_actor_and_a_range_of_time_are_found_by_the_index(
    conn: Connection, view: LiteralString, time: LiteralString, actor: LiteralString
) -> None:
    text = "select * from svc." + view + " where " + actor + " = 'actor 7' and " + time + " >= %s and " + time + " < %s"
    nodes = executed(conn, text, *MARCH)
    assert (scanned(nodes), read(nodes)) == (set(), {"audit_logs_2020_03"})
    assert len(indexes(nodes)) == 1
    assert indexes(nodes)[0].endswith("_actor")


@pytest.mark.parametrize(("view", "key"), [(row[0], row[2]) for row in LOG])
def test_an_entry_is_found_by_its_id(conn: Connection, view: LiteralString, key: LiteralString) -> None:
    entry = scalar(conn, "select min(id) + 30000 from svc.audit_logs")
    nodes = executed(conn, "select * from svc." + view + " where " + key + " = %s", entry)
    assert (scanned(nodes), len(read(nodes))) == (set(), 1)


def test_the_last_entries_are_read_from_the_end(conn: Connection) -> None:
    nodes = executed(conn, "select * from svc.audit_log_export order by recorded_at desc, entry_id desc limit 10")
    assert scanned(nodes) == set()
    assert rows_of_the_log(nodes) <= 10 + PARTITIONS  # the last one of each, and ten
    assert not [node for node in nodes if node["Node Type"] == "Sort"]


@pytest.mark.parametrize(
    "condition", ["true", "table_name = 'public.t7'", "actor_id = 'actor 7'", "operation = 'UPDATE' and entries > 1"]
)
def test_the_activity_of_days_reads_their_month_only(conn: Connection, condition: LiteralString) -> None:
    text = "select * from svc.audit_activity_daily where day between %s and %s and " + condition
    nodes = executed(conn, text, date(2020, 3, 1), date(2020, 3, 7))
    # what was written in these days, and the first and the last of each partition for the span of the log
    assert rows_of_the_log(nodes) <= 7 * 333 + 2 * PARTITIONS
    assert (scanned(nodes), "audit_logs_2020_03" in read(nodes)) == (set(), True)


def test_a_delivery_is_found_by_its_id(conn: Connection) -> None:
    key = scalar(conn, "select id from svc.webhook_deliveries offset 300 limit 1")
    nodes = executed(conn, "select * from svc.webhook_delivery_export where id = %s", key)
    assert (scanned(nodes), indexes(nodes)) == (set(), ["webhook_deliveries_pkey"])


def test_the_deliveries_of_a_time_are_found_by_their_ids(conn: Connection) -> None:
    last = scalar(conn, "select max(created_at) from svc.webhook_deliveries")
    text: LiteralString = "select * from svc.webhook_delivery_export where id >= svc.uuid7_at(%s::timestamptz)"
    nodes = executed(conn, text, last)
    assert (scanned(nodes), indexes(nodes)) == (set(), ["webhook_deliveries_pkey"])
    # the last 1,000, and those before them whose ids are of the same millisecond
    assert 0 < sum(map(rows, nodes)) <= 2000


def test_the_deliveries_of_an_endpoint_are_found_by_the_index(conn: Connection) -> None:
    key = scalar(conn, "select id from svc.webhook_endpoints limit 1")
    nodes = executed(conn, 'select * from svc.webhook_delivery_export where "endpointId" = %s', key)
    assert (scanned(nodes), indexes(nodes)) == (set(), ["webhook_deliveries_list"])
    nodes = executed(
        conn, "select * from svc.webhook_delivery_export where \"endpointId\" = %s and failure = 'failed'", key
    )
    assert scanned(nodes) == set()
    assert sum(map(rows, nodes)) == 0  # none has failed, and an index knows


def test_the_health_of_endpoints_reads_no_finished_delivery(conn: Connection) -> None:
    nodes = executed(conn, "select * from svc.webhook_endpoint_health")
    assert not {"webhook_deliveries", "webhook_queue", "webhook_leases"} & scanned(nodes)
    assert set(indexes(nodes)) <= {"webhook_queue_pkey", "webhook_endpoints_pkey", "webhook_endpoint_state_pkey"}
    of_queue = [node for node in nodes if node.get("Relation Name") in ("webhook_queue", "webhook_leases")]
    assert sum(map(rows, of_queue)) <= 50


def test_the_history_of_a_table_in_a_range_of_time_reads_its_month_by_the_index(conn: Connection) -> None:
    text: LiteralString = "select * from svc.history_public_t7 where valid_from >= %s and valid_from < %s"
    nodes = executed(conn, text, *MARCH)
    assert (scanned(nodes), read(nodes)) == (set(), {"audit_logs_2020_03"})
    assert rows_of_the_log(nodes) <= 3 * 117  # a place, its entry, and what an index finds at its edges


def test_the_states_of_a_record_are_found_by_the_index(conn: Connection) -> None:
    nodes = executed(conn, "select * from svc.history_public_t7 where record_id = '7'")
    assert scanned(nodes) == set()
    assert rows_of_the_log(nodes, "audit_logs_2020") <= 2 * 60  # this month's is one page
    nodes = executed(conn, "select * from svc.as_of_public_t7(%s, '7')", MARCH[0])
    assert scanned(nodes) == set()
    assert rows_of_the_log(nodes, "audit_logs_2020") <= 2 * 60  # this month's is one page


def test_conditions_on_rows_as_of_a_time_reach_the_log(conn: Connection) -> None:
    text: LiteralString = "select past.a, t.a from svc.as_of_public_t7(%s) past left join t7 t using (id) where id = 7"
    nodes = executed(conn, text, MARCH[0])
    assert "as_of_public_t7" not in {node.get("Function Name") for node in nodes}
    nodes = executed(conn, "select * from svc.as_of_public_t7(%s) where record_id = '7' collate \"C\"", MARCH[0])
    assert scanned(nodes) == set()

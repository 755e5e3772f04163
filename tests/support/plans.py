"""Count the rows that a statement reads, by EXPLAIN."""

from typing import Any

import psycopg

from svc_pg.database.query import Query


def rows_read(conn: psycopg.Connection[Any], query: Query[Any], *tables: str) -> int:
    """The number of rows of these tables that a statement reads, parallel workers included."""
    [(plan,)] = conn.execute(f"explain (analyze, format json, timing off) {query.text}".encode(), query.params or None)
    return sum(
        (node["Actual Rows"] + node.get("Rows Removed by Filter", 0)) * node["Actual Loops"]
        for node in _nodes(plan[0]["Plan"])
        if node.get("Relation Name") in tables
    )


def _nodes(plan: dict[str, Any]) -> list[dict[str, Any]]:
    return [plan, *(node for child in plan.get("Plans", []) for node in _nodes(child))]

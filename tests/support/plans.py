"""Count the rows that a statement reads, by EXPLAIN or by the counters of its transaction."""

import json
from typing import Any, ClassVar, Self

import psycopg

from svc_pg.database.effects import Effects
from svc_pg.database.pagination import Listing
from svc_pg.database.performing import ByIndexes
from svc_pg.database.query import Query


def rows_read(conn: psycopg.Connection[Any], query: Query[Any], *tables: str) -> int:
    """The number of rows of these tables that a statement reads, parallel workers included."""
    [(plan,)] = conn.execute(f"explain (analyze, format json, timing off) {query.text}".encode(), query.params or None)
    return sum(
        (node["Actual Rows"] + node.get("Rows Removed by Filter", 0)) * node["Actual Loops"]
        for node in _nodes(plan[0]["Plan"])
        if node.get("Relation Name") in tables
    )


def page_query(wanted: Listing[Any]) -> Query[Any]:
    """The statement of a page of a list that has one alone; it runs within ``by_indexes``."""
    return first_query(wanted.page())


def first_query(effects: Effects[Any]) -> Query[Any]:
    """The first statement of effects; it runs within ``by_indexes``."""
    effect: object = next(effects)
    query = effect.effect if isinstance(effect, ByIndexes) else effect
    assert isinstance(query, Query)
    return query


class WorkCursor(psycopg.Cursor[Any]):
    """A cursor whose queries are also explained; ``work`` has the rows that went through the nodes of their plans."""

    work: ClassVar[list[int]] = []

    def execute(self, query: Any, params: Any = None, **options: Any) -> Self:
        """Execute the query; explain it first if it only reads."""
        text = query.encode() if isinstance(query, str) else query
        if isinstance(text, bytes) and text.lstrip().startswith((b"select", b"with", b"-- Every object")):
            explain = b"explain (analyze, format json, timing off) " + text
            super().execute(explain, params, **options)
            # a row factory of the caller's would not know the column
            result = self.pgresult
            plan = json.loads(result.get_value(0, 0) or b"[]") if result else []
            self.work.append(sum(map(_rows_through, _nodes(plan[0]["Plan"]))))
        return super().execute(query, params, **options)


class RawWorkCursor(psycopg.RawCursor[Any], WorkCursor):
    """The same, with parameters as PostgreSQL writes them."""


def _rows_through(node: dict[str, Any]) -> int:
    removed = sum(rows for name, rows in node.items() if name.startswith("Rows Removed by"))
    number: int = round((node["Actual Rows"] + removed) * node["Actual Loops"])
    return number


def _nodes(plan: dict[str, Any]) -> list[dict[str, Any]]:
    return [plan, *(node for child in plan.get("Plans", []) for node in _nodes(child))]

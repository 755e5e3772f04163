"""Render the statements that compare a table with the log, and write the missing entries."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from psycopg.sql import SQL, Composable, Identifier, Literal

from svc_pg.capture.postgres.triggers import snapshot_values
from svc_pg.capture.rules import TableRules
from svc_pg.database.table_names import TableName
from svc_pg.rendering.templates import render

SETTINGS: Final = render("capture/backfill_settings.sql")
"""The settings of captures, for the images."""

_MOST_ROWS_OF_PAGE: Final = 291
"""The most rows in a page of 8 KiB; larger pages hold more, but 13 and 14 do not read them by range."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """The statements for one table with a key. Each needs a transaction that holds a lock of the table."""

    values: Mapping[str, object]

    @classmethod
    def of(cls, rules: TableRules, *, has_plain_key: bool) -> "Comparison":
        """The statements for a table; ``has_plain_key`` if the types of its key columns are PostgreSQL's own."""
        live = _live(rules) if has_plain_key else None
        values = {"ignored": rules.ignored, "compares": tells_all(rules), "live": live}
        return cls(snapshot_values(rules) | values)

    def rows(self, leaf: TableName, pages: Composable | None, *, is_look: bool) -> str:
        """Compare the rows in some pages of the table or of a partition; None are all pages."""
        partition = f"{leaf.schema}.{leaf.table}" if self.values["is_partitioned"] else None
        return render(
            "capture/compare.sql.j2",
            **self.values,
            leaf=tuple(leaf),
            pages=pages,
            partition=partition,
            is_look=is_look,
        )

    def ended(self, after: str, *, upto: str | None = None, records: int | None = None) -> str:
        """Look among the next ``records`` of the log, or write entries for those up to one."""
        return render(
            "capture/ended.sql.j2",
            **self.values,
            after_record=after,
            upto=upto,
            records=records,
            is_look=upto is None,
        )


def pages_from(first: int, count: int, *, by_range: bool) -> Composable:
    """The condition for the rows in some pages."""
    if by_range:
        return SQL('"svc row".ctid >= {}::tid and "svc row".ctid < {}::tid').format(
            Literal(f"({first},0)"), Literal(f"({first + count},0)")
        )
    return SQL(
        '"svc row".ctid = any (array(select format($$(%s,%s)$$, p, n)::tid'
        " from generate_series({}::bigint, {}::bigint) p, generate_series(1, {}) n))"
    ).format(Literal(first), Literal(first + count - 1), Literal(_MOST_ROWS_OF_PAGE))


def tells_all(rules: TableRules) -> bool:
    """True if the rules record every change of the table, so that any difference means a missing entry."""
    return rules.audited.record_when is None


def _live(rules: TableRules) -> Composable:
    """The condition that a row has the key of the record ``r``."""
    parts: Sequence[Composable] = [SQL("r.record_id")]
    if len(rules.key) > 1:
        parts = [SQL("(r.record_id::jsonb ->> {})").format(Literal(n)) for n in range(len(rules.key))]
    return SQL(" and ").join(
        SQL('"svc row".{} = {}::{}').format(Identifier(column), part, SQL(rules.table.types[column]))
        for column, part in zip(rules.key, parts, strict=True)
    )

"""Render the statements that compare a table with the log: to report differences, or to write the missing entries."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal

from psycopg import sql
from psycopg.sql import SQL, Composable, Identifier

from svc_pg.capture.postgres.log_stretches import Stretch
from svc_pg.capture.postgres.triggers import snapshot_values
from svc_pg.capture.rules import TableRules
from svc_pg.database.query import Query
from svc_pg.database.statements import statement
from svc_pg.database.table_names import TableName
from svc_pg.rendering.templates import render

Mode = Literal["look", "report", "write"]
"""Only look if something differs, report what does, or write entries about it."""
Finder = Literal["backfill", "reconciliation"]
"""The work whose name written entries have in their labels."""

SETTINGS: Final = render("capture/backfill_settings.sql")
"""The settings of captures, for the images."""
_PLAIN_KEY: Final = statement("queries/capture/has_plain_key.sql")


@dataclass(frozen=True, slots=True)
class PlainKey:
    """The answer to ``plain_key``."""

    has_plain_key: bool


def plain_key(rules: TableRules) -> Query[PlainKey]:
    """If the rows of a table are found by a comparison of their key, because it is of PostgreSQL's own types and never
    null.
    """
    return Query(_PLAIN_KEY, {"table": Identifier(*rules.table.name).as_string(), "key": rules.key}, PlainKey)


@dataclass(frozen=True, slots=True)
class Comparison:
    """The statements for one table with a key. Each needs a transaction that holds a lock of the table."""

    values: Mapping[str, object]

    @classmethod
    def of(
        cls, rules: TableRules, finder: Finder, *, has_plain_key: bool, stretches: Sequence[Stretch]
    ) -> "Comparison":
        """The statements for a table; ``has_plain_key`` as ``plain_key`` tells, and the stretches of the log."""
        live = _live(rules) if has_plain_key else None
        values = {"ignored": rules.ignored, "compares": tells_all(rules), "live": live, "stretches": stretches}
        values |= {"finder": finder, "label": f"found by {finder}"}
        values |= {"withheld": sorted(rules.redacted_columns.difference(rules.key))}
        return cls(snapshot_values(rules) | values)

    def rows(
        self,
        leaf: TableName,
        pages: Composable | None,
        mode: Mode,
        *,
        most: int = 0,
        purged_before: datetime | None = None,
    ) -> str:
        """Compare the rows in some pages of the table or of a partition; None are all pages.

        A report has the ``most`` differences, and the number of all. It calls a row unknown if entries of it may be
        among those that were purged.
        """
        partition = f"{leaf.schema}.{leaf.table}" if self.values["is_partitioned"] else None
        return render(
            "capture/compare.sql.j2",
            **self.values,
            leaf=tuple(leaf),
            pages=pages,
            partition=partition,
            mode=mode,
            most=most,
            purged_before=_text(purged_before),
        )

    def ended(
        self,
        after: str,
        mode: Mode,
        *,
        upto: str | None = None,
        records: int | None = None,
        most: int = 0,
        purged_before: datetime | None = None,
    ) -> str:
        """Look among the next ``records`` of the log, or write entries for those up to one."""
        return render(
            "capture/ended.sql.j2",
            **self.values,
            after_record=after,
            upto=upto,
            records=records,
            mode=mode,
            most=most,
            purged_before=_text(purged_before),
        )


def tells_all(rules: TableRules) -> bool:
    """True if the rules record every change of the table, so that any difference means a missing entry."""
    return rules.audited.record_when is None


def _text(time: datetime | None) -> str | None:
    return None if time is None else time.isoformat()


def _live(rules: TableRules) -> Composable:
    """The condition that a row has the key of the record ``r``."""
    parts: Sequence[Composable] = [SQL("r.record_id")]
    if len(rules.key) > 1:
        parts = [SQL("(r.record_id::jsonb ->> {})").format(sql.Literal(n)) for n in range(len(rules.key))]
    return SQL(" and ").join(
        SQL('"svc row".{} = {}::{}').format(Identifier(column), part, SQL(rules.table.types[column]))
        for column, part in zip(rules.key, parts, strict=True)
    )

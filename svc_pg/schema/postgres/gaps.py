"""Find changes of audited tables without an entry, as far as the catalog shows them, and keep them until a backfill."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, Literal, LiteralString, assert_never

from psycopg import Connection
from psycopg.sql import SQL

from svc_pg.database.query import Query, fetch
from svc_pg.rendering.templates import render
from svc_pg.schema.postgres import scope
from svc_pg.schema.postgres.installation import Installation
from svc_pg.schema.status import Status

What = Literal["trigger", "function", "swapped", "gone", "attached", "truncated", "rewritten", "expression", "added"]

_KEEP: Final = SQL("""
insert into svc.audit_gaps (table_name, what, name) values ({}, 'function', {}) on conflict do nothing;
""")


@dataclass(frozen=True, slots=True)
class Gap:
    """A kind of change of ``table_name`` without entries; ``name`` is the trigger, the partition or the column."""

    table_name: str
    what: What
    name: str

    @property
    def words(self) -> str:
        """The event in words for people."""
        match self.what:
            case "trigger":
                return f"trigger {self.name} was off, gone or another for a time"
            case "function":
                return f"function {self.name} was another for a time"
            case "swapped":
                return "another table has its name since: entries of the rows of both may be missing"
            case "gone":
                return f"partition {self.name} was detached or dropped with its rows"
            case "attached":
                return f"partition {self.name} was attached with its rows"
            case "truncated":
                return f"partition {self.name} is new, and was truncated or rewritten before its capture was whole"
            case "rewritten":
                return f'column "{self.name}" was rewritten, perhaps with other values'
            case "expression":
                return f'column "{self.name}" is computed by another expression'
            case "added":
                return f'column "{self.name}" was added, with a value in the rows that were there'
            case _:
                assert_never(self.what)


def find(conn: Connection[Any], installation: Installation, tables: Iterable[str]) -> list[Gap]:
    """The gaps of these tables: those kept, and those that the catalog shows now."""
    if not installation.has("audit_gaps"):
        return []
    wanted = set(tables)
    return [gap for gap in fetch(conn, Query(_FOUND, (), Gap)) if gap.table_name in wanted]


def status_of(gap: Gap) -> Status:
    """The gap among the objects of a status."""
    return Status(
        "gap", f"{gap.table_name}: {gap.words}", "incomplete", "", audited_table=gap.table_name, is_foreign=True
    )


def keep_sql(steps: Iterable[Status]) -> str:
    """Keep the gaps that the catalog and replaced capture functions show; then note the catalog's state."""
    replaced = [
        (step.audited_table, step.identity)
        for step in steps
        if step.kind == "function" and step.state == "tampered" and step.audited_table
        if step.identity.startswith(_CAPTURE)
    ]
    return SQL("").join(_KEEP.format(*each) for each in replaced).as_string() + note_sql()


def note(conn: Connection[Any], tables: Iterable[str | None]) -> None:
    """Note the catalog's state of tables whose triggers were just created."""
    wanted = sorted({table for table in tables if table and not table.startswith("svc.")})
    if wanted:
        text = render("installed/note_relations.sql.j2", is_of_some=True, keeps=False, is_exact=True)
        scope.execute(conn, text, [wanted])


def keep_of(conn: Connection[Any], table: str) -> list[int]:
    """As ``keep``, of one table; return the ids of its gaps."""
    scope.execute(
        conn, render("installed/note_relations.sql.j2", is_of_some=True, keeps=True, is_exact=False), [[table]]
    )
    rows = conn.execute("select id from svc.audit_gaps where table_name = %s", (table,))
    return [number for (number,) in rows]


def mend(conn: Connection[Any], ids: list[int]) -> None:
    """Forget gaps, after a backfill."""
    conn.execute("delete from svc.audit_gaps where id = any (%s)", (ids,))


def note_sql(*, keeps: bool = True) -> LiteralString:
    """The statement that keeps the gaps of all tables, and then notes the catalog's state of them."""
    return render("installed/note_relations.sql.j2", is_of_some=False, keeps=keeps, is_exact=not keeps)


_FOUND: Final = render("installed/gaps.sql.j2", is_of_some=False)
_CAPTURE: Final = ("svc.capture_", "svc.redact_")

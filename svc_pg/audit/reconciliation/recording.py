"""Record what a reconciliation has found: its result in the log, and that gaps of the log are mended."""

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from psycopg.sql import SQL, Literal

from svc_pg.audit.log.reconciliation import TableReport
from svc_pg.audit.reconciliation.result import facts_of, words_of
from svc_pg.database.effects import Effects
from svc_pg.database.performing import Apart, Together
from svc_pg.database.query import Query
from svc_pg.rendering.templates import render

_MAY_RECORD: Final = """
select coalesce(has_function_privilege(to_regprocedure(
           'svc.audit_add_reconciliation(text, jsonb, text, boolean)'
       )::oid, 'execute'), false) and current_setting('transaction_read_only') = 'off'
       and not svc.audit_is_copy() as is_allowed
"""
_RECORD: Final = "select svc.audit_add_reconciliation(%s, %s::text::jsonb, %s, %s)::text as id"
_MENDED: Final = "delete from svc.audit_gaps where table_name = %s and found_at <= %s returning id"
# As an install reads and compares the facts
_NAMES: Final = (
    "set local search_path = pg_catalog, pg_temp; set local quote_all_identifiers = off;"
    " set local intervalstyle = postgres; lock table svc.installation in share update exclusive mode"
)


@dataclass(frozen=True, slots=True)
class _Permission:
    is_allowed: bool


@dataclass(frozen=True, slots=True)
class _Recorded:
    id: str


def recording(report: TableReport) -> Effects[bool]:
    """Write the entry about a table that was compared, if the role and the database allow it; tell if they did."""
    [permission] = yield Apart(Query(_MAY_RECORD, (), _Permission))
    if not permission.is_allowed:
        return False
    params = (report.table, json.dumps(facts_of(report)), words_of(report), report.differences > 0)
    yield Apart(Query(_RECORD, params, _Recorded))
    return True


def keeping_gaps(table: str) -> Effects[None]:
    """Keep the gaps of the log that the catalog shows of a table, and note what it shows now."""
    text = render("installed/note_relations.sql.j2", is_of_some=True, keeps=True, is_exact=False)
    yield Together(f"{_NAMES}; {text.replace('$1', _array(table))}", _nothing())


def mending_gaps(table: str, since: datetime) -> Effects[None]:
    """Forget the gaps of a table that were known when its repair began."""
    yield Apart(Query(_MENDED, (table, since), _Recorded))


def _array(table: str) -> str:
    return SQL("array[{}]").format(Literal(table)).as_string()


def _nothing() -> Effects[None]:
    yield from ()

"""Choose the changes that are recorded, by expressions over the variables of the capture templates."""

import json

from psycopg.sql import SQL, Composable

from svc_pg.capture.postgres.expressions import Operation, condition, texts
from svc_pg.capture.rules import TableRules


def recorded(rules: TableRules, operation: Operation) -> Composable | None:
    """True if a change is recorded, and never null; None if all are, as each TRUNCATE is.

    It reads v_before, v_after and, for an UPDATE, v_changed. At level ``statement`` an UPDATE may have no row before or
    after, and it also reads the rows of that name.
    """
    parts = []
    if rules.ignored and operation == "UPDATE":
        parts.append(_other_than_ignored(rules))
    wanted = rules.audited.record_when
    if wanted is not None and operation != "TRUNCATE":
        # a column that is gone may have another name now, and its absence must not silence the capture
        needed = rules.table.columns if wanted.has_sql else wanted.columns()  # SQL may name any of them
        known = SQL("not coalesce(v_after, v_before) ?& {}").format(texts(sorted(needed)))
        parts.append(SQL("({} or {})").format(condition(wanted), known))
    return SQL(" and ").join(parts) if parts else None


def _other_than_ignored(rules: TableRules) -> Composable:
    """True if an update changed more than ignored columns.

    An update that only changes the spelling of values has no changed fields. At level ``row`` the trigger compares the
    rows, except if an ignored column is json of a domain: rows keep it, so only the images tell.
    """
    table, ignored = rules.table, texts(rules.ignored)
    others = [column for column in table.json_columns if column not in rules.ignored]
    # 1.0 and 1.00 are equal in JSON, and snapshots tell them apart
    same = [SQL("v_before ->> {0} is not distinct from v_after ->> {0}").format(column) for column in others]
    only_ignored = SQL(" and ").join([SQL("v_changed <@ {}").format(ignored), *same])
    empty = without_ignored(rules)
    if set(rules.ignored).intersection(table.domains).intersection(table.json_columns):
        differ = SQL("(v_before - {0})::text is distinct from (v_after - {0})::text").format(ignored)
    elif rules.audited.level == "row" or empty is None:
        return SQL("({} and v_changed <> '{{}}') is not true").format(only_ignored)
    else:
        rows = (SQL("jsonb_populate_record({}, {})").format(row, empty) for row in (SQL("v_old"), SQL("v_new")))
        differ = SQL(" operator(pg_catalog.*<>) ").join(rows)
    return SQL("case v_changed <> '{{}}' when true then not ({}) when false then {} else true end").format(
        only_ignored, differ
    )


def without_ignored(rules: TableRules) -> str | None:
    """JSON that, put into a row, clears its ignored columns; None if there are none.

    So two rows are compared without a call of the capture function, and without naming a column: a trigger that names
    one is dropped with it. A column of a domain keeps its value, because the domain may refuse NULL.
    """
    empty = [column for column in rules.ignored if column not in rules.table.domains]
    return json.dumps(dict.fromkeys(empty), ensure_ascii=False) if empty else None

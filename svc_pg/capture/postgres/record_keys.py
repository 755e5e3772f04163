"""Render the keys of records in the snapshots of a trigger."""

import re
from typing import Final

from psycopg.sql import SQL, Composable, Literal

from svc_pg.capture.postgres.expressions import texts
from svc_pg.capture.rules import TableRules

BEFORE: Final = SQL("v_before")
AFTER: Final = SQL("v_after")

_SHORT_TYPES: Final = re.compile(
    r"boolean|smallint|integer|bigint|real|double precision|uuid|date|oid|inet|cidr|macaddr8?"
    r"|time(stamp)?(\(\d\))? with(out)? time zone|character varying\(\d\d?\)"
)
"""The types with short texts."""


def record_id(rules: TableRules, image: Composable | None, *, has_truncate: bool = False) -> Composable:
    """The key in a snapshot, as text: of one column its own, of several a JSON array, because a separator collides."""
    if not rules.key or image is None:
        return SQL("null::text")
    if len(rules.key) == 1:
        column = rules.key[0]
        is_json = rules.table.types.get(column) == "jsonb"  # as text, 5 and "5" would be one record
        key = SQL("({} -> {})::text" if is_json else "{} ->> {}").format(image, Literal(column))
        return _bounded(rules, key)
    values = (SQL("{} -> {}").format(image, Literal(column)) for column in rules.key)
    several = _bounded(rules, SQL("jsonb_build_array({})::text").format(SQL(", ").join(values)))
    return SQL("case when v_operation <> 'TRUNCATE' then {} end").format(several) if has_truncate else several


def _bounded(rules: TableRules, key: Composable) -> Composable:
    """The text of a key, or a digest in its place if it may be too long for an index."""
    types = (rules.table.types.get(column, "") for column in rules.key)
    if rules.table.name.schema == "svc" or all(_SHORT_TYPES.fullmatch(each) for each in types):
        return key
    return SQL("case when octet_length({0}) > 1000 then svc.audit_bounded({0}) else {0} end").format(key)


def lasting_id(
    rules: TableRules, image: Composable | None, newer: Composable, *, has_truncate: bool = False
) -> Composable:
    """The key in a snapshot of a trigger, also if a column of the primary key was renamed after the install.

    A redacted column may have the name of the key since then. So if a redacted column is gone, or a column is new, the
    key is read from the catalog.
    """
    named = record_id(rules, image, has_truncate=has_truncate)
    if not rules.key or image is None:
        return named
    if rules.key != rules.table.key:
        if not rules.has_redact_function:
            return named
        return SQL("case when {} ?& {} then {} end").format(image, texts(rules.guarded), named)
    hidden = sorted({*rules.redactions, *rules.later_redactions})
    row = SQL("{} - {}").format(image, texts(hidden)) if hidden else image
    known = SQL("{} ?& {}").format(image, texts(sorted({*rules.key, *rules.guarded})))
    if rules.has_redact_function:
        known = SQL("{} and {} = '{{}}'").format(known, newer)
    return SQL("case when {} then {} else svc.audit_record_id(tg_relid, {}) end").format(known, named, row)


def moved_from(rules: TableRules, newer: Composable) -> Composable:
    """The key of the record before an update, if the update changed it."""
    return SQL("nullif({}, {})").format(*(lasting_id(rules, image, newer) for image in (BEFORE, AFTER)))


def pairing(rules: TableRules) -> Composable:
    """The condition that two snapshots are of one record."""
    equal = (SQL("v_before -> {0} = v_after -> {0}").format(Literal(column)) for column in rules.key)
    return SQL(" and ").join(equal)


def key_in(rules: TableRules, image: Composable) -> Composable:
    """The columns of the key in a snapshot."""
    return SQL(", ").join(SQL("{} -> {}").format(image, Literal(column)) for column in rules.key)

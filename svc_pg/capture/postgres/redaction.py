"""Render the part of a row that may be recorded, by the redaction of each column."""

from collections.abc import Iterable, Sequence
from typing import Final, assert_never

from psycopg.sql import SQL, Composable, Literal

from svc_pg.capture.postgres.expressions import texts
from svc_pg.capture.rules import TableRules
from svc_pg.config.audited_table import Redaction

_MOST_PAIRS: Final = 50
"""The most pairs in a call: a function takes 100 arguments."""
_VALUE: Final = SQL("{} -> {}")
_TEXT: Final = SQL("{} ->> {}")
_OBJECT: Final = SQL("pg_catalog.jsonb_build_object(\n                {})")
_NEXT_PAIR: Final = SQL(",\n                ")
_NEXT_OBJECT: Final = SQL("\n            || ")


def disguised(kind: Redaction, value: Composable) -> Composable | None:
    """The text that is recorded in place of a value, which is given as text; None if nothing is."""
    match kind:
        case "remove":
            return None
        case "mask":
            return SQL("'[masked]'::text")
        case "hash":
            return SQL("svc.audit_hash({})").format(value)
        case "last4":
            return SQL("svc.audit_last4({})").format(value)
        case _:
            assert_never(kind)


def redacted_row(rules: TableRules, row: Composable) -> Composable:
    """The part of the image of a row that may be recorded, if it has no columns that the rules do not know."""
    recorded = rules.table.columns if rules.columns is None else rules.columns
    values = {column: disguised(kind, _of(_TEXT, row, column)) for column, kind in sorted(rules.redactions.items())}
    removed = [column for column, value in values.items() if value is None and column in recorded]
    if rules.columns is not None:
        plain = sorted(rules.columns.difference(removed))
        kept = list(_objects([_pair(column, _of(_VALUE, row, column)) for column in plain])) or [SQL("jsonb '{}'")]
    else:
        kept = [SQL("{} - {}").format(row, texts(removed)) if removed else row]
    pairs = [_pair(column, value) for column, value in values.items() if value is not None and column in recorded]
    return _NEXT_OBJECT.join([*kept, *_objects(pairs)])


def _of(access: SQL, row: Composable, column: str) -> Composable:
    return access.format(row, Literal(column))


def _pair(column: str, value: Composable) -> Composable:
    return SQL("{}, {}").format(Literal(column), value)


def _objects(pairs: Sequence[Composable]) -> Iterable[Composable]:
    for start in range(0, len(pairs), _MOST_PAIRS):
        yield _OBJECT.format(_NEXT_PAIR.join(pairs[start : start + _MOST_PAIRS]))

"""Render the image of a row: its values as jsonb, without a call of code that is not PostgreSQL's own.

``to_jsonb`` calls the cast to json that the owner of a type may make. So the values of types that are not PostgreSQL's
own are taken out of the row first, and added as the text that their output function prints: ``format`` calls no cast,
and nobody but a superuser makes an output function. Columns that are newer than the rules stay in the row.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from psycopg.sql import SQL, Composable, Identifier, Literal

from svc_pg.capture.postgres.expressions import texts
from svc_pg.capture.table import Table

_MOST_PAIRS: Final = 50
"""The most pairs in a call: a function takes 100 arguments."""
_SAFE_BYTES: Final = 500_000
"""A row below this size is safe: no compression packs a value too large for jsonb (256 MB) into it."""
_COMMA: Final = SQL(", ")
_TO_JSONB: Final = SQL("to_jsonb({})")
_ROW_TO_JSON: Final = SQL("row_to_json({})")
# The queries within run once a statement; the second, which is slow, only if there is such a column
_IF_TYPES_ARE_KNOWN: Final = SQL("""case when exists (
                           select from pg_attribute a
                            where a.attrelid = tg_relid and a.attnum > 0 and not a.attisdropped
                              and a.atttypid >= 16384 and a.attname::text <> all ({})
                       ) and exists (
                           select from svc.audit_columns(tg_relid) c where c.type is null and c.name <> all ({})
                       ) then {} else {} end""")
_TOLERANT: Final = SQL("svc.audit_image({}, {}, true)")
_TG_RELID: Final = SQL("tg_relid")
# num_nulls and format take any type as it is; IS NULL of a composite, or a cast to text, would not
_TEXT: Final = SQL("case when num_nulls({0}) = 0 then format('%s', {0}) end")
_LIST: Final = SQL("case when num_nulls({0}) = 0 then format('%s', {0})::text[] end")
# The key of a null stays from the row if there is such a column
_OF_PRESENT: Final = SQL("jsonb_strip_nulls({})")
_LISTED: Final = SQL('(select {} from (select {}) "svc listed")')
_LISTED_IF_KNOWN: Final = SQL("""coalesce((
                select {} from (select {}) "svc gone"
                 cross join lateral (select {} from (select {}.*) "svc present") "svc listed"
                 where (select array_agg(a.attname::text order by a.attname::text collate "C") from pg_attribute a
                         where a.attrelid = tg_relid and a.attnum > 0 and not a.attisdropped) = {}
            ), {})""")


def record_image(table: Table, row: Composable) -> Composable:
    """The image of ``new`` or ``old`` in a trigger; an error if a column is gone, and if jsonb cannot hold a value."""
    if _has_printed_domain(table):
        return _listed_if_known(table, row, _TO_JSONB)
    image = _TO_JSONB.format(_without_printed(table, row))
    pairs = [SQL("{}, {}").format(Literal(column), text) for column, text in _texts(table, _column_of(row)).items()]
    objects = (SQL("jsonb_build_object({})").format(_COMMA.join(chunk)) for chunk in _chunks(pairs))
    return SQL("({})").format(SQL(" || ").join([image, *map(_OF_PRESENT.format, objects)])) if pairs else image


def careful_image(row: Composable) -> Composable:
    """The same for any row of the table, slow and without an error."""
    return SQL("svc.audit_image({}, tg_relid)").format(row)


def query_image(table: Table, row: Composable, *, is_careful: Composable) -> Composable:
    """The image of a row in a query, which cannot catch an error, so it checks the row first.

    A column may be gone. If ``is_careful`` is true, one that is newer than the rules may be of any type.
    """
    conditions = [SQL("not {}").format(is_careful)]
    if _has_printed_domain(table):
        image = _listed_if_known(table, row, SQL("svc.audit_image({}, tg_relid, true)"))
    else:
        rest = _without_printed(table, row)
        if table.holds_json:
            image = _TOLERANT.format(rest, _TG_RELID)
        else:
            image = _TO_JSONB.format(rest)
            conditions.append(SQL("pg_column_size({}) <= {}").format(row, Literal(_SAFE_BYTES)))
        image = _with_query_texts(table, image, row)
    return SQL("case when {} then {} else {} end").format(SQL(" and ").join(conditions), image, careful_image(row))


def locked_image(table: Table, row: Composable) -> Composable:
    """The image of a row in a query of a table that is locked against changes."""
    relation = SQL("{}::regclass").format(Literal(Identifier(*table.name).as_string()))
    if not _printed(table):
        tolerant = _TOLERANT.format(row, relation)
        if table.holds_json:
            return tolerant
        is_safe = SQL("pg_column_size({}) <= {}").format(row, Literal(_SAFE_BYTES))
        return SQL("case when {} then {} else {} end").format(is_safe, _TO_JSONB.format(row), tolerant)
    return _LISTED.format(_TOLERANT.format(SQL('"svc listed"'), relation), _columns(table, _column_of(row)))


def query_json(table: Table, row: Composable) -> Composable:
    """The same as ``json``, in the order of the columns.

    The keys are those of the columns that the table has now. If a column has another type since, which is not
    PostgreSQL's own, or is newer, or if columns are gone beside printed ones, it is as slow as ``careful_image``.
    """
    whole = SQL("{}.*").format(row)  # the name alone could be that of a column
    careful = SQL("to_json({})").format(careful_image(whole))
    known = _listed_if_known(table, row, _ROW_TO_JSON, careful) if _printed(table) else _ROW_TO_JSON.format(whole)
    return _IF_TYPES_ARE_KNOWN.format(
        texts(sorted({*_printed(table), *table.domains})), texts(sorted(_printed(table))), careful, known
    )


def json_value(table: Table, column: str, value: Composable, *, is_text: bool = False) -> Composable:
    """The value of a column as it may become JSON; if ``is_text`` is true, as text."""
    if is_text:
        return _TEXT.format(value) if column in _printed(table) else SQL("{}::text").format(value)
    return _texts(table, lambda _: value).get(column, value)


def _printed(table: Table) -> Sequence[str]:
    return (*table.printed, *table.printed_lists)


def _has_printed_domain(table: Table) -> bool:
    """True if a value cannot be taken out of its row, because its domain may refuse NULL, by code of its own."""
    return not set(table.domains).isdisjoint(_printed(table))


def _without_printed(table: Table, row: Composable) -> Composable:
    if not _printed(table):
        return row
    empty = json.dumps(dict.fromkeys(_printed(table)), ensure_ascii=False)
    return SQL("jsonb_populate_record({}, {})").format(row, Literal(empty))


def _with_query_texts(table: Table, image: Composable, row: Composable) -> Composable:
    """Add the printed values to an image; a column that is gone reads as null instead of as an error."""
    if not _printed(table):
        return image
    printed = [SQL("{} as {}").format(text, Identifier(name)) for name, text in _texts(table, Identifier).items()]
    query = SQL(
        '(select to_jsonb("svc printed") from (select {}) "svc gone"'
        ' cross join lateral (select {} from (select {}.*) "svc present") "svc printed")'
    ).format(_nulls(_printed(table)), _COMMA.join(printed), row)
    return SQL("({} || {})").format(image, _OF_PRESENT.format(query))


def _listed_if_known(table: Table, row: Composable, image: SQL, careful: Composable | None = None) -> Composable:
    """The image of all columns one by one, unless the table has other columns now."""
    known = texts(sorted((*table.columns, *table.virtual)))
    return _LISTED_IF_KNOWN.format(
        image.format(SQL('"svc listed"')),
        _nulls(table.columns),
        _columns(table, Identifier),
        row,
        known,
        careful or careful_image(row),
    )


def _columns(table: Table, value: Callable[[str], Composable]) -> Composable:
    printed = _texts(table, value)
    return _COMMA.join(
        SQL("{} as {}").format(printed.get(column, value(column)), Identifier(column)) for column in table.columns
    )


def _nulls(columns: Sequence[str]) -> Composable:
    return _COMMA.join(SQL("null::text as {}").format(Identifier(column)) for column in columns)


def _column_of(row: Composable) -> Callable[[str], Composable]:
    return lambda column: SQL("{}.{}").format(row, Identifier(column))


def _texts(table: Table, value: Callable[[str], Composable]) -> Mapping[str, Composable]:
    """The expressions of the printed values, by column."""
    printed = {column: _TEXT.format(value(column)) for column in table.printed}
    return printed | {column: _LIST.format(value(column)) for column in table.printed_lists}


def _chunks(pairs: Sequence[Composable]) -> list[Sequence[Composable]]:
    return [pairs[start : start + _MOST_PAIRS] for start in range(0, len(pairs), _MOST_PAIRS)]

"""SQL for the values of columns of MySQL and MariaDB: as texts, and compared with values in rules."""

from typing import Final, assert_never

from svc_pg.config.condition import Scalar, ValueTest
from svc_pg.other_databases.capture.capture_dialect import CaptureDialect, Column
from svc_pg.other_databases.capture.conditions import FALSE, TRUE, value_tests
from svc_pg.other_databases.capture.mysql.table import MySqlColumn
from svc_pg.rendering.sql_text import Sql, sql

_TIMESTAMP: Final = """if({0} = 0, '0000-00-00T00:00:00+00:00',
        date_format('1970-01-01' + interval unix_timestamp({0}) second, '%Y-%m-%dT%H:%i:%s+00:00'))"""
_JSON_NUMBERS: Final = "'INTEGER', 'UNSIGNED INTEGER', 'DOUBLE', 'DECIMAL'"
_JSON_SCALAR: Final = """case json_type({0}) when 'NULL' then null
        when 'BOOLEAN' then if(cast({0} as char) = 'true', 1, 0)
        else cast(json_unquote(json_extract({0}, '$')) as binary) end"""


def text(dialect: CaptureDialect, x: Sql, column: Column, *, is_mariadb: bool) -> Sql:
    """The text of a value ``x``. Times are ISO 8601 in every session; a timestamp is in UTC."""
    match column.kind:
        case "boolean":  # tinyint(1), which holds other numbers too
            return sql("case {0} when 0 then 'false' when 1 then 'true' else cast({0} as char) end", x)
        case "bytes":
            return sql("concat('\\\\x', lower(hex({})))", x)
        case "bits":
            return sql("lpad(bin({} + 0), {}, '0')", x, dialect.literal(column.digits))
        case "shape":
            shape = sql("st_astext({})", x)
            return sql("if(st_srid({0}) = 0, {1}, concat('SRID=', st_srid({0}), ';', {1}))", x, shape)
        case "datetime":
            return _trimmed(sql("date_format({}, {})", x, _stamp(column)), column)
        case "timestamp":
            if not column.digits:
                return sql(_TIMESTAMP, x)
            utc = sql("date_format('1970-01-01' + interval unix_timestamp({}) second, {})", x, _stamp(column))
            zero = "concat(if({} = 0, '0000-00-00T00:00:00', {}), '+00:00')"
            return sql(zero, x, _trimmed(utc, column))
        case "time":
            return _trimmed(sql("cast({} as char)", x), column)
        case "number":
            return sql("cast({} as char)", number(x, column))
        case "any" | "text" | "date" | "json":
            is_utf8 = isinstance(column, MySqlColumn) and column.is_utf8
            is_text = is_utf8 or (column.kind == "json" and is_mariadb)
            return x if is_text else sql("cast({} as char)", x)
        case _:
            assert_never(column.kind)


def number(x: Sql, column: Column) -> Sql:
    """A float as a double, because MariaDB prints six digits of a float; no zeros before it, which JSON forbids."""
    if isinstance(column, MySqlColumn) and column.is_float:
        return sql("{} + 0e0", x)
    return sql("{} + 0", x) if isinstance(column, MySqlColumn) and column.is_padded else x


def satisfies(dialect: CaptureDialect, test: ValueTest, x: Sql, column: Column, *, text: Sql) -> Sql:
    """True if a value ``x``, whose text is ``text``, satisfies all tests.

    The type of a column's values is known at install, the type of a JSON value is not.
    """

    def is_of_type(limit: Scalar) -> Sql:
        if isinstance(limit, bool):
            return TRUE if column.kind == "boolean" else FALSE
        if isinstance(limit, str):
            return FALSE if column.kind in ("boolean", "number") else TRUE
        return TRUE if column.kind == "number" else FALSE

    def is_of_json_type(limit: Scalar) -> Sql:
        if isinstance(limit, bool):
            types = sql("'BOOLEAN'")
        else:
            types = sql("'STRING'") if isinstance(limit, str) else sql(_JSON_NUMBERS)
        return sql("json_type({}) in ({})", x, types)

    if column.kind == "json":
        return value_tests(dialect, test, sql(_JSON_SCALAR, x), is_of_json_type)
    is_plain = column.kind in ("boolean", "number")
    return value_tests(dialect, test, x if is_plain else sql("cast({} as binary)", text), is_of_type)


def _stamp(column: Column) -> Sql:
    return sql("'%Y-%m-%dT%H:%i:%s.%f'") if column.digits else sql("'%Y-%m-%dT%H:%i:%s'")


def _trimmed(stamp: Sql, column: Column) -> Sql:
    return sql("trim(trailing '.' from trim(trailing '0' from {}))", stamp) if column.digits else stamp

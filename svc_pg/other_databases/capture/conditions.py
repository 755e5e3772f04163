"""Compile the conditions of rules into expressions of any dialect that are true or false, never null."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Literal, LiteralString

from svc_pg.config import Condition
from svc_pg.config.condition import Scalar, ValueTest
from svc_pg.errors import ConfigError
from svc_pg.other_databases.capture.capture_dialect import CaptureDialect, Column, Operation, RowName
from svc_pg.rendering.sql_text import Sql, chained, sql

TRUE: Final = sql("1 = 1")
FALSE: Final = sql("1 = 0")
_ORDERS: Final[dict[str, LiteralString]] = {
    "eq": "coalesce({} and {} = {}, 1 = 0)",
    "gt": "coalesce({} and {} > {}, 1 = 0)",
    "ge": "coalesce({} and {} >= {}, 1 = 0)",
    "lt": "coalesce({} and {} < {}, 1 = 0)",
    "le": "coalesce({} and {} <= {}, 1 = 0)",
}


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows before and after an operation, for the names ``before`` and ``after`` in rules."""

    columns: Mapping[str, Column]
    operation: Operation

    def named(self, source: Literal["before", "after"]) -> RowName | None:
        """The trigger's row; None if the operation has none, such as an INSERT before."""
        if source == "before":
            return None if self.operation == "INSERT" else "old"
        return None if self.operation == "DELETE" else "new"


def applies(dialect: CaptureDialect, when: Condition | None, rows: Rows) -> Sql | None:
    """The condition for a rule to apply, or for a change to be recorded; None if it always holds."""
    return None if when is None else _condition(dialect, when, rows)


def _condition(dialect: CaptureDialect, wanted: Condition, rows: Rows) -> Sql:
    if wanted.sql is not None:
        raise ConfigError("a condition in SQL is for PostgreSQL only", hint="Write it with before, after and changed.")
    parts = []
    if wanted.changed:
        differs = [dialect.differs(rows.columns[name]) for name in wanted.changed]
        parts.append(sql("({})", chained(" or ", differs)) if rows.operation == "UPDATE" else FALSE)
    parts += [_test(dialect, rows, rows.named("before"), name, test) for name, test in wanted.before.items()]
    parts += [_test(dialect, rows, rows.named("after"), name, test) for name, test in wanted.after.items()]
    parts += [_condition(dialect, inner, rows) for inner in wanted.all_of]
    if wanted.any_of:
        parts.append(sql("({})", chained(" or ", [_condition(dialect, inner, rows) for inner in wanted.any_of])))
    if wanted.none_of is not None:
        parts.append(sql("not {}", _condition(dialect, wanted.none_of, rows)))
    return sql("({})", chained(" and ", parts))


def _test(dialect: CaptureDialect, rows: Rows, row: RowName | None, name: str, test: ValueTest) -> Sql:
    if row is None:  # a missing value satisfies only is_null
        return TRUE if test.is_null and test.model_fields_set == {"is_null"} else FALSE
    return sql("({})", dialect.test(row, rows.columns[name], test))


def value_tests(dialect: CaptureDialect, test: ValueTest, value: Sql, is_of_type: Callable[[Scalar], Sql]) -> Sql:
    """The tests of ``value``: each first checks, by ``is_of_type``, that the value has the type of its limit.

    So a text is never compared with a number, for which databases other than PostgreSQL would convert one of them.
    """

    def compared(name: str, limit: Scalar) -> Sql:
        return sql(_ORDERS[name], is_of_type(limit), value, dialect.literal(limit))

    parts = []
    if test.is_null is not None:
        parts.append(sql("{} is null" if test.is_null else "{} is not null", value))
    for name in _ORDERS:
        limit: Scalar | None = getattr(test, name)
        if limit is not None:
            parts.append(compared(name, limit))
    if test.ne is not None:
        parts.append(sql("({} is not null and not {})", value, compared("eq", test.ne)))
    if test.one_of is not None:
        parts.append(sql("({})", chained(" or ", [compared("eq", one) for one in test.one_of])))
    return chained(" and ", parts) if parts else TRUE

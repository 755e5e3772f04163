"""Compile enrichment rules into SQL expressions over the variables of the capture templates."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import psycopg
from psycopg import Connection, sql
from psycopg.sql import SQL, Composable

from svc_pg.config import AuditedTable, Condition, EnrichmentRule, description
from svc_pg.config.condition import Scalar, ValueTest
from svc_pg.errors import ConfigError

Operation = Literal["INSERT", "UPDATE", "DELETE", "TRUNCATE"]

_NULL: Final = SQL("null")
_FACTS: Final = {
    "actor_id": SQL("nullif(current_setting('svc.actor_id', true), '')"),
    "tenant_id": SQL("nullif(current_setting('svc.tenant_id', true), '')"),
}
_ORDERS: Final = {"gt": SQL(">"), "ge": SQL(">="), "lt": SQL("<"), "le": SQL("<=")}


@dataclass(frozen=True, slots=True)
class Enrichment:
    """The enrichment of an entry, as SQL expressions over v_before, v_after and v_changed.

    ``choice`` computes the number of the rule that applies, which the others read as ``v_rule``. It is None if the
    number is known already, because the first rule always applies.
    """

    choice: Composable | None
    label: Composable
    severity: Composable
    compliance: Composable
    description: Composable


def enrichment(rules: Sequence[EnrichmentRule], operation: Operation | None) -> Enrichment | None:
    """The enrichment of one operation's entries; without ``operation``, of entries whose operation is ``v_operation``.

    None if no rule is for that operation. The first rule that applies decides everything.
    """
    possible = [rule for rule in rules if operation is None or rule.operation in (operation, "*")]
    if not possible:
        return None
    columns = list(zip(*(_words(rule) for rule in possible), strict=True))
    conditions = [_applies(rule, operation) for rule in possible]
    if conditions[0] is None:
        return Enrichment(None, *(column[0] for column in columns))
    numbers = [SQL("when {} then {}").format(condition or SQL("true"), n) for n, condition in enumerate(conditions)]
    return Enrichment(_case(SQL(""), numbers), *(_chosen(column) for column in columns))


def check_conditions(conn: Connection[Any], table: str, audited: AuditedTable) -> None:
    """Let PostgreSQL parse every condition. Raises ConfigError if it cannot."""
    for wanted in audited.conditions:
        try:
            parse(conn, _PROBE.format(condition(wanted)))
        except psycopg.Error as error:
            raise ConfigError(
                f'table "{table}": a condition cannot be evaluated: {error.diag.message_primary}',
                hint="Conditions in SQL see before and after (jsonb) and actor_id (text), and name functions in full.",
            ) from error


def parse(conn: Connection[Any], query: Composable) -> None:
    """Parse one query, and do not plan it: that may call functions of others, with the rights of the installer."""
    with conn.transaction():
        # by the extended protocol, because that allows one statement only
        conn.execute(SQL("prepare svc_pg_probe as {}").format(query), prepare=True)
        conn.execute("deallocate svc_pg_probe")


_PROBE: Final = SQL("""
select {} from (
    select null::jsonb as v_before, null::jsonb as v_after, null::text[] as v_changed
) as entry
""")


def _applies(rule: EnrichmentRule, operation: Operation | None) -> Composable | None:
    """The condition under which a rule applies; None if it always does."""
    conditions: list[Composable] = []
    if operation is None and rule.operation != "*":
        conditions.append(SQL("v_operation = {}").format(rule.operation))
    if rule.when is not None:
        conditions.append(condition(rule.when))
    return SQL(" and ").join(conditions) if conditions else None


def _words(rule: EnrichmentRule) -> tuple[Composable, Composable, Composable, Composable]:
    """Label, severity, compliance and description."""
    return (
        _NULL if rule.label is None else sql.Literal(rule.label),
        _NULL if rule.severity is None else SQL("{}::svc.audit_severity").format(rule.severity),
        texts(rule.compliance) if rule.compliance else _NULL,
        _NULL if rule.description is None else _description(rule.description),
    )


def _chosen(expressions: Sequence[Composable]) -> Composable:
    """The expression of the rule that applies; one that is null for every rule stays null."""
    if all(expression is _NULL for expression in expressions):
        return _NULL
    return _case(SQL("v_rule"), [SQL("when {} then {}").format(n, each) for n, each in enumerate(expressions)])


def _case(subject: Composable, branches: Sequence[Composable]) -> Composable:
    return SQL("case {} {} end").format(subject, SQL(" ").join(branches))


def _description(template: str) -> Composable:
    # concat treats null as empty text
    return SQL("concat({})").format(
        SQL(", ").join(
            sql.Literal(part) if isinstance(part, str) else _value(part) for part in description.parse(template)
        )
    )


def _value(value: description.Value) -> Composable:
    if value.column is None:
        return _FACTS[value.source]
    return SQL("{} ->> {}").format(_snapshot(value.source), value.column)


def _snapshot(source: str) -> Composable:
    return SQL("v_before") if source == "before" else SQL("v_after")


def condition(wanted: Condition) -> Composable:
    """A condition as an expression that is true or false, never null."""
    parts: list[Composable] = []
    if wanted.changed:
        parts.append(SQL("coalesce(v_changed && {}, false)").format(texts(wanted.changed)))
    for source, tests in (("before", wanted.before), ("after", wanted.after)):
        parts += [
            part
            for column, test in tests.items()
            for part in _tests(SQL("({} -> {})").format(_snapshot(source), column), test)
        ]
    parts += [condition(inner) for inner in wanted.all_of]
    if wanted.any_of:
        parts.append(SQL("({})").format(SQL(" or ").join(condition(inner) for inner in wanted.any_of)))
    if wanted.none_of is not None:
        parts.append(SQL("(not {})").format(condition(wanted.none_of)))
    if wanted.sql is not None:
        # declared to be SQL in the configuration; the template refuses it if it would end the function's body
        parts.append(SQL(_WRITTEN).format(SQL(wanted.sql), _FACTS["actor_id"]))
    return SQL("({})").format(SQL(" and ").join(parts))


_WRITTEN: Final = """coalesce((
                select ({}) from (select v_before as before, v_after as after, {} as actor_id) as entry
            ), false)"""


def _tests(value: Composable, test: ValueTest) -> Iterable[Composable]:
    """Comparisons of a jsonb value, which cannot fail for a value of any type."""
    if test.is_null is not None:
        is_null = SQL("coalesce({0} = 'null'::jsonb, true)").format(value)
        yield is_null if test.is_null else SQL("(not {})").format(is_null)
    if test.eq is not None:
        yield SQL("coalesce({} = {}, false)").format(value, _json(test.eq))
    if test.ne is not None:
        yield SQL("coalesce({} not in ({}, 'null'), false)").format(value, _json(test.ne))
    if test.one_of is not None:
        values = SQL(", ").join(_json(each) for each in test.one_of)
        yield SQL("coalesce({} in ({}), false)").format(value, values)
    for name, order in _ORDERS.items():
        limit: int | float | str | None = getattr(test, name)
        if isinstance(limit, str):
            yield SQL("coalesce(jsonb_typeof({0}) = 'string' and {0} #>> '{{}}' {1} {2}, false)").format(
                value, order, limit
            )
        elif limit is not None:  # jsonb orders numbers as numeric does
            yield SQL("coalesce(jsonb_typeof({0}) = 'number' and {0} {1} {2}, false)").format(
                value, order, _json(limit)
            )


def _json(value: Scalar) -> Composable:
    return SQL("{}::jsonb").format(json.dumps(value))


def texts(values: Iterable[str]) -> Composable:
    """An array of text."""
    return SQL("array[{}]::text[]").format(SQL(", ").join(sql.Literal(value) for value in values))

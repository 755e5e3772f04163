"""A condition of a rule holds exactly if it does as one reads it."""

import json
import operator
from collections.abc import Sequence
from typing import Any, Final

import psycopg
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from psycopg.sql import SQL

from svc_pg.capture.postgres.expressions import condition
from svc_pg.config import Condition

COLUMNS: Final = ("a", "b")
VALUES: Final = (0, 1, 1.0, 1.5, -2, 2**63, "", "a", "b", "1", "'\\\"{}%s", True, False)
ORDERS: Final = {"gt": operator.gt, "ge": operator.ge, "lt": operator.lt, "le": operator.le}

Image = dict[str, Any] | None


def some(members: dict[str, st.SearchStrategy[Any]]) -> st.SearchStrategy[dict[str, Any]]:
    """One or two of these members."""
    names = st.lists(st.sampled_from(sorted(members)), min_size=1, max_size=2, unique=True)
    return names.flatmap(lambda chosen: st.fixed_dictionaries({name: members[name] for name in chosen}))


scalars = st.sampled_from(VALUES)
limits = st.sampled_from([value for value in VALUES if not isinstance(value, bool)])
lists = st.lists(scalars, min_size=1, max_size=3)
tests = (
    scalars
    | lists
    | some({"eq": scalars, "ne": scalars, "in": lists, "is_null": st.booleans()} | dict.fromkeys(ORDERS, limits))
)
of_columns = st.dictionaries(st.sampled_from(COLUMNS), tests, min_size=1)
names = st.lists(st.sampled_from(COLUMNS), min_size=1, unique=True)
conditions = st.recursive(
    some({"before": of_columns, "after": of_columns, "changed": names}),
    lambda inner: some(
        {"all": st.lists(inner, min_size=1, max_size=2), "any": st.lists(inner, min_size=1, max_size=2), "not": inner}
    ),
    max_leaves=5,
)
CELLS: Final = (*VALUES, None, [1], {"a": 1})
IMAGES: Final[list[Image]] = [None, {}, *({"a": a, "b": b} for a, b in zip(CELLS, CELLS[3:] + CELLS[:3], strict=True))]
CHANGED: Final[Sequence[list[str] | None]] = (None, [], ["a"], ["b"], ["a", "b"])
ROWS: Final = [
    (before, after, CHANGED[(index + shift) % len(CHANGED)])
    for shift in (0, 4, 9)
    for index, (before, after) in enumerate(zip(IMAGES, IMAGES[shift:] + IMAGES[:shift], strict=True))
]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(wanted=conditions)
@example({"before": {"a": {"ne": 1}}, "after": {"b": {"ne": "a"}}})
def test_a_condition_holds_exactly_if_it_does_as_one_reads_it(
    conn: psycopg.Connection[Any], wanted: dict[str, Any]
) -> None:
    query = SQL(
        "select {} from unnest($1::jsonb[], $2::jsonb[], $3::text[]) with ordinality"
        " r(v_before, v_after, names, n), lateral (select names::text[]) c(v_changed) order by n"
    ).format(condition(Condition.model_validate(wanted)))
    before, after = ([None if row[side] is None else json.dumps(row[side]) for row in ROWS] for side in (0, 1))
    changed = [None if row[2] is None else "{" + ",".join(row[2]) + "}" for row in ROWS]
    found = [holds for (holds,) in psycopg.RawCursor(conn).execute(query, (before, after, changed))]
    assert found == [is_true(wanted, *row) for row in ROWS]


def is_true(wanted: dict[str, Any], before: Image, after: Image, changed: Sequence[str] | None) -> bool:
    def inner(part: dict[str, Any]) -> bool:
        return is_true(part, before, after, changed)

    return (
        ("changed" not in wanted or not set(wanted["changed"]).isdisjoint(changed or []))
        and all(meets((before or {}).get(name), test) for name, test in wanted.get("before", {}).items())
        and all(meets((after or {}).get(name), test) for name, test in wanted.get("after", {}).items())
        and all(inner(part) for part in wanted.get("all", []))
        and ("any" not in wanted or any(inner(part) for part in wanted["any"]))
        and ("not" not in wanted or not inner(wanted["not"]))
    )


def meets(value: Any, test: Any) -> bool:
    """A missing value satisfies only ``is_null``; values of different types are neither equal nor in an order."""
    if not isinstance(test, dict):
        return is_among(value, test if isinstance(test, list) else [test])
    for name, limit in test.items():
        match name:
            case "is_null":
                holds = (value is None) is limit
            case "in" | "eq":
                holds = is_among(value, limit if name == "in" else [limit])
            case "ne":
                holds = value is not None and not is_among(value, [limit])
            case _:
                holds = kind(value) is kind(limit) and bool(ORDERS[name](value, limit))
        if not holds:
            return False
    return True


def is_among(value: Any, limits: Sequence[Any]) -> bool:
    return any(kind(value) is kind(limit) and value == limit for limit in limits)


def kind(value: Any) -> type:
    return float if type(value) is int else type(value)

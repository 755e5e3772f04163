"""The values of applications become JSON without losing a digit, or an error names the path to it."""

import json
from collections import ChainMap, deque, namedtuple
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum, IntEnum, StrEnum
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as some
from pydantic import BaseModel, Field, RootModel, TypeAdapter
from pydantic.dataclasses import dataclass as pydantic_dataclass

from svc_pg.database.query import RawJson
from svc_pg.formats.json_errors import NotJsonError
from svc_pg.formats.json_writer import encode, write, write_ascii

KEY = UUID("0190b0f0-0000-7000-8000-000000000000")
LAST = datetime.max.replace(tzinfo=timezone(timedelta(hours=-5)))
FIRST = datetime.min.replace(tzinfo=timezone(timedelta(hours=2)))
"""Times that UTC does not have."""
AT = datetime(2026, 1, 31, 12, 30, tzinfo=timezone(timedelta(hours=2)))


class Colour(Enum):
    RED = "red"


class Size(IntEnum):
    LARGE = 3


class State(StrEnum):
    PAID = "paid"


@dataclass(frozen=True)
class Line:
    name: str
    unit_price: Decimal


class Order(BaseModel):
    id: UUID
    total: Decimal = Field(alias="grandTotal")
    at: datetime
    state: State
    lines: list[Line]


@pydantic_dataclass
class Checked:
    amount: Decimal


Pair = namedtuple("Pair", "a b")

RAW = RawJson('{"total": 12345678901234567.10,  "note": "\\u00e9"}')


@dataclass(frozen=True)
class Row:
    id: int
    payload: RawJson


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Decimal("12345678901234567.10"), "12345678901234567.10"),
        ({"total": Decimal("1.10"), "items": [Decimal("-0.00"), 2]}, '{"total": 1.10, "items": [-0.00, 2]}'),
        (Decimal("1E+3"), "1E+3"),
        (AT, '"2026-01-31T10:30:00.000000Z"'),
        (datetime(2026, 1, 31, 12, 0, 0, 5, tzinfo=UTC), '"2026-01-31T12:00:00.000005Z"'),
        (date(2026, 1, 31), '"2026-01-31"'),
        (time(9, 30), '"09:30:00"'),
        (timedelta(days=1, hours=2, milliseconds=500), "93600.5"),
        (timedelta(minutes=-90), "-5400.0"),
        (timedelta.min, "-86399999913600.0"),
        (timedelta(), "0.0"),
        (KEY, f'"{KEY}"'),
        ([Colour.RED, Size.LARGE, State.PAID], '["red", 3, "paid"]'),
        ([Decimal("1.0"), Colour.RED, Size.LARGE, State.PAID], '[1.0, "red", 3, "paid"]'),
        (Line("a", Decimal("1.10")), '{"name": "a", "unit_price": 1.10}'),
        (Checked(Decimal("1.10")), '{"amount": 1.10}'),
        (RootModel[list[int]]([1]), "[1]"),
        (ChainMap({"a": (1, 2)}), '{"a": [1, 2]}'),
        (deque([True, None]), "[true, null]"),
        (Pair(1, Decimal("2.0")), "[1, 2.0]"),
        ({1: "a", None: "b", False: "c", 2.5: "d"}, '{"1": "a", "null": "b", "false": "c", "2.5": "d"}'),
        ({KEY: Decimal(1), date(2026, 1, 31): 2, Colour.RED: 3}, f'{{"{KEY}": 1, "2026-01-31": 2, "red": 3}}'),
        ({"zoë": "é"}, '{"zoë": "é"}'),
        (RAW, RAW),
        ({"row": RAW, "n": [RAW, (RAW,)]}, f'{{"row": {RAW}, "n": [{RAW}, [{RAW}]]}}'),
        (ChainMap({"row": RAW}), f'{{"row": {RAW}}}'),
        (Row(1, RAW), f'{{"id": 1, "payload": {RAW}}}'),
        ([Row(1, RAW)], f'[{{"id": 1, "payload": {RAW}}}]'),
        ({RawJson("1"): 2}, '{"1": 2}'),
    ],
)
def test_a_value_has_its_text(value: object, text: str) -> None:
    assert write(value) == text
    json.loads(text)


@pytest.mark.parametrize(
    "value",
    [
        [AT, date(2026, 1, 31), time(9, 30), timedelta(minutes=90), KEY, Colour.RED, Size.LARGE, State.PAID],
        [Decimal("12345678901234567.10"), 1.5, True, None, "é"],
        {1: "a", None: "b", KEY: Decimal(1), date(2026, 1, 31): 2, Colour.RED: 3},
        (RAW, {"row": RAW}, Pair(1, Decimal("2.0")), deque([1])),
        Order(id=KEY, grandTotal=Decimal("1.10"), at=AT, state=State.PAID, lines=[]),
        Checked(Decimal("1.10")),
    ],
)
def test_an_application_and_the_api_have_one_form_of_a_value(value: object) -> None:
    assert json.loads(encode(value), parse_float=str) == json.loads(write(value), parse_float=str)


def test_a_model_is_what_pydantic_writes() -> None:
    order = Order(id=KEY, grandTotal=Decimal("1.10"), at=AT, state=State.PAID, lines=[Line("a", Decimal("2.50"))])
    assert json.loads(write({"order": order})) == {"order": json.loads(order.model_dump_json(by_alias=True))}
    assert '"grandTotal": "1.10"' in write(order)


CYCLE: dict[str, Any] = {"a": [Decimal(1)]}
CYCLE["a"].append(CYCLE)


@dataclass
class Parent:
    child: object = None


PARENT = Parent()
PARENT.child = [PARENT]
DEEP: list[object] = []
for _ in range(100_000):
    DEEP = [DEEP]


@pytest.mark.parametrize(
    ("value", "message", "hint"),
    [
        ({"a": [1, float("nan")]}, r"\$\.a\[1\] is nan, which JSON does not have", "Send None"),
        ([Decimal("Infinity")], r"\$\[0\] is Infinity", "Send None"),
        ({"a b": {"c": Decimal("sNaN")}}, r"\$\['a b'\]\.c is sNaN", "Send None"),
        ({"at": AT.replace(tzinfo=None)}, r"\$\.at is 2026-01-31 12:30:00, which has no time zone", "datetime.now"),
        ({"file": b"x"}, r"\$\.file is bytes", "base64"),
        ([{1, 2}], r"\$\[0\] is a set, which has no order", "sorted"),
        ([Line("a", Decimal(1)), Line("b", object())], r"\$\[1\]\.unit_price is a object", "Send texts"),  # type: ignore[arg-type]
        (Line, r"\$ is a type", "Send texts"),
        (CYCLE, r"\$\.a\[1\]\.a contains itself|\$\.a\[1\] contains itself", "ends"),
        (PARENT, "contains itself", "ends"),
        (DEEP, "is nested too deeply|contains itself", "flatter"),
        ({(1, 2): 3}, r"\$ has a key that is a tuple", "as a text"),
        ({float("inf"): 3}, r"\$ has the key inf", "as a text"),
        ({datetime(2026, 1, 1, tzinfo=UTC): 3}, r"has a key that is a datetime", "as a text"),
        ([10**5000], r"\$\[0\]: ", "as a text"),
        ({"until": LAST}, r"\$\.until: ", "as a text"),
        ([Decimal(1), {"since": FIRST}], r"\$\[1\]\.since: ", "as a text"),
    ],
)
def test_what_has_no_json_is_refused_with_its_path(value: object, message: str, hint: str) -> None:
    with pytest.raises(NotJsonError, match=message) as error:
        write(value)
    assert hint in error.value.hint
    assert len(error.value.message) < 300
    if not isinstance(value, list) or not isinstance(value[0], set):  # an API's set has the order of its texts
        with pytest.raises(NotJsonError, match=message):
            encode(value)


def test_ascii_is_the_same_value() -> None:
    assert write_ascii({"zoë": "é😀 é"}) == '{"zo\\u00eb": "\\u00e9\\ud83d\\ude00 \\u00e9"}'


LEAVES: some.SearchStrategy[Any] = some.one_of(
    some.none(),
    some.booleans(),
    some.integers(),
    some.text(),
    some.decimals(allow_nan=False, allow_infinity=False),
)
VALUES = some.recursive(LEAVES, lambda inner: some.lists(inner) | some.dictionaries(some.text(), inner), max_leaves=20)


@given(VALUES)
def test_every_value_comes_back_as_it_was(value: object) -> None:
    def number(text: str) -> Decimal:
        return Decimal(text)

    back = json.loads(write(value), parse_float=number)
    assert back == value
    assert TypeAdapter(Any).dump_python(back) == value

"""Every value of JSON is a payload, to mypy and at run time."""

from collections import deque
from collections.abc import Mapping, Sequence
from decimal import Decimal
from types import MappingProxyType
from typing import TypedDict

import pytest

from svc_pg.errors import PayloadError
from svc_pg.webhooks.events.payloads import SchemaCheck, json_text


class Order(TypedDict):
    id: int
    items: list[str]


def test_whatever_a_caller_has_typed_is_taken_without_a_cast() -> None:
    order: Order = {"id": 7, "items": ["a"]}
    orders: list[Order] = [order]
    names: list[dict[str, str]] = [{"name": "Zoë"}]
    totals: Mapping[str, Sequence[int]] = MappingProxyType({"a": (1, 2)})
    pair: tuple[int, str] = (7, "b")
    assert json_text(order) == '{"id": 7, "items": ["a"]}'
    assert json_text(orders) == '[{"id": 7, "items": ["a"]}]'
    assert json_text(names) == '[{"name": "Zoë"}]'
    assert json_text(totals) == '{"a": [1, 2]}'
    assert json_text(pair) == '[7, "b"]'
    assert json_text(deque([True])) == "[true]"
    assert [json_text(each) for each in (7, 7.5, False, None)] == ["7", "7.5", "false", "null"]


def test_a_text_is_json_already_and_stays_as_it_is() -> None:
    assert json_text('{"total":12345678901234567.10}') == '{"total":12345678901234567.10}'


@pytest.mark.parametrize(
    "payload",
    [b"{}", {"id": b"7"}, {"id": {1, 2}}, [float("nan")], [object()], ["\ud800"], '"\ud800"', [Decimal("NaN")]],
)
def test_what_json_cannot_hold_is_refused(payload: list[object]) -> None:
    with pytest.raises(PayloadError, match="the payload is not JSON"):
        json_text(payload)


def test_a_schema_looks_at_what_is_sent() -> None:
    check = SchemaCheck("order.created", '{"type": "object", "properties": {"items": {"type": "array"}}}')
    assert check.problem([json_text(MappingProxyType({"items": ("a",)}))]) is None
    assert check.problem(['{"items": 7}']) is not None

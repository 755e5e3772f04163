import tomllib
from typing import Any

import pytest

from svc_pg import Config
from svc_pg.config import OnChange
from svc_pg.config.model import validated
from svc_pg.errors import ConfigError

RULE = {"table": "public.orders", "operation": "UPDATE", "event": "order.updated"}


def refusal(**changes: Any) -> str:
    webhooks = {"events": {"order.updated": {}}, "on_change": [RULE | changes]}
    with pytest.raises(ConfigError) as caught:
        validated(Config, {"webhooks": webhooks}, source="test")
    return caught.value.message.removeprefix("test: webhooks.")


def test_a_file_and_python_give_the_same_rules() -> None:
    written = tomllib.loads("""
        [webhooks.events."order.updated"]

        [[webhooks.on_change]]
        table = "orders"
        operation = "UPDATE"
        columns = ["status"]
        event = "order.updated"
        payload = { id = "id", oldStatus = "before.status" }

        [[webhooks.on_change]]
        table = "orders"
        operation = ["INSERT", "DELETE"]
        when = "true"
        event = "order.updated"
        payload = ["id", "status"]
        tenant = "shop"
        key = "id"
    """)
    config = Config()
    config.webhooks.event("order.updated")
    config.webhooks.on_change(
        "public.orders",
        "UPDATE",
        event="order.updated",
        columns=["status"],
        payload={"id": "id", "oldStatus": "before.status"},
    )
    config.webhooks.on_change(
        "orders",
        ("INSERT", "DELETE"),
        event="order.updated",
        when="true",
        payload=["id", "status"],
        tenant="shop",
        key="id",
    )
    assert Config.model_validate(written) == config


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"event": "order.udpated"}, 'on_change: event "order.udpated" is not defined; did you mean "order.updated"?'),
        ({"table": "svc.webhook_endpoints"}, "on_change[0].table: svc.webhook_endpoints belongs to svc-pg"),
        ({"table": "a.b.c"}, "on_change[0].table: 'a.b.c' is not a table name"),
        ({"operation": "TRUNCATE"}, "on_change[0].operation[0]: write 'INSERT', 'UPDATE' or 'DELETE'"),
        ({"operation": []}, "on_change[0].operation: write a list of at least 1"),
        ({"operation": "DELETE", "columns": ["a"]}, "on_change[0]: columns is for UPDATE"),
        ({"columns": []}, "on_change[0].columns: write a list of at least 1"),
        ({"when": "exists (\n SELECT from customer)"}, "on_change[0].when: a condition sees only before and after"),
        ({"payload": []}, "on_change[0].payload: an empty payload"),
        ({"payload": "rows"}, "on_change[0].payload: 'rows' is not a payload; write \"row\""),
        ({"payload": [1]}, "on_change[0].payload: [1] is not a payload"),
        ({"payload": {"a": 1}}, "on_change[0].payload: {'a': 1} is not a payload"),
        ({"operation": "INSERT", "payload": {"a": "before.a"}}, "on_change[0]: the payload names before, and INSERT"),
        ({"operation": "DELETE", "payload": {"a": "after.a"}}, "on_change[0]: the payload names after, and DELETE"),
        ({"key": ""}, "on_change[0]: '' names no column; write a column, or a text with columns in braces"),
        ({"key": "order-{}"}, "on_change[0]: 'order-{}' is not a key: a column has only its name; write a column"),
        ({"key": "order-{id"}, "on_change[0]: 'order-{id' is not a key: expected '}' before end of string"),
        ({"key": "{id!r}"}, "on_change[0]: '{id!r}' is not a key: a column has only its name"),
        ({"key": "{{id}}"}, "on_change[0]: '{{id}}' names no column"),
        ({"evnt": "x"}, 'on_change[0].evnt: unknown key; did you mean "event"?'),
    ],
)
def test_what_cannot_be_meant_is_refused_with_its_place(changes: dict[str, Any], problem: str) -> None:
    assert refusal(**changes).splitlines()[0].startswith(problem)


def test_the_same_rule_twice_is_refused() -> None:
    config = Config()
    config.webhooks.event("order.updated")
    config.webhooks.on_change("orders", "UPDATE", event="order.updated")
    with pytest.raises(ConfigError, match=r"the same rule twice, for public\.orders and order\.updated"):
        config.webhooks.on_change("public.orders", ["UPDATE"], event="order.updated")
    assert len(config.webhooks.change_events) == 1


def test_a_payload_names_the_row_that_there_is_or_one_of_the_two() -> None:
    rule = OnChange.model_validate(RULE | {"payload": {"a": "x", "b": "before.x", "c": "after.y.z", "d": "before"}})
    assert [tuple(value) for value in rule.values.values()] == [
        ("row", "x"),
        ("before", "x"),
        ("after", "y.z"),
        ("row", "before"),
    ]


@pytest.mark.parametrize(
    ("table", "key", "parts"),
    [
        ("orders", "id", ("orders:", "id")),
        ("shop.Orders", "Id", ("shop.Orders:", "Id")),
        ("orders", "order-{id}", ("order-", "id")),
        ("orders", "{region}/{{{id}}}", ("region", "/{", "id", "}")),
    ],
)
def test_a_key_is_a_column_or_a_text_with_columns(table: str, key: str, parts: tuple[str, ...]) -> None:
    rule = OnChange.model_validate(RULE | {"table": table, "key": key})
    assert tuple(part if isinstance(part, str) else part.column for part in rule.key_parts) == parts

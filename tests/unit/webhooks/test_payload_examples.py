"""Examples of payloads are made of the schema, whatever it holds."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from svc_pg.webhooks.events.payload_examples import example


@pytest.mark.parametrize(
    ("schema", "made"),
    [
        (
            {"type": "object", "properties": {"id": {"type": "integer"}, "ok": {"type": "boolean"}}},
            {"id": 7, "ok": True},
        ),
        ({"properties": {"at": {"format": "date"}}}, {"at": "2026-01-31"}),
        ({"type": "string", "examples": ["a"], "default": "b"}, "a"),
        ({"enum": ["x", "y"]}, "x"),
        ({"const": None}, None),
        ({"type": ["integer", "null"], "minimum": 10}, 10),
        ({"type": "array", "items": {"type": "string"}}, ["text"]),
        ({"anyOf": [{"type": "number"}, {"type": "null"}]}, 7),
        ({"$ref": "#/$defs/a~1b", "$defs": {"a/b": {"type": "boolean"}}}, True),
        ({"$ref": "#"}, None),
        ({"$ref": "https://example.com/schema"}, None),
        ({"$ref": "#/$defs/none"}, None),
        (True, None),
        ({}, None),
    ],
)
def test_an_example_is_made_of_the_types(schema: Any, made: object) -> None:
    assert example(schema) == made


def test_a_schema_that_refers_to_itself_ends() -> None:
    tree = {"$ref": "#/$defs/t", "$defs": {"t": {"type": "object", "properties": {"t": {"$ref": "#/$defs/t"}}}}}
    assert len(json.dumps(example(tree))) < 1000


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["type", "properties", "items", "$ref", "enum", "anyOf", "examples", "minimum", "format", "a"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=15,
)


@given(_JSON)
def test_no_schema_makes_it_fail(schema: Any) -> None:
    json.dumps(example(schema))

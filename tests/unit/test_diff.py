"""A JSON Patch (RFC 6902) of a difference leads from the snapshot before to the one after."""

import copy
import json
from dataclasses import replace
from datetime import UTC, datetime
from functools import reduce
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from svc_pg.audit import Entry, Snapshot, diff
from svc_pg.audit.past import diff as json_patches
from svc_pg.errors import QueryError
from svc_pg.webhooks.events.payloads import json_text

names = st.sampled_from(["a", "b", "a/b", "~", "~1", "", "ä"])
leaves = st.none() | st.booleans() | st.integers() | st.text(max_size=3)
lookalikes = st.recursive(
    st.sampled_from(["0", 0, "1", 1, True, 1.0, None, ""]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(names, inner, max_size=3),
)
values = st.recursive(leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3))
rows = st.dictionaries(names, values, max_size=4)

ENTRY = Entry(
    id="1",
    timestamp=datetime(2026, 1, 1, tzinfo=UTC),
    table_name="public.t",
    operation="UPDATE",
    record_id="1",
    actor_id=None,
    tenant_id=None,
    db_user="ann",
    db_role=None,
    before_data=None,
    after_data=None,
    changed_fields=None,
    label=None,
    severity=None,
    compliance=None,
    description=None,
    redacted_fields=None,
    context=None,
    xact_id="7",
    partition=None,
)


def entry(before: Any, after: Any, **values: Any) -> Entry:
    snapshots = [None if each is None else Snapshot(json.dumps(each)) for each in (before, after)]
    return replace(ENTRY, before_data=snapshots[0], after_data=snapshots[1], **values)


def applied(document: Any, steps: Any) -> Any:
    """The three operations of RFC 6902, for members of objects, items of lists and the whole document."""
    document = copy.deepcopy(document)
    for step in steps:
        if step["path"] == "":
            document = step.get("value")
            continue
        *above, last = [part.replace("~1", "/").replace("~0", "~") for part in step["path"].split("/")[1:]]
        parent = document
        for part in above:
            parent = parent[int(part) if isinstance(parent, list) else part]
        if isinstance(parent, list):
            place = int(last)
            if step["op"] == "add":
                assert place <= len(parent), step
                parent.insert(place, step["value"])
            elif step["op"] == "remove":
                del parent[place]
            else:
                parent[place] = step["value"]
            continue
        assert (last in parent) == (step["op"] != "add"), step
        if step["op"] == "remove":
            del parent[last]
        else:
            parent[last] = step["value"]
    return document


@given(before=rows | st.none(), after=rows | st.none())
def test_the_patch_leads_from_before_to_after(before: Any, after: Any) -> None:
    patch = json.loads(diff(entry(before, after)).patch.text)
    result = applied(before, patch)
    assert json.dumps(result, sort_keys=True) == json.dumps(after, sort_keys=True)  # True is not 1
    assert (patch == []) == (json.dumps(before, sort_keys=True) == json.dumps(after, sort_keys=True))


@pytest.mark.parametrize(
    ("before", "after", "patch"),
    [
        ('{"n": 1.0}', '{"n": 1.00}', '[{"op":"replace","path":"/n","value":1.00}]'),
        ('{"n": 12345678901234567.1}', '{"n": null}', '[{"op":"replace","path":"/n","value":null}]'),
        ('{"a/b": 1}', "{}", '[{"op":"remove","path":"/a~1b"}]'),
        (None, '{"n": 1}', '[{"op":"add","path":"","value":{"n":1}}]'),
        ('{"n": 1}', None, '[{"op":"remove","path":""}]'),
        ("[1]", "[1, 2.50]", '[{"op":"add","path":"/1","value":2.50}]'),
    ],
)
def test_numbers_stay_as_they_were_written(before: str | None, after: str | None, patch: str) -> None:
    snapshots = [None if each is None else Snapshot(each) for each in (before, after)]
    assert diff(replace(ENTRY, before_data=snapshots[0], after_data=snapshots[1])).patch.text == patch


def written(value: Any) -> str:
    """A text that tells True, 1 and 1.0 apart, which are equal in Python."""
    return json.dumps(value, sort_keys=True)


def lines(*quantities: int) -> dict[str, Any]:
    return {"lines": [{"product": f"number {place}", "quantity": each} for place, each in enumerate(quantities)]}


@pytest.mark.parametrize(
    ("before", "after", "steps"),
    [
        (lines(2, 2, 2), lines(2, 9, 2), [("replace", "/lines/1/quantity", "9")]),
        (lines(2, 2), lines(2, 2, 2), [("add", "/lines/2", '{"product":"number 2","quantity":2}')]),
        (lines(*[2] * 9), lines(*[2] * 7), [("remove", "/lines/7", None), ("remove", "/lines/7", None)]),
        (["kept a", "gone", "kept b"], ["kept a", "kept b"], [("remove", "/1", None)]),
        (["a long first item", 1], ["new", "a long first item", 1], [("add", "/0", '"new"')]),
        (["0", []], [0], [("replace", "", "[0]")]),
        (["0", "a"], [0, "a"], [("replace", "/0", "0")]),
        ([1], ["1"], [("replace", "/0", '"1"')]),
        ([1, 2, 3], [4, 5, 6], [("replace", "", "[4,5,6]")]),  # it is shorter than a step for each
    ],
)
def test_of_a_list_the_items_that_differ_are_named(before: Any, after: Any, steps: Any) -> None:
    found = diff(entry(before, after)).steps
    assert [(step.op, step.path, None if step.value is None else step.value.text) for step in found] == steps
    assert applied(before, json.loads(diff(entry(before, after)).patch.text)) == after


@given(before=st.lists(lookalikes, max_size=8), after=st.lists(lookalikes, max_size=8))
def test_a_patch_of_lists_leads_from_before_to_after(before: Any, after: Any) -> None:
    found = diff(entry({"list": before}, {"list": after}))
    patch = json.loads(found.patch.text)
    assert written(applied({"list": before}, patch)) == written({"list": after})
    assert (patch == []) == (found.fields == []) == (written(before) == written(after))


def test_of_much_that_is_nested_only_as_much_is_written_as_the_steps_are_long() -> None:
    def of(last: int) -> Any:
        return reduce(lambda inner, _: [inner], range(18), [*range(1_000), last])

    encoded: list[str] = []

    def text_of(value: Any) -> Snapshot:
        encoded.append(str(value))
        return Snapshot(str(value))

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(json_patches, "_text", text_of)
        steps = list(json_patches._all_steps(of(1), of(2)))
    assert [(step.op, step.path) for step in steps] == [("replace", "/0" * 18 + "/1000")]
    assert encoded == ["2"]


def test_fields_that_differ_in_their_text_alone_are_told() -> None:
    found = diff(entry({"a": 1, "b": 1}, {"a": 1, "b": 2}, changed_fields=["a", "b"], redacted_fields=["b"]))
    assert [(each.field, str(each.before), str(each.after), each.is_redacted) for each in found.fields] == [
        ("a", "1", "1", False), ("b", "None", "None", True)
    ]  # fmt: skip


def test_what_is_nested_too_deeply_to_be_compared_is_refused() -> None:
    def of_depth(depth: int) -> Entry:
        before, after = (Snapshot('{"a":' + "[" * depth + value + "]" * depth + "}") for value in "12")
        return replace(ENTRY, before_data=before, after_data=after)

    assert [field.field for field in diff(of_depth(100)).fields] == ["a"]
    for depth in (950, 5000):
        with pytest.raises(QueryError, match="nested too deeply"):
            diff(of_depth(depth))


def test_a_payload_has_the_values_of_a_difference_as_they_are() -> None:
    found = diff(entry({"credit": 1.5}, {"credit": 2.25, "note": "a"}))
    [credit, note] = found.fields
    assert json_text({"from": credit.before, "to": credit.after, "note": note.after}) == (
        '{"from": 1.5, "to": 2.25, "note": "a"}'
    )
    assert json_text([step.value for step in found.steps]) == '[2.25, "a"]'
    assert json_text({"patch": found.patch}) == f'{{"patch": {found.patch.text}}}'


def test_half_a_character_is_escaped() -> None:
    found = diff(entry({"a": "\ud800", "b": 1}, {"a": "x", "b": "\ud800"}))
    assert [str(field.before) for field in found.fields] == [r'"\ud800"', "1"]
    assert found.patch.value[1] == {"op": "replace", "path": "/b", "value": "\ud800"}
    assert found.patch.text.encode()
    assert json_text({"patch": found.patch})

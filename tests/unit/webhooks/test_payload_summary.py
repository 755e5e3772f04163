import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from svc_pg.webhooks.messages.payload_summary import summary_of

ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=8,
)


@pytest.mark.parametrize(
    ("beginning", "shown"),
    [
        ('{"id": 7, "total": 49.90}', "id 7, total 49.90"),
        (' {\n"id" : "a-7" ,"paid":true, "note": null, "lines": [{"sku": 1}], "n": 1e3}', "id a-7, paid true, n 1e3"),
        ('{"id": 12345678901234567.10}', "id 12345678901234567.10"),
        ('{"id": 7, "total": 49', "id 7"),  # cut off, so perhaps 49.90
        ('{"id": 7, "name": "An', "id 7"),
        ('{"id": 7,', "id 7"),
        ('{"id"', ""),
        ("{}", ""),
        ("", ""),
        ("[1, 2]", ""),
        ('"id"', ""),
        ('{"a": ' + "[" * 990, ""),
        ('{"a": "\\u0000\\ud800b\\u202e\\n c"}', "a b c"),
        ('{"text": "' + "x" * 100 + '"}', "text " + "x" * 39 + "…"),
        ('{"a": "' + "x" * 39 + '", "b": "' + "y" * 39 + '", "c": 1}', "a " + "x" * 39),
        ('{"": 1}', "1"),
        ('{"a": 1 "b": 2}', "a 1"),
    ],
)
def test_a_payload_is_summed_up_by_its_first_scalars(beginning: str, shown: str) -> None:
    assert summary_of(beginning) == shown


@pytest.mark.parametrize(
    ("keys", "shown"),
    [
        (["number"], "number A-1045"),
        (["total", "number"], "total 49.90, number A-1045"),
        (["customer.name", "number"], "customer.name Ann, number A-1045"),
        (["customer.age", "paid"], "customer.age 41, paid true"),
        (["missing", "number"], "number A-1045"),
        (["missing", "customer", "lines.0", "none", "number.x"], "type order, number A-1045, total 49.90, paid true"),
        ([], "type order, number A-1045, total 49.90, paid true"),
    ],
)
def test_the_keys_by_which_an_event_is_searched_come_first(keys: list[str], shown: str) -> None:
    payload = (
        '{"type": "order", "number": "A-1045", "total": 49.90, "customer": {"name": "Ann", "age": 41}, "lines": ["x"],'
        ' "none": null, "paid": true}'
    )
    assert summary_of(payload, keys) == shown


@given(value=ANY, end=st.integers(0, 200), is_ascii=st.booleans())
def test_a_summary_is_short_and_printable_wherever_the_text_ends(value: object, end: int, *, is_ascii: bool) -> None:
    beginning = json.dumps(value, ensure_ascii=is_ascii)[:end]
    for shown in (summary_of(beginning), summary_of(beginning, ["a", "", "b.c", "0"])):
        assert len(shown) <= 80
        assert all(each.isprintable() for each in shown)


@given(text=st.text(max_size=60))
def test_no_text_breaks_a_summary(text: str) -> None:
    assert len(summary_of("{" + text)) <= 80

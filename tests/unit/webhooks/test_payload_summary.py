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


@given(value=ANY, end=st.integers(0, 200), is_ascii=st.booleans())
def test_a_summary_is_short_and_printable_wherever_the_text_ends(value: object, end: int, *, is_ascii: bool) -> None:
    shown = summary_of(json.dumps(value, ensure_ascii=is_ascii)[:end])
    assert len(shown) <= 80
    assert all(each.isprintable() for each in shown)


@given(text=st.text(max_size=60))
def test_no_text_breaks_a_summary(text: str) -> None:
    assert len(summary_of("{" + text)) <= 80

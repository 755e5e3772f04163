import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli import json_text

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(st.characters()),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters()), inner),
    max_leaves=10,
)
texts = st.builds(json.dumps, values, indent=st.sampled_from([None, 0, 3]), ensure_ascii=st.booleans())


@given(text=texts)
def test_a_layout_holds_the_same_and_cannot_steer_a_terminal(text: str) -> None:
    for laid_out in (json_text.indented(text), json_text.one_line(text)):
        assert json.loads(laid_out) == json.loads(text)
        assert laid_out.replace("\n", "").isprintable()
    assert "\n" not in json_text.one_line(text)


@given(value=values)
def test_indented_is_what_python_indents(value: object) -> None:
    shown = json.dumps(value, indent=2, ensure_ascii=False)
    if shown.replace("\n", "").isprintable() and depth(value) < 20:
        assert json_text.indented(json.dumps(value, ensure_ascii=False)) == shown


def test_no_number_and_no_member_is_changed() -> None:
    text = '{"n": 12345678901234567.10, "n":-0.0,"e":1E400}'
    assert json_text.one_line(text) == text.replace(" ", "")
    assert json_text.indented(text) == '{\n  "n": 12345678901234567.10,\n  "n": -0.0,\n  "e": 1E400\n}'


def test_deep_nesting_does_not_make_a_small_text_huge() -> None:
    text = "[" * 500 + "1," * 1000 + "1" + "]" * 500
    assert len(json_text.indented(text)) < 50 * len(text)


def test_numbers_of_any_length_parse_as_text() -> None:
    digits = "9" * 5000
    assert json_text.parse(f'[{digits}, 1.10, "\\ud800"]') == [digits, "1.10", "\ud800"]


@pytest.mark.parametrize("text", ["", "NaN", "[1,]", "{id: 7}", "[" * 100_000, '"\x1b"', "1 2"])
def test_what_is_not_json_is_a_value_error(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - any of them
        json_text.parse(text)


def depth(value: object) -> int:
    children = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + max(map(depth, children), default=0)

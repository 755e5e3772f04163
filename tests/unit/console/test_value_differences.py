"""Values on pages: what differs is marked, what is long is cut, and nothing of a short value is lost."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from svc_pg.audit.log.value_texts import written
from svc_pg.console.pages.audit.value_differences import LONGEST, Value, alone, compared


def marked(value: Value) -> str:
    signs = {"same": "{}", "gone": "[-{}-]", "new": "[+{}+]"}
    return "".join(signs[part.kind].format(part.text) for part in value.parts)


@pytest.mark.parametrize(
    ("before", "after", "was", "now"),
    [
        (
            "ines@gmail-mail.example",
            "ines@okafor-studio.example",
            "ines@[-gmail-mail-].example",
            "ines@[+okafor-studio+].example",
        ),
        ("500.00", "2500.00", "[-500-].00", "[+2500+].00"),
        ("captured", "refunded", "[-captured-]", "[+refunded+]"),
        ("a b", "a c b", "a b", "a [+c +]b"),
        ("", "x", "", "[+x+]"),
        ("x", "", "[-x-]", ""),
    ],
)
def test_the_words_that_differ_are_marked(before: str, after: str, was: str, now: str) -> None:
    assert [marked(value) for value in compared(before, after)] == [was, now]


@given(st.text(max_size=LONGEST), st.text(max_size=LONGEST))
def test_the_parts_of_short_values_are_the_values(before: str, after: str) -> None:
    for text, value in zip((before, after), compared(before, after), strict=True):
        assert "".join(part.text for part in value.parts) == text
        assert value.size is None
    kept = [[part.text for part in value.parts if part.kind == "same"] for value in compared(before, after)]
    assert "".join(kept[0]) == "".join(kept[1])


@given(
    st.text(st.characters(exclude_characters="\0"), min_size=1, max_size=50), st.integers(0, 5000), st.integers(0, 5000)
)
def test_a_long_value_is_cut_and_its_difference_stays(word: str, before: int, after: int) -> None:
    text = "a " * before + word + " z" * after
    was, now = compared(text, text.replace(word, "\0", 1) if word not in "a z" else text + "\0")
    for value in (was, now, alone(text)):
        shown = "".join(part.text for part in value.parts)
        assert len(shown) <= LONGEST + 60
        assert (value.size is None) == (not any(part.is_cut for part in value.parts))
    assert any("\0" in part.text for part in now.parts if part.kind == "new")


def test_anything_can_be_written() -> None:
    nested: object = 1
    for _ in range(900):
        nested = [nested]
    assert written(nested)
    assert written({"a": None}) == '{"a":null}'

"""Values on pages: what differs is marked, what is long is cut, and nothing of a short value is lost."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from svc_pg.audit.log.value_texts import written
from svc_pg.console.pages.differences.values import LONGEST, Value, alone, fitted
from svc_pg.console.pages.differences.words import compared, stretches, tokens
from svc_pg.console.pages.differences.work import Work

LONG = "k" * 30
TEXTS = st.text(st.sampled_from("ab1 .-\t\n\u0301\u200d語"), max_size=40) | st.text(max_size=LONGEST)


def values(before: str, after: str) -> tuple[Value, Value]:
    was, now = compared(before, after, Work())
    return fitted(was, before), fitted(now, after)


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
        ("Call before 9 x 250.", "Call after 9 x 99.", "Call [-before-] 9 x [-250-].", "Call [+after+] 9 x [+99+]."),
        ("one two three", "zero one three five", "one [-two -]three", "[+zero +]one three[+ five+]"),
        ("日本語文", "日本字文", "日本[-語-]文", "日本[+字+]文"),
        ("Jose\u0301 x", "Jos\u00e9 x", "[-Jose\u0301-] x", "[+Jos\u00e9+] x"),
        (LONG + "1" + LONG, LONG + "2" + LONG, f"{LONG}[-1-]{LONG}", f"{LONG}[+2+]{LONG}"),
    ],
)  # fmt: skip
def test_the_words_that_differ_are_marked(before: str, after: str, was: str, now: str) -> None:
    assert [marked(value) for value in values(before, after)] == [was, now]


@given(st.text(max_size=LONGEST), st.text(max_size=LONGEST))
def test_the_parts_of_short_values_are_the_values(before: str, after: str) -> None:
    for text, value in zip((before, after), values(before, after), strict=True):
        assert "".join(part.text for part in value.parts) == text
        assert value.size is None
    kept = [[part.text for part in value.parts if part.kind == "same"] for value in values(before, after)]
    assert "".join(kept[0]) == "".join(kept[1])


@given(TEXTS, TEXTS)
def test_the_stretches_are_both_texts_and_the_same_from_both_sides(before: str, after: str) -> None:
    found = stretches(before, after, Work())
    assert "".join(stretch.before for stretch in found) == before
    assert "".join(stretch.after for stretch in found) == after
    assert [(each.after, each.before) for each in stretches(after, before, Work())] == found
    assert all(one.is_same != other.is_same for one, other in pairwise(found))


@given(TEXTS)
def test_tokens_are_the_text_and_a_mark_stays_with_its_letter(text: str) -> None:
    assert "".join(tokens(text)) == text
    assert not [token for token in tokens(text)[1:] if token.startswith("\u0301")]


@given(
    st.text(st.characters(exclude_characters="\0"), min_size=1, max_size=50), st.integers(0, 5000), st.integers(0, 5000)
)
def test_a_long_value_is_cut_and_its_difference_stays(word: str, before: int, after: int) -> None:
    text = "a " * before + word + " z" * after
    was, now = values(text, text.replace(word, "\0", 1) if word not in "a z" else text + "\0")
    for value in (was, now, alone(text)):
        shown = "".join(part.text for part in value.parts)
        assert len(shown) <= 2 * LONGEST
        assert (value.size is None) == (not any(part.is_cut for part in value.parts))
    assert any("\0" in part.text for part in now.parts if part.kind == "new")


def test_anything_can_be_written() -> None:
    nested: object = 1
    for _ in range(900):
        nested = [nested]
    assert written(nested)
    assert written({"a": None}) == '{"a":null}'

"""Characters that nobody sees are marked, so that no name looks like another by them."""
# ruff: noqa: RUF001 # letters of other scripts are what is tested

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from svc_pg.formats.unseen import marked


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("ann\u200b@corp.example", "ann⟨U+200B⟩@corp.example"),
        ("\u202eevil", "⟨U+202E⟩evil"),
        ("ann\u200d", "ann⟨U+200D⟩"),
        ("a\u200cn\ufe0fn", "a⟨U+200C⟩n⟨U+FE0F⟩n"),
        ("ann\u00a0", "ann⟨U+00A0⟩"),
        ("ann\U000e0041", "ann⟨U+E0041⟩"),
        ("\u3164", "⟨U+3164⟩"),
        ("a\u2028b\x85c\x00", "a⟨U+2028⟩b⟨U+0085⟩c⟨U+0000⟩"),
    ],
)
def test_what_nobody_sees_has_a_mark_with_its_number(text: str, shown: str) -> None:
    assert marked(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "Zoë Müller",
        "שלום",
        "می\u200cخواهم",
        "क\u094d\u200dष",
        "👩\u200d👩\u200d👧",
        "❤\ufe0f",
        "1\ufe0f\u20e3",
        "1\ufe0f\u20e3 of 2",
        "line\none\ttab",
    ],
)
def test_names_of_all_scripts_and_emojis_stay_as_they_are(text: str) -> None:
    assert marked(text) == text


@given(st.text())
def test_nothing_of_the_kinds_format_and_control_is_left_unless_it_joins(text: str) -> None:
    left = {character for character in marked(text) if unicodedata.category(character) in ("Cf", "Cc", "Zl", "Zp")}
    assert left <= {"\t", "\n", "\r", "\u200c", "\u200d"} | {
        character
        for character in left
        if unicodedata.name(character, "").startswith(("ARABIC", "SYRIAC", "KAITHI", "EGYPTIAN"))
    }

"""Characters that nobody sees are marks with names, and nothing else of a text changes."""
# ruff: noqa: RUF001 # letters of other scripts are what is tested

import pytest
from hypothesis import given
from hypothesis import strategies as st

from svc_pg.console.pages.differences.characters import lettered, pieces
from svc_pg.console.pages.rendering import ENVIRONMENT
from svc_pg.formats.unseen import marked

ODD = st.text(st.sampled_from("a é\t\n\r\u00a0\u200b\u200d\u202e\u0301\u0430\ud800\x85👩"), max_size=30)


def shown(text: str) -> str:
    return "".join(f"[{piece.glyph or piece.text}]" if piece.name else piece.text for piece in pieces(text))


@given(ODD | st.text(), st.booleans())
def test_the_pieces_are_the_text(text: str, is_inside: bool) -> None:  # noqa: FBT001 # hypothesis gives it by name
    found = [*pieces(text, is_inside=is_inside)]
    assert "".join(piece.text for piece in found) == text
    for piece in found:
        assert not piece.codes or "".join(map(chr, piece.codes)) == piece.text
        if not piece.name:
            assert marked(piece.text).replace("⟨", "") == piece.text.replace("⟨", "") or "\u200d" in text


@given(ODD)
def test_a_name_stays_whole(name: str) -> None:
    assert "".join(piece.text for piece in lettered(name)) == name


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Ines  Okafor ", "Ines[␣␣]Okafor[␣]"),
        ("Okafor\u00a0Studio", "Okafor[nbsp]Studio"),
        ("\u202eLtd", "[U+202E]Ltd"),
        ("a\r\nb", "a[CR][↵]b"),
        (" " * 50, "[␣\u00d750]"),
        ("m\u0430ra", "m[а]ra"),
        ("мара", "мара"),
        ("Jose\u0301", "Jose[◌\u0301]"),
        ("a\ud800", "a[U+D800]"),
        ("a\u200bb\ufeff", "a[zwsp]b[bom]"),
        ("é 👩\u200d👧", "é 👩\u200d👧"),
        ("שלום", "שלום"),
    ],
)
def test_what_nobody_sees_is_marked(text: str, wanted: str) -> None:
    assert shown(text) == wanted


def test_markup_of_a_mark_is_escaped_and_has_the_character_itself() -> None:
    template = ENVIRONMENT.from_string(
        '{% import "components.html" as ui %}{{ ui.seen(text | pieces) }}', globals={"request": None}
    )
    made = template.render(text="<b>\u202e</b>\n&#38;")
    assert "<b>" not in made
    assert "&#8238;</i>&lt;/b&gt;" in made
    assert 'aria-label="U+202E RIGHT-TO-LEFT OVERRIDE"' in made
    assert "</i><br>&amp;#38;" in made

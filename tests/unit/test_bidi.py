"""Texts that turn around what follows them, whatever isolates them."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from svc_pg.audit.change import Change, cut
from svc_pg.bidi import isolated

OPENING, CLOSING, SEPARATORS = "\u2066\u2067\u2068", "\u2069", "\x1c\x1d\x1e\x85\u2029"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\u202eann", "\u202eann"),
        ("\u202e\u2066ann", "\u202e\u2066ann\u2069"),
        ("\u2069\u202eann", "\ufffd\u202eann"),
        ("\u2029\u202eann", "\ufffd\u202eann"),
        ("\u2067שלמ\u2069 ann", "\u2067שלמ\u2069 ann"),
    ],
)
def test_a_text_closes_what_it_opens_and_nothing_else(text: str, shown: str) -> None:
    assert isolated(text) == cut(text) == shown
    change = Change("1", datetime.now(UTC), timedelta(), "DELETE", text, None, None, None, None, None, [], 0)
    assert change.who == shown


@given(st.text(alphabet="a\u202e\u202c" + OPENING + CLOSING + SEPARATORS))
def test_no_text_ends_the_isolate_around_it(text: str) -> None:
    shown, depth = isolated(text), 0
    for character in shown:
        depth += (character in OPENING) - (character == CLOSING)
        assert depth >= 0
        assert character not in SEPARATORS
    assert depth == 0
    assert isolated(shown) == shown

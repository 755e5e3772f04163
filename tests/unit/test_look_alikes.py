"""Texts that differ and look the same are told apart, and names of mixed letters are found."""
# ruff: noqa: RUF001 # letters of other scripts are what is tested

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from svc_pg.formats.confusables import ASCII_OF
from svc_pg.formats.look_alikes import alike, common_ends, is_mixed, twins

A = "U+0061 LATIN SMALL LETTER A"
CYRILLIC_A = "U+0430 CYRILLIC SMALL LETTER A"


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ("ann@corp", "аnn@corp", f"before has {A}; after has {CYRILLIC_A}"),
        ("José", "Jose\u0301", "before has U+00E9 LATIN SMALL LETTER E WITH ACUTE; "),
        ("Ω", "\u2126", "after has U+2126 OHM SIGN"),
        ("ａb", "ab", "before has U+FF41 FULLWIDTH LATIN SMALL LETTER A"),
        ("IBAN 10", "IBAN lO", "before has U+0031 DIGIT ONE, U+0030 DIGIT ZERO; after has U+006C LATIN"),
        ("corn", "com", "after has U+006D LATIN SMALL LETTER M"),
        ("ann", "ann ", "alike: after has U+0020 SPACE"),
        (" ann", "ann", "alike: before has U+0020 SPACE"),
        ("a  b", "a b", "alike: before has U+0020 SPACE"),
        ("a\r\nb", "a\nb", "alike: before has U+000D CARRIAGE RETURN"),
        ("a\tb", "a b", "before has U+0009 TABULATION; after has U+0020 SPACE"),
        ("a\u200b", "a⟨U+200B⟩", "before has U+200B ZERO WIDTH SPACE; "),
        ("a", "a\u200b", "alike: after has U+200B ZERO WIDTH SPACE"),
        ("a\u00a0b", "a b", "before has U+00A0 NO-BREAK SPACE; after has U+0020 SPACE"),
        ("1–2", "1-2", "before has U+2013 EN DASH"),
        ("O’Hara", "O'Hara", "before has U+2019 RIGHT SINGLE QUOTATION MARK"),
        ("х" * 9, "x" * 9, "before has U+0445 CYRILLIC SMALL LETTER HA; after has U+0078"),
        ("line\r\n" * 99_999, "line\n" * 99_999, "before has U+000D CARRIAGE RETURN"),
    ],
)
def test_the_characters_that_differ_are_named(before: str, after: str, told: str) -> None:
    assert told in alike(before, after)
    assert alike(before, after).startswith("These look alike: ")
    assert alike(after, before)


@pytest.mark.parametrize(
    ("before", "after"), [("a", "b"), ("", "x"), ("a b", "ab"), ("10", "100"), ("ann", "Ann"), ("x" * 999, "y" * 999)]
)
def test_of_what_anybody_sees_nothing_is_told(before: str, after: str) -> None:
    assert alike(before, after) == alike(before, before) == ""


def test_of_very_many_characters_the_first_are_named() -> None:
    told = alike("асеорх", "aceopx")
    assert told.count("U+") == 6
    assert told.count("and 3 other characters") == 2


@given(st.text(), st.sampled_from(["NFC", "NFD"]))
def test_the_normal_forms_of_a_text_look_alike(text: str, form: str) -> None:
    normal = unicodedata.normalize(form, text)  # type: ignore[arg-type]
    assert bool(alike(text, normal)) == (text != normal)


@given(st.text(st.sampled_from([chr(each) for each in ASCII_OF]), min_size=1))
def test_letters_of_the_table_look_as_the_letters_that_it_names(text: str) -> None:
    assert alike(text, text.translate(ASCII_OF))


@given(st.text("ab", max_size=9), st.text("ab", max_size=9))
def test_common_ends_are_those_of_both_and_do_not_overlap(before: str, after: str) -> None:
    head, tail = common_ends(before, after)
    assert before[:head] == after[:head]
    assert before[len(before) - tail :] == after[len(after) - tail :]
    assert head + tail <= min(len(before), len(after))


@pytest.mark.parametrize("name", ["аnn@corp.example", "paypaӏ", "ΑNN", "a\u0301б", "𝐚б"])
def test_a_word_of_letters_of_two_scripts_is_mixed(name: str) -> None:
    assert is_mixed(name)


@pytest.mark.parametrize("name", ["ann@corp.example", "Zoë", "Иван", "иван@corp.example", "Tシャツ", "ivan-петров", ""])
def test_names_of_one_script_a_word_are_not(name: str) -> None:
    assert not is_mixed(name)


def test_names_that_look_like_others_in_a_list_are_found() -> None:
    assert twins(["сео", "ceo", "mara", "mara", "jonas"]) == {"сео", "ceo"}
    assert twins(["ann smith", "annsmith"]) == frozenset()

"""Completion of questions: keys, then values, each offer the whole text with it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from svc_pg.audit.read.audit_filters import EntryFilter, SearchFilter
from svc_pg.questions import completion
from svc_pg.questions.completion import Known, Unfinished, unfinished
from svc_pg.questions.reading import MOST_CHARACTERS, terms
from svc_pg.questions.words import vocabulary
from svc_pg.webhooks.endpoints.endpoint_filters import EndpointFilter
from tests.unit.console.test_questions import TEXTS

WORDS = vocabulary(EntryFilter, SearchFilter)


def part_of(text: str) -> Unfinished:
    found = unfinished(text, WORDS)
    assert found is not None
    return found


def offered(text: str) -> list[str]:
    part = part_of(text)
    return [each.text for each in (completion.keys(part, WORDS) if part.filter is None else completion.choices(part))]


@pytest.mark.parametrize(
    ("text", "offers"),
    [
        ("act", ["actor:"]),
        ("tent -ac", ["tent -actor:"]),
        ("y", ["yesterday "]),
        ("severity:cr", ["severity:critical "]),
        ("severity:low,h", ["severity:low,high "]),
        ('actor:"two words" operation:u', ['actor:"two words" operation:UPDATE ']),
        ("since:y", ["since:yesterday "]),
        ("xyz", []),
    ],
)
def test_an_offer_is_the_whole_text_with_it(text: str, offers: list[str]) -> None:
    assert offered(text) == offers


@pytest.mark.parametrize(
    ("text", "before", "typed"),
    [
        ("actor:ma", "actor:", "ma"),
        ("x actor:", "x actor:", ""),
        ('actor:"two wo', "actor:", "two wo"),
        ('actor:a,"b c",d', 'actor:a,"b c",', "d"),
        ('-actor:"said \\"no', "-actor:", 'said "no'),
    ],
)
def test_a_value_is_looked_up_by_what_is_typed_of_it(text: str, before: str, typed: str) -> None:
    part = part_of(text)
    assert (part.before, part.typed) == (before, typed)
    [first, *_] = completion.offers(part, [Known("<b>, x")])
    assert first.text == before + '"<b>, x" '


def test_nothing_is_offered_for_what_is_no_key_or_too_long() -> None:
    for text in ("aktor:m", '"tent', "10:3", "x" * (MOST_CHARACTERS + 1)):
        assert unfinished(text, WORDS) is None
    part = part_of("x " * (MOST_CHARACTERS // 2 - 4) + "actor:")
    assert completion.offers(part, [Known("a" * 20)]) == []


def test_a_list_without_times_offers_none_and_a_flag_has_two_values() -> None:
    words = vocabulary(EndpointFilter)
    part = unfinished("t", words)
    assert part is not None
    assert [each.shown for each in completion.keys(part, words)] == ["tenant:", "text:"]
    part = unfinished("needs-attention:t", words)
    assert part is not None
    assert [each.text for each in completion.choices(part)] == ["needs-attention:true "]


@given(TEXTS, st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=9))
def test_an_offer_is_read_as_the_value_that_it_shows(text: str, value: str) -> None:
    asked = f"{text} actor:"
    part = unfinished(asked, WORDS)
    if part is not None and part.before == asked:  # unless a quote, which the text began, holds this key
        [made] = completion.offers(part, [Known(value)])
        *_, last = terms(made.text[len(text) :], WORDS)
        assert last.values == (value,)

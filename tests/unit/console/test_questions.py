"""Questions as text: read as filters, written as text again, and refused in plain words."""

from datetime import UTC, datetime, timedelta
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from svc_pg.audit.read.audit_filters import EntryFilter, SearchFilter
from svc_pg.database.filters import MAX_VALUES, filters_of
from svc_pg.questions import times
from svc_pg.questions.reading import MOST_TERMS, QuestionError, days_of, read
from svc_pg.questions.words import Vocabulary, vocabulary
from svc_pg.questions.writing import written
from svc_pg.webhooks.deliveries.delivery_filters import DeliveryFilter
from svc_pg.webhooks.endpoints.endpoint_filters import EndpointFilter
from svc_pg.webhooks.messages.message_queries import MessageFilter

NOW: Final = datetime(2026, 11, 28, 8, 30, tzinfo=UTC)
WORDS: Final = vocabulary(EntryFilter, SearchFilter)
UNSEARCHED: Final = vocabulary(EntryFilter)
OTHERS: Final = {each.__name__: vocabulary(each) for each in (DeliveryFilter, MessageFilter, EndpointFilter)}
ID: Final = "0190c0de-7a11-7c01-8000-000000000001"
YESTERDAY: Final = {"since": ["2026-11-27"], "until": ["2026-11-28"]}
PIECES: Final = [
    *("actor:", "-actor:", "table:", "severity:", "min-severity:", "since:", "until:", "text:", "record:", "Actor:"),
    *("mara", "critical", "today", "yesterday", "1h", "2026-11-27", "2026-13-45", "9999-12-31", "or", "-tent", "é"),
    *('"', '"tent pole"', '-"x"', ",", ":", "\\", '\\"', " ", "  ", "\t", "\u202e", "<b>", "a,b", "[7, 2]", "\0"),
]
TEXTS: Final = st.lists(st.sampled_from(PIECES) | st.text(max_size=4), max_size=14).map("".join)
VALUES: Final = st.sampled_from(
    ["a", "a,b", 'x"y', '"', "\\", '\\"', "a b", " ", "today", "-x", "key:x", "1h"]
) | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=8)


def asked(text: str) -> dict[str, list[str]]:
    return read(text, WORDS, now=NOW)


def answered(text: str) -> dict[str, list[str]] | str:
    try:
        return asked(text)
    except QuestionError as error:
        return str(error)


def refused(text: str) -> str:
    with pytest.raises(QuestionError) as error:
        asked(text)
    return str(error.value)


def test_each_part_of_a_question_is_a_filter() -> None:
    assert asked('actor:mara severity:critical yesterday table:orders "tent"') == {
        "actor": ["mara"],
        "severity": ["critical"],
        "since": ["2026-11-27"],
        "until": ["2026-11-28"],
        "resource": ["orders"],
        "text": ['"tent"'],
    }


@pytest.mark.parametrize(
    ("text", "filters"),
    [
        ("", {}),
        (" \t ", {}),
        ("today", {"since": ["2026-11-28"]}),
        ("1h", {"since": ["1h"]}),
        ("2026-11-27", {"since": ["2026-11-27"], "until": ["2026-11-28"]}),
        ("since:yesterday until:today", {"since": ["2026-11-27"], "until": ["2026-11-28"]}),
        ("until:2026-11-27T10:00:00Z", {"until": ["2026-11-27T10:00:00Z"]}),
        ("actor:mara,bob -actor:checkout", {"actor": ["mara", "bob"], "notActor": ["checkout"]}),
        ('actor:"Mara, the first",bob', {"actor": ["Mara, the first", "bob"]}),
        ('label:"said \\"no\\""', {"label": ['said "no"']}),
        ("actor:CORP\\mara", {"actor": ["CORP\\mara"]}),
        ("record:[7,2]", {"record": ["[7,2]"]}),
        ('contains:{"status":"paid"}', {"contains": ['{"status":"paid"}']}),
        ("Severity:CRITICAL operation:update", {"severity": ["critical"], "operation": ["UPDATE"]}),
        ("not-table:a", {"notResource": ["a"]}),
        ('refund or -test "two words" -"one more"', {"text": ['refund or -test "two words" -"one more"']}),
        ('"today" 10:30', {"text": ['"today" 10:30']}),
        ('"actor:mara"', {"text": ['"actor:mara"']}),
        ("min-severity:high missing:actor", {"minSeverity": ["high"], "missing": ["actor"]}),
    ],
)
def test_a_text_is_read_as_filters(text: str, filters: dict[str, list[str]]) -> None:
    assert asked(text) == filters
    assert asked(written(asked(text), WORDS)) == asked(text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("aktor:mara", "There is no key aktor. Known are since, until, table, record, actor"),
        ("-record:1", "record has no “not”. These have: -table, -actor"),
        ("actor:a actor:b", "actor: is given twice. Write its values with commas: actor:one,two."),
        ("record:a record:b", "record: is given twice."),
        ("today 1h", "The time, since, is given twice."),
        ("text:a b", "The text to search for is given twice."),
        ('say "tent', 'A quote is not closed: "tent'),
        ('actor:"tent', "A quote is not closed"),
        ('"a"b', "Write a blank after the closing quote, before “b”."),
        ("actor:", "actor: has no value"),
        ("actor: mara", "actor: has no value"),
        ("actor:a,", "actor: has no value"),
        ('actor:""', "actor: has an empty value"),
        ("severity:urgent", "severity: cannot be “urgent”. It can be low, medium, high, critical."),
        ("since:tomorrow", "since: cannot be “tomorrow”: write 1h, 7d, 2026-01-31 or 2026-01-31T12:00:00Z."),
        ("since:2026-01-31T12:00:00", "since: cannot be"),
        ("transaction:x", "transaction: cannot be “x”: write up to 18 digits."),
        ("2026-13-45", "There is no day 2026-13-45"),
        ("9999-12-31", "There is no day 9999-12-31"),
        ("a\0b", "NUL"),
        ("x" * 100_000, "The question has 100,000 characters. It may have up to 2,000."),
        ("a " * (MOST_TERMS + 1), "A question has up to 60 keys and words."),
        ("actor:" + ",".join(map(str, range(MAX_VALUES + 1))), "actor: has 21 values. It may have up to 20."),
        ("\u202eevil\u202c:x", ""),
    ],
)
def test_what_is_not_understood_is_said_in_plain_words(text: str, words: str) -> None:
    if not words:
        assert asked(text) == {"text": [text]}  # a word, which the page shows by itself
        return
    said = refused(text)
    assert words in said
    assert len(said) < 400


def test_only_a_key_that_takes_several_values_is_told_how_to_write_them() -> None:
    assert refused("record:a record:b") == "record: is given twice."
    most = [str(number) for number in range(MAX_VALUES)]
    assert asked("actor:" + ",".join(most)) == {"actor": most}


def test_a_log_without_a_search_has_no_words() -> None:
    with pytest.raises(QuestionError, match="cannot be searched for words"):
        read("tent", UNSEARCHED, now=NOW)
    with pytest.raises(QuestionError, match="no key text"):
        read("text:tent", UNSEARCHED, now=NOW)


def test_every_filter_of_the_log_has_a_key() -> None:
    declared = {**filters_of(EntryFilter), **filters_of(SearchFilter)}
    assert {each.api for each in WORDS.filters.values()} == {each.api for each in declared.values()}
    assert len(WORDS.filters) == len(declared)


@pytest.mark.parametrize(
    ("list_", "text", "filters"),
    [
        ("DeliveryFilter", "status:FAILED 24h", {"status": ["failed"], "since": ["24h"]}),
        ("DeliveryFilter", f"endpoint:{ID} finished-since:1h", {"endpointId": [ID], "finishedSince": ["1h"]}),
        ("DeliveryFilter", f"ids:{ID},b", {"ids": [f"{ID},b"]}),
        ("MessageFilter", "event:order.paid yesterday", {"event": ["order.paid"], **YESTERDAY}),
        ("EndpointFilter", "needs-attention:true", {"needsAttention": ["true"]}),
        ("EndpointFilter", "north wind status:active", {"status": ["active"], "text": ["north wind"]}),
        ("EndpointFilter", '"north  wind"', {"text": ["north  wind"]}),
        ("EndpointFilter", "today", {"text": ["today"]}),
        ("EndpointFilter", 'text:"say \\"no\\""', {"text": ['say "no"']}),
    ],
)
def test_other_lists_are_asked_by_their_own_filters(list_: str, text: str, filters: dict[str, list[str]]) -> None:
    words = OTHERS[list_]
    assert read(text, words, now=NOW) == filters
    assert read(written(filters, words), words, now=NOW) == filters


@pytest.mark.parametrize(
    ("list_", "text", "said"),
    [
        ("DeliveryFilter", "tent", "This list cannot be searched for words. It knows the keys since, until, status"),
        ("DeliveryFilter", "-status:failed", "status has no “not”. These have: none."),
        ("DeliveryFilter", "status:failed status:pending", "status: is given twice."),
        ("DeliveryFilter", "aktor:mara", "finished-since, finished-until."),
        ("EndpointFilter", "since:1h", "There is no key since. Known are status, tenant, event, text, "),
        ("EndpointFilter", "needs-attention:maybe", "needs-attention: cannot be “maybe”: write true or false."),
        ("EndpointFilter", '-"north wind"', "Words have no “not” in this list"),
        ("EndpointFilter", 'shop "north wind"', "The text to search for is given twice."),
    ],
)
def test_other_lists_say_what_they_cannot_be_asked(list_: str, text: str, said: str) -> None:
    with pytest.raises(QuestionError) as error:
        read(text, OTHERS[list_], now=NOW)
    assert said in str(error.value)


@given(TEXTS, st.sampled_from([*OTHERS]))
def test_no_text_makes_anything_else_in_other_lists(text: str, list_: str) -> None:
    words = OTHERS[list_]
    try:
        found = read(text, words, now=NOW)
    except QuestionError as error:
        found, text = {}, str(error)
    assert len(text) < 600
    again = written(found, words)
    assert read(again, words, now=NOW) == found
    assert written(read(again, words, now=NOW), words) == again


@given(TEXTS)
def test_no_text_makes_anything_but_a_question_or_a_plain_error(text: str) -> None:
    found = answered(text)
    if isinstance(found, str):
        assert len(found) < 600
        assert found.endswith(".")
        return
    again = written(found, WORDS)
    assert asked(again) == found
    assert written(asked(again), WORDS) == again


@pytest.mark.parametrize("words", [WORDS, *OTHERS.values()], ids=["EntryFilter", *OTHERS])
@given(data=st.data())
def test_filters_of_an_address_are_the_same_after_the_text(words: Vocabulary, data: st.DataObject) -> None:
    filters: dict[str, list[str]] = {}
    for each in data.draw(st.lists(st.sampled_from([*words.filters.values()]), unique_by=lambda f: f.api)):
        if each.choices:
            values = st.sampled_from(each.choices)
        elif each.kind == "time":
            values = st.sampled_from(["1h", "7d", "2026-11-27", "2026-11-28", "2026-11-27T10:00:00+01:00", "P1D"])
        elif each.kind == "number":
            values = st.integers(0, 10**17).map(str)
        elif each.kind == "flag":
            values = st.sampled_from(["true", "false"])
        elif each.kind == "ids":
            values = st.lists(VALUES.filter(lambda v: "," not in v), min_size=1, max_size=30, unique=True).map(",".join)
        else:
            values = VALUES
        most = 3 if each.kind == "texts" else 1
        filters[each.api] = data.draw(st.lists(values, min_size=1, max_size=most, unique=True))
    assert read(written(filters, words), words, now=NOW) == filters


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("yesterday", ["yesterday"]),
        ("actor:mara TODAY", ["today"]),
        ("since:yesterday until:today", ["today", "yesterday"]),
        ("2026-11-27", []),
        ("1h", []),
        ('actor:today "yesterday" tent', []),
    ],
)
def test_a_word_for_a_day_is_written_as_it_was_asked_until_the_day_is_over(text: str, days: list[str]) -> None:
    assert days_of(text, WORDS) == days
    again = written(asked(text), WORDS, times.words_by_date(days, NOW))
    assert asked(again) == asked(text)
    assert days_of(again, WORDS) == days or text.startswith("since:"), "two times that are one day are its word"
    tomorrow = NOW + timedelta(days=1)
    later = written(asked(text), WORDS, times.words_by_date(days, tomorrow))
    assert read(later, WORDS, now=tomorrow) == asked(text), "an address means the same tomorrow"


def test_a_date_that_was_written_as_one_stays_one() -> None:
    assert written(asked("2026-11-27"), WORDS) == "2026-11-27"
    assert written(asked("24h"), WORDS) == "24h"


@pytest.mark.parametrize("text", ["mara tent", 'mara "today" tent', 'mara "24h" tent'])
def test_words_are_quoted_only_if_they_would_be_times(text: str) -> None:
    assert written(asked(text), WORDS) == text
    assert written(asked("2026-11-28"), WORDS, times.words_by_date(["today", "yesterday"], NOW)) == "2026-11-28"

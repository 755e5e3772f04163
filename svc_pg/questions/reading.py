"""Read a question: its text becomes the filters of a list, by their names in an address.

``key:value`` is a filter, ``-key:value`` leaves the value out, a comma stands between several values, and quotes hold
what has blanks or commas together. ``today``, ``yesterday``, a date and ``1h`` are times. All other words are searched
for. What cannot be read is an error in plain words, never a guess.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Final

from svc_pg.database.filters import MAX_VALUES, ListFilter
from svc_pg.formats.unseen import marked
from svc_pg.questions import times
from svc_pg.questions.words import SINCE, TEXT, UNTIL, Vocabulary, takes_several, written_key

MOST_CHARACTERS: Final = 2000
MOST_TERMS: Final = 60
"""The most keys and words of one question."""

_KEY: Final = re.compile(r"(-?)([A-Za-z][A-Za-z_-]*):")
_QUOTED: Final = re.compile(r'"((?:[^"\\]|\\["\\]|\\(?!["\\]))*)"')
_ESCAPED: Final = re.compile(r'\\(["\\])')
_PHRASE: Final = re.compile(r'-?"[^"]*"')
_BARE: Final = re.compile(r"\S+")
_BARE_AMONG: Final = re.compile(r"[^\s,]+")
_LONGEST: Final = 60


class QuestionError(ValueError):
    """A question that cannot be read; the message is a sentence that says how to write it."""


@dataclass(frozen=True, slots=True)
class Term:
    """A key with its values, or, without a filter, one word."""

    values: tuple[str, ...]
    filter: ListFilter | None = None


def read(text: str, words: Vocabulary, *, now: datetime) -> dict[str, list[str]]:
    """The filters of a question, by their names in an address. Raises QuestionError."""
    check_size(text)
    found: dict[str, list[str]] = {}
    spoken: list[str] = []
    for number, term in enumerate(terms(text, words)):
        if number >= MOST_TERMS:
            raise QuestionError(f"A question has up to {MOST_TERMS} keys and words. Ask for less at once.")
        if term.filter is not None:
            _add(found, term.filter, [_value(term.filter, value, now) for value in term.values])
        elif words.has_times and (named := _period(term.values[0], now)) is not None:
            for name, value in named.items():
                _add(found, words.filters[name], [value])
        else:
            spoken += term.values
    if spoken:
        if not words.has_words:
            raise QuestionError(f"This list cannot be searched for words. It knows the keys {_known(words)}.")
        _add(found, words.filters[TEXT], [" ".join(spoken)])
    return found


def days_of(text: str, words: Vocabulary) -> list[str]:
    """The words ``today`` and ``yesterday`` by which a question names its times. Raises QuestionError."""
    said = {
        value.casefold()
        for term in terms(text, words)
        if words.has_times and (term.filter is None or term.filter.option in (SINCE, UNTIL))
        for value in term.values
    }
    return [day for day in times.DAYS if day in said]


def has_keys(text: str, words: Vocabulary) -> bool:
    """True if a text is plainly a question: it has keys of this list, and none that the list does not know."""
    try:
        found = [term.filter for term in islice(terms(text, words), MOST_TERMS)]
    except QuestionError:
        return False
    return any(wanted is not None and wanted.option != TEXT for wanted in found)


def check_size(text: str) -> None:
    """Raise QuestionError for a text that is too long, or has a character that no entry can have."""
    if len(text) > MOST_CHARACTERS:
        raise QuestionError(f"The question has {len(text):,} characters. It may have up to {MOST_CHARACTERS:,}.")
    if "\0" in text:
        raise QuestionError("The question has the character NUL, which nothing in the list has.")


def terms(text: str, words: Vocabulary) -> Iterator[Term]:
    """The keys and words of a question in their order. Raises QuestionError."""
    at = 0
    while at < len(text):
        if text[at].isspace():
            at += 1
        elif key := _KEY.match(text, at):
            wanted = _filter(words, key[2], is_excluded=bool(key[1]))
            values, at = _values(text, key.end(), wanted)
            yield Term(values, wanted)
        elif words.has_words and not words.has_search and text.startswith(('"', '-"'), at):
            wanted = words.filters[TEXT]
            if text[at] == "-":
                raise QuestionError("Words have no “not” in this list, which is searched for letters as they are.")
            values, at = _values(text, at, wanted)
            yield Term(values, wanted)
        else:
            is_phrase = text.startswith(('"', '-"'), at)
            word = (_PHRASE if is_phrase else _BARE).match(text, at)
            if word is None:
                raise _unclosed(text[at:])
            at = word.end()
            if is_phrase:
                _check_end(text, at)
            yield Term((word[0],))


def _filter(words: Vocabulary, key: str, *, is_excluded: bool) -> ListFilter:
    wanted = words.find(key, is_excluded=is_excluded)
    if wanted is not None:
        return wanted
    if is_excluded and words.find(key, is_excluded=False):
        raise QuestionError(f"{key} has no “not”. These have: {_known(words, '-')}.")
    name = _shown(key)
    search = f' To search for it, write "{name}:…".' if words.has_words else ""
    raise QuestionError(f"There is no key {name}. Known are {_known(words)}.{search}")


def _values(text: str, at: int, wanted: ListFilter) -> tuple[tuple[str, ...], int]:
    """The values after a key, and the position of what comes next."""
    found: list[str] = []
    key = written_key(wanted.option)
    while True:
        if quoted := _QUOTED.match(text, at):
            found.append(_ESCAPED.sub(r"\1", quoted[1]))
            at = quoted.end()
        elif text.startswith('"', at):
            raise _unclosed(text[at:])
        elif bare := (_BARE_AMONG if takes_several(wanted) else _BARE).match(text, at):
            found.append(bare[0])
            at = bare.end()
        else:
            raise QuestionError(f"{key}: has no value. Write it right after the colon.")
        if not found[-1]:
            raise QuestionError(f"{key}: has an empty value.")
        if not (takes_several(wanted) and text.startswith(",", at)):
            _check_end(text, at)
            return tuple(dict.fromkeys(found)), at
        at += 1


def _value(wanted: ListFilter, value: str, now: datetime) -> str:
    """A value as an address has it. Raises QuestionError if the filter cannot have it."""
    key = written_key(wanted.option)
    if wanted.choices:
        known = next((choice for choice in wanted.choices if choice.casefold() == value.casefold()), None)
        if known is None:
            raise QuestionError(f"{key}: cannot be “{_shown(value)}”. It can be {', '.join(wanted.choices)}.")
        return known
    if wanted.kind == "time":
        value = times.point(value, now)
    try:
        wanted.read(value)
    except ValueError as error:
        raise QuestionError(f"{key}: cannot be “{_shown(value)}”: {_reason(error)}.") from error
    return value


def _add(found: dict[str, list[str]], wanted: ListFilter, values: list[str]) -> None:
    key = written_key(wanted.option)
    if wanted.api in found:
        several = f" Write its values with commas: {key}:one,two." if takes_several(wanted) else ""
        raise QuestionError(f"{_said(wanted)} is given twice.{several}")
    if len(values) > MAX_VALUES and wanted.kind != "ids":
        raise QuestionError(f"{key}: has {len(values)} values. It may have up to {MAX_VALUES}.")
    values = list(dict.fromkeys(values))
    found[wanted.api] = [",".join(values)] if wanted.kind == "ids" else values


def _period(word: str, now: datetime) -> dict[str, str] | None:
    try:
        return times.period(word, now)
    except ValueError as error:
        raise QuestionError(f'There is no day {_shown(word)}. To search for it, write "{_shown(word)}".') from error


def _said(wanted: ListFilter) -> str:
    if wanted.kind == "time":
        return f"The time, {wanted.option},"
    return "The text to search for" if wanted.option == TEXT else f"{written_key(wanted.option)}:"


def _check_end(text: str, at: int) -> None:
    if at < len(text) and not text[at].isspace():
        raise QuestionError(f"Write a blank after the closing quote, before “{_shown(text[at:])}”.")


def _unclosed(rest: str) -> QuestionError:
    return QuestionError(f'A quote is not closed: {_shown(rest)} Write another " at its end.')


def _known(words: Vocabulary, beginning: str = "") -> str:
    """The keys, with those that exclude as a short remark, or those alone if ``beginning`` asks for them."""
    if beginning:
        return ", ".join(key for key in words.keys if key.startswith(beginning)) or "none"
    plain = [key for key in words.keys if not key.startswith("-")]
    return ", ".join(plain) + ("" if len(plain) == len(words.keys) else ", and some with a minus before them")


def _reason(error: ValueError) -> str:
    _, mark, reason = str(error).rpartition("; ")
    return reason if mark else str(error)


def _shown(text: str) -> str:
    """The beginning of a text of the question, its invisible characters by their names."""
    return marked(text[:_LONGEST]) + ("…" if len(text) > _LONGEST else "")

"""Complete a question: the part at the end of its text that is not finished, and the texts that could finish it."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from svc_pg.database.filters import ListFilter
from svc_pg.questions.reading import MOST_CHARACTERS
from svc_pg.questions.words import Vocabulary, takes_several
from svc_pg.questions.writing import value_of

TIMES: Final = ("1h", "24h", "7d", "30d", "today", "yesterday")
FLAGS: Final = ("true", "false")
MOST_OFFERED: Final = 10

_KEYED: Final = re.compile(r"(-?)([A-Za-z][A-Za-z_-]*):(.*)\Z", re.DOTALL)
_KEY: Final = re.compile(r"-?[A-Za-z_-]*")
_FINISHED: Final = re.compile(r'(?:(?:"(?:[^"\\]|\\.)*"|[^\s,"][^\s,]*),)*')


@dataclass(frozen=True, slots=True)
class Unfinished:
    """The end of a question: what is before it, what is ``typed`` of it, and the filter whose value that is.

    Without a filter it is the beginning of a key or a word.
    """

    before: str
    typed: str
    filter: ListFilter | None = None


@dataclass(frozen=True, slots=True)
class Offer:
    """An offer as it is shown, the whole text with it, and what is said about it."""

    shown: str
    text: str
    about: str = ""


@dataclass(frozen=True, slots=True)
class Known:
    """A value of a filter, or, if ``is_begun``, its beginning. If it is an id, ``name`` is what people call it."""

    value: str
    name: str = ""
    about: str = ""
    is_begun: bool = False


def unfinished(text: str, words: Vocabulary) -> Unfinished | None:
    """The part of a question that its end leaves open; None if nothing is known that could finish it."""
    if len(text) > MOST_CHARACTERS:
        return None
    start = _start_of_last(text)
    last = text[start:]
    if found := _KEYED.match(last):
        wanted = words.find(found[2], is_excluded=bool(found[1]))
        if wanted is None:
            return None
        values = start + found.start(3)
        if takes_several(wanted) and (finished := _FINISHED.match(text, values)):
            values = finished.end()
        return Unfinished(text[:values], _unquoted(text[values:]), wanted)
    return Unfinished(text[:start], last) if _KEY.fullmatch(last) else None


def keys(part: Unfinished, words: Vocabulary) -> list[Offer]:
    """The keys that begin with what is typed, and times if the list has some."""
    typed = part.typed.casefold()
    found = [f"{key}:" for key in words.keys if key.startswith(typed)]
    if not typed:
        found = [key for key in found if not key.startswith("-")]
    offers = [Offer(key, part.before + key) for key in found]
    if typed and words.has_times:
        offers += [Offer(time, f"{part.before}{time} ") for time in TIMES if time.startswith(typed)]
    return offers


def choices(part: Unfinished) -> list[Offer]:
    """The values that begin with what is typed, of a filter that has few, or of a time."""
    if part.filter is None:
        return []
    few: Mapping[str, Sequence[str]] = {"time": TIMES, "flag": FLAGS}
    known = few.get(part.filter.kind, part.filter.choices)
    return offers(part, [Known(each) for each in known if each.casefold().startswith(part.typed.casefold())])


def offers(part: Unfinished, values: Iterable[Known]) -> list[Offer]:
    """An offer for each value of the filter, as far as the question stays short enough."""
    if part.filter is None:
        return []
    made = [
        Offer(
            each.name or each.value,
            f"{part.before}{value_of(part.filter, each.value)}{'' if each.is_begun else ' '}",
            each.about,
        )
        for each in values
    ]
    return [each for each in made if len(each.text) <= MOST_CHARACTERS][:MOST_OFFERED]


def _start_of_last(text: str) -> int:
    """The position of the last term, which may have blanks in quotes."""
    at, start = 0, 0
    while at < len(text):
        if text[at].isspace():
            at += 1
            start = at
        elif text[at] == '"':
            at = _end_of_quote(text, at)
        else:
            at += 1
    return start


def _end_of_quote(text: str, at: int) -> int:
    at += 1
    while at < len(text) and text[at] != '"':
        at += 2 if text.startswith(("\\\\", '\\"'), at) else 1
    return at + 1


def _unquoted(typed: str) -> str:
    return re.sub(r'\\(["\\])', r"\1", typed[1:].removesuffix('"')) if typed.startswith('"') else typed

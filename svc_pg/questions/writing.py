"""Write the filters of a list as a question, which ``reading`` reads as the same filters."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from svc_pg.database.filters import ListFilter
from svc_pg.questions import times
from svc_pg.questions.reading import Term, terms
from svc_pg.questions.words import SINCE, TEXT, UNTIL, Vocabulary, takes_several, written_key

_ESCAPES: Final = str.maketrans({'"': '\\"', "\\": "\\\\"})


def written(
    filters: Mapping[str, Sequence[str]], words: Vocabulary, days: Mapping[str, str] = MappingProxyType({})
) -> str:
    """The question of filters, by their names in an address: keys in the order of the list, then times, then words.

    Dates that ``days`` has are written as their words.
    """
    period = times.period_word(filters, days) if words.has_times else None
    parts = [
        term_of(wanted, _named(wanted, filters[wanted.api], days))
        for wanted in words.filters.values()
        if filters.get(wanted.api)
        and wanted.option != TEXT
        and not (period is not None and wanted.option in (SINCE, UNTIL))
    ]
    if period is not None:
        parts.append(period)
    if words.has_words and (texts := filters.get(TEXT)):
        parts.append(_spoken(texts, words))
    return " ".join(parts)


def _named(wanted: ListFilter, values: Sequence[str], days: Mapping[str, str]) -> Sequence[str]:
    return [days.get(value, value) for value in values] if wanted.option in (SINCE, UNTIL) else values


def term_of(wanted: ListFilter, values: Sequence[str]) -> str:
    """A key with its values. An address may have several values of a filter that takes one: each is a term."""
    key = written_key(wanted.option)
    if wanted.kind == "ids":  # an address has all ids in one value
        values = [each for value in values for each in value.split(",")]
    quoted = [value_of(wanted, value) for value in dict.fromkeys(values)]
    return f"{key}:{','.join(quoted)}" if takes_several(wanted) else " ".join(f"{key}:{value}" for value in quoted)


def value_of(wanted: ListFilter, value: str) -> str:
    """A value, in quotes if it could be read as another."""
    ends = any(char.isspace() or (char == "," and takes_several(wanted)) for char in value)
    return f'"{value.translate(_ESCAPES)}"' if ends or not value or value.startswith('"') else value


def _spoken(texts: Sequence[str], words: Vocabulary) -> str:
    """Words as they are, if they are read as words and nothing else."""
    [text, *others] = texts
    try:
        found = list(terms(text, words))
        are_words = all(_is_word(term, words) for term in found)
    except ValueError:
        are_words = False
    if not others and are_words and " ".join(term.values[0] for term in found) == text:
        return text
    return term_of(words.filters[TEXT], texts)


def _is_word(term: Term, words: Vocabulary) -> bool:
    return term.filter is None and not (words.has_times and times.is_period(term.values[0]))

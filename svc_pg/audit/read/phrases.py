"""Read a phrase as people say it, such as ``deleted customers last week by mara``, as filters of the log.

A reading is a guess, so it is offered and never taken: it names the filters, and the words that are in none of them.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from difflib import get_close_matches
from typing import Final

from svc_pg.audit.log.entry import SEVERITIES, Operation
from svc_pg.audit.read.named_records import named
from svc_pg.questions import spoken_times
from svc_pg.questions.words import SINCE, UNTIL

MOST_WORDS: Final = 30
_WORD: Final = re.compile(r"[a-z]+")
_SILENT: Final = frozenset(
    _WORD.findall(
        "a all an and any at been by change changed changes changing did do does done entries entry event events"
        " everything find for from give had has have her him his i in is it its list log logs made me my of on our"
        " record records show that the their them there they this to us was we were what when which who whom whose with"
        " you"
    )
)
"""The words that a question of the log needs no filter for."""
_OPPOSITES: Final = frozenset(_WORD.findall("but except excluding never no nobody none not nothing or unless without"))
"""The words that turn a question round, or into two: unless a filter takes them, nothing of the phrase is read."""
_OPERATIONS: Final[Mapping[str, Operation]] = {
    **dict.fromkeys(("created", "inserted", "added", "new", "insert"), "INSERT"),
    **dict.fromkeys(("updated", "edited", "modified", "update"), "UPDATE"),
    **dict.fromkeys(("deleted", "removed", "delete", "deletes", "deletions"), "DELETE"),
    **dict.fromkeys(("truncated", "emptied", "truncate"), "TRUNCATE"),
    **dict.fromkeys(("read", "reads", "viewed", "seen", "accessed"), "READ"),
}
_MISSABLE: Final = {"actor": "actor", "user": "actor", "tenant": "tenant", "label": "label", "severity": "severity"}
_ONCE: Final = frozenset((SINCE, UNTIL, "record", "minSeverity"))
"""The filters of which a question has one value."""
_ARTICLES: Final = ("a", "an", "any", "the")
_KEY: Final = re.compile(r"#?([0-9]{1,18})")
_AROUND: Final = "?!.,;:()\"'\u201c\u201d\u201e\u2018\u2019\u201a"
_LONGEST_LABEL: Final = 5
_LEAST_LETTERS: Final = 3
_LEAST_MISSPELLED: Final = 5
_MOST_MISSPELLED: Final = 60
_MOST_ACTORS: Final = 5
_LIKENESS: Final = 0.8

Filters = dict[str, list[str]]


@dataclass(frozen=True, slots=True)
class Names:
    """The names that words of a phrase may mean: tables with their schemas, and values by the names of filters."""

    tables: Sequence[str] = ()
    values: Mapping[str, Sequence[str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Understood:
    """The filters of a phrase, by their names in an address, and the words that are in none."""

    filters: Filters
    left_out: Sequence[str]


@dataclass(frozen=True, slots=True)
class _Read:
    """The filters that the first words say, and their number."""

    filters: Filters
    words: int = 1


_Reader = Callable[[Sequence[str], Names, datetime], _Read | None]


def understood(text: str, names: Names, *, now: datetime) -> Understood:
    """Read a phrase. Without filters it is not understood."""
    said = [word for each in text.split()[:MOST_WORDS] if (word := each.strip(_AROUND))]
    hours, rest = _hours(said)
    found: Filters = {}
    left: list[str] = []
    for read, words in _pieces(rest, names, now):
        if read is None or not found.keys().isdisjoint(_ONCE & read.filters.keys()):
            left += words
        else:
            for name, values in read.filters.items():
                found[name] = list(dict.fromkeys([*found.get(name, ()), *values]))
    if not _OPPOSITES.isdisjoint(word.casefold() for word in left):
        return Understood({}, said)
    if hours is not None:
        day = _day_of(found) or now.astimezone(UTC).date()
        found |= {name: [value] for name, value in hours.on(day).items()}
    return Understood(found, [word for word in left if word.casefold() not in _SILENT])


def _hours(said: Sequence[str]) -> tuple[spoken_times.Hours | None, Sequence[str]]:
    """The first times of day that the words say, and the other words."""
    words = [word.casefold() for word in said]
    for at in range(len(words)):
        if hours := spoken_times.hours(words[at:]):
            return hours, [*said[:at], *said[at + hours.words :]]
    return None, said


def _pieces(said: Sequence[str], names: Names, now: datetime) -> Iterator[tuple[_Read | None, Sequence[str]]]:
    """The words in their order, those together that one reader takes; without one, a word alone."""
    words = [word.casefold() for word in said]
    at = 0
    while at < len(words):
        read = next(_readings(words[at:], names, now), None)
        count = 1 if read is None else read.words
        yield read, said[at : at + count]
        at += count


def _readings(words: Sequence[str], names: Names, now: datetime) -> Iterator[_Read]:
    for reader in _READERS:
        if read := reader(words, names, now):
            yield read


def _time(words: Sequence[str], _names: Names, now: datetime) -> _Read | None:
    spoken = spoken_times.period(words, now)
    return None if spoken is None else _Read({name: [value] for name, value in spoken.filters.items()}, spoken.words)


def _missing(words: Sequence[str], _names: Names, _now: datetime) -> _Read | None:
    """``without an actor``, ``no tenant``."""
    if words[0] not in ("without", "no"):
        return None
    article = len(words) > 1 and words[1] in _ARTICLES
    value = _MISSABLE.get(words[1 + article]) if len(words) > 1 + article else None
    return None if value is None else _Read({"missing": [value]}, 2 + article)


def _label(words: Sequence[str], names: Names, _now: datetime) -> _Read | None:
    """A label or a tag, the longest that the words have whole, in the singular or the plural."""
    for count in range(min(_LONGEST_LABEL, len(words)), 0, -1):
        spoken = " ".join(words[:count])
        for name in ("label", "compliance"):
            for value in names.values.get(name, ()):
                if value.casefold() in (spoken, spoken.removesuffix("s")):
                    return _Read({name: [value]}, count)
    return None


def _severity(words: Sequence[str], _names: Names, _now: datetime) -> _Read | None:
    found = next((each for each in SEVERITIES if each == words[0]), None)
    if found is None:
        return None
    if tuple(words[1:3]) in (("or", "higher"), ("or", "more"), ("or", "above")):
        return _Read({"minSeverity": [found]}, 3)
    return _Read({"severity": [found]})


def _operation(words: Sequence[str], _names: Names, _now: datetime) -> _Read | None:
    found = _OPERATIONS.get(words[0])
    return None if found is None else _Read({"operation": [found]})


def _table(words: Sequence[str], names: Names, _now: datetime) -> _Read | None:
    """A table, and perhaps the number of its record behind."""
    if words[0] in _SILENT or len(words[0]) < _LEAST_LETTERS:
        return None
    surely = next(iter(named(names.tables, words[0])), ())
    if len(surely) != 1:
        return None
    if len(words) > 1 and (key := _KEY.fullmatch(words[1])):
        return _Read({"resource": [surely[0]], "record": [key[1]]}, 2)
    return _Read({"resource": [surely[0]]})


def _actor(words: Sequence[str], names: Names, _now: datetime) -> _Read | None:
    """Actors with these letters, or tenants; several of them if they are few."""
    if words[0] in _SILENT or len(words[0]) < _LEAST_LETTERS or words[0].isdecimal():
        return None
    for name in ("actor", "tenant"):
        values = names.values.get(name, ())
        same = [value for value in values if value.casefold() == words[0]]
        like = same or [value for value in values if words[0] in value.casefold()]
        if 0 < len(like) <= _MOST_ACTORS:
            return _Read({name: like})
    return None


def _misspelled(words: Sequence[str], names: Names, _now: datetime) -> _Read | None:
    """The name that is nearly written so."""
    if words[0] in _SILENT or not _LEAST_MISSPELLED <= len(words[0]) <= _MOST_MISSPELLED:
        return None
    tables = (each for each in names.tables if not each.startswith("svc."))
    known = {each.rpartition(".")[2].casefold(): ("resource", each) for each in tables}
    for name, values in names.values.items():
        for value in (each for each in values if len(each) <= _MOST_MISSPELLED):
            known.setdefault(value.casefold(), (name, value))
            known.setdefault(value.casefold().partition("@")[0], (name, value))
    near = get_close_matches(words[0], known, n=1, cutoff=_LIKENESS)
    return _Read({known[near[0]][0]: [known[near[0]][1]]}) if near else None


_READERS: Final[Sequence[_Reader]] = (_missing, _label, _time, _severity, _operation, _table, _actor, _misspelled)


def _day_of(filters: Mapping[str, Sequence[str]]) -> date | None:
    """The day at which a time begins, if it begins at one."""
    try:
        return date.fromisoformat(filters[SINCE][0]) if SINCE in filters else None
    except ValueError:
        return None

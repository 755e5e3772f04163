"""Read a phrase as people say it, such as ``deleted customers last week by mara``, as filters of the log.

A reading is a guess, so it is offered and never taken: it names the filters, and the words that are in none of them.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from difflib import SequenceMatcher, get_close_matches
from typing import Final

from svc_pg.audit.log.entry import SEVERITIES, Operation
from svc_pg.audit.read.named_records import named
from svc_pg.database.filters import MAX_VALUES
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
_OPPOSITES: Final = re.compile(
    "apart|besides|but|cannot|except|excluding|neither|never|no|nobody|none|nor|not|nothing|or|other|unless|unlike"
    "|without|.*n['\u2019]t|[-!].*"
)
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
MOST_MISSPELLED: Final = 30
"""The letters of a word, and of a name, that are compared: the time grows with their square."""
_MOST_MEANT: Final = 5
"""The values of one filter that a word may mean together."""
_LIKENESS: Final = 0.8
_DAY: Final = timedelta(days=1)

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
    said = _words_of(text)
    hours, spoken, rest = _hours(said[:MOST_WORDS])
    found: Filters = {}
    left: list[str] = []
    for read, words in _pieces(rest, names, now, _READERS):
        both = None if read is None else _joined(found, read.filters)
        if both is None:
            left += words
        else:
            found = both
    left += said[MOST_WORDS:]
    if any(_OPPOSITES.fullmatch(word.casefold()) for word in left):
        return Understood({}, said)
    if hours is not None and (day := _day_of(found, hours, now)):
        found |= {name: [value] for name, value in hours.on(day).items()}
    else:
        left += spoken
    return Understood(found, [word for word in left if word.casefold() not in _SILENT])


def _joined(found: Filters, more: Filters) -> Filters | None:
    """The values of both; None if these are more than a question has of a filter."""
    both = {name: list(dict.fromkeys([*found.get(name, ()), *values])) for name, values in more.items()}
    is_twice = not found.keys().isdisjoint(_ONCE & more.keys())
    return None if is_twice or any(len(values) > MAX_VALUES for values in both.values()) else found | both


def names_in(text: str, names: Names, *, now: datetime) -> Sequence[str]:
    """The words of a phrase that may be names of somebody: no time, no table and no other filter takes them."""
    _, _, rest = _hours(_words_of(text)[:MOST_WORDS])
    pieces = _pieces(rest, names, now, _SURE)
    return [word for read, words in pieces if read is None for word in words if _is_name(word.casefold())]


def _words_of(text: str) -> list[str]:
    return [word for each in text.split() if (word := each.strip(_AROUND))]


def _hours(said: Sequence[str]) -> tuple[spoken_times.Hours | None, Sequence[str], Sequence[str]]:
    """The first times of day that the words say, the words that say them, and the others."""
    words = [word.casefold() for word in said]
    for at in range(len(words)):
        if hours := spoken_times.hours(words[at:]):
            end = at + hours.words
            return hours, said[at:end], [*said[:at], *said[end:]]
    return None, (), said


def _pieces(
    said: Sequence[str], names: Names, now: datetime, readers: Sequence[_Reader]
) -> Iterator[tuple[_Read | None, Sequence[str]]]:
    """The words in their order, those together that one reader takes; without one, a word alone."""
    words = [word.casefold() for word in said]
    at = 0
    while at < len(words):
        read = next(filter(None, (reader(words[at:], names, now) for reader in readers)), None)
        count = 1 if read is None else read.words
        yield read, said[at : at + count]
        at += count


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
    """A table, or those that are meant as surely, and perhaps the number of its record behind."""
    if not _is_name(words[0]):
        tables = [each for each in names.tables if _bare(each) in (words[0], words[0].removesuffix("s"))]
    else:
        tables = [*next(iter(named(names.tables, words[0])), ())]
    if not 0 < len(tables) <= _MOST_MEANT:
        return None
    if len(words) > 1 and (key := _KEY.fullmatch(words[1])):
        return _Read({"resource": tables, "record": [key[1]]}, 2)
    return _Read({"resource": tables})


def _actor(words: Sequence[str], names: Names, _now: datetime) -> _Read | None:
    """Actors with these letters, or tenants; several of them if they are few."""
    if not _is_name(words[0]):
        return None
    for name in ("actor", "tenant"):
        values = names.values.get(name, ())
        same = [value for value in values if value.casefold() == words[0]]
        like = same or [value for value in values if words[0] in value.casefold()]
        if 0 < len(like) <= _MOST_MEANT:
            return _Read({name: like})
    return None


def _misspelled(words: Sequence[str], names: Names, _now: datetime) -> _Read | None:
    """The name that is nearly written so, unless others are as near."""
    if not _is_name(words[0]) or not _LEAST_MISSPELLED <= len(words[0]) <= MOST_MISSPELLED:
        return None
    known: dict[str, tuple[str, list[str]]] = {}
    for filter_name, value, spelling in _spellings(names):
        of, values = known.setdefault(spelling, (filter_name, []))
        if of == filter_name and value not in values:
            values.append(value)
    near = get_close_matches(words[0], known, n=2, cutoff=_LIKENESS)
    if not near or len({_likeness(words[0], each) for each in near}) < len(near):
        return None
    of, values = known[near[0]]
    return _Read({of: values}) if len(values) <= _MOST_MEANT else None


def _spellings(names: Names) -> Iterator[tuple[str, str, str]]:
    """The names that are short enough to compare: the filter, its value, and what may be written for it."""
    tables = [("resource", each, _bare(each)) for each in names.tables if not each.startswith("svc.")]
    values = [(of, each, each.casefold()) for of, some in names.values.items() for each in some]
    beginnings = [(of, value, whole.partition("@")[0]) for of, value, whole in values]
    return (each for each in (*tables, *values, *beginnings) if len(each[2]) <= MOST_MISSPELLED)


def _likeness(word: str, spelling: str) -> float:
    return SequenceMatcher(None, spelling, word).ratio()


def _is_name(word: str) -> bool:
    """True if the word may be a part of a name."""
    if len(word) < _LEAST_LETTERS or word.isdecimal():
        return False
    return word not in _SILENT and not _OPPOSITES.fullmatch(word)


def _bare(table: str) -> str:
    """The name of a table without its schema."""
    return table.casefold().rpartition(".")[2].strip('"')


_SURE: Final[Sequence[_Reader]] = (_missing, _label, _time, _severity, _operation, _table)
_READERS: Final[Sequence[_Reader]] = (*_SURE, _actor, _misspelled)


def _day_of(filters: Mapping[str, Sequence[str]], hours: spoken_times.Hours, now: datetime) -> date | None:
    """The one day of filters; without a time, the latest on which these hours have begun."""
    since, until = (next(iter(filters.get(name, ())), None) for name in (SINCE, UNTIL))
    today = now.astimezone(UTC).date()
    if since is None and until is None:
        return today if hours.has_begun(now) else today - _DAY
    try:
        day = date.fromisoformat(since or "")
    except ValueError:
        return None
    return day if until == (day + _DAY).isoformat() or (until is None and day == today) else None

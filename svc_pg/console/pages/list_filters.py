"""The filters that the address of a list has, and the chips that take one away."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from svc_pg.console.pages.page_request import PageRequest
from svc_pg.database.filters import filters_of
from svc_pg.formats.human_times import exact
from svc_pg.formats.plurals import counted

_AGO: Final = re.compile(r"([0-9]{1,6})([smhdw])")
_UNITS: Final = {"s": "second", "m": "minute", "h": "hour", "d": "day", "w": "week"}


@dataclass(frozen=True, slots=True)
class FilterChip:
    """A filter in use, which a link takes away; ``shown`` is its value as people read it."""

    name: str
    word: str
    value: str
    shown: str


def words_of(declaration: type) -> dict[str, str]:
    """The words before the values of the filters that a TypedDict declares, by their names in an address."""
    return {each.api: each.word for each in filters_of(declaration).values()}


def used(request: PageRequest, words: Collection[str]) -> dict[str, str]:
    """The filters that the address has, without those that are empty."""
    return {name: request.query[name] for name in words if request.query.get(name)}


def in_lists(filters: Mapping[str, str]) -> dict[str, list[str]]:
    """The same filters as a question has them, which may have several values of one."""
    return {name: [value] for name, value in filters.items()}


def fields_of(request: PageRequest, names: Collection[str]) -> Sequence[str]:
    """The filters that are fields of a form: the tenant is none for its own session, which has nothing else."""
    return [name for name in names if name != "tenant" or request.person.tenant is None]


def time_in_words(value: str) -> str:
    """A time of a filter for people: ``24h`` is "24 hours ago", a time of day has its zone, others stay as they are."""
    if match := _AGO.fullmatch(value):
        return f"{counted(int(match[1]), _UNITS[match[2]])} ago"
    if "T" not in value:
        return value
    try:
        at = datetime.fromisoformat(value)
        return value if at.tzinfo is None else exact(at.astimezone(UTC))  # without a zone, the list refuses it
    except (ValueError, OverflowError):
        return value


def times_in_words(filters: Mapping[str, str]) -> dict[str, str]:
    """The times of a period for people, by their names."""
    return {name: time_in_words(filters[name]) for name in ("since", "until") if name in filters}


def chips(
    filters: Mapping[str, str],
    words: Mapping[str, str],
    *,
    without: Collection[str] = (),
    shown: Mapping[str, str] | None = None,
) -> Sequence[FilterChip]:
    """A chip for each filter ``without`` those that the page shows in another way."""
    return [
        FilterChip(name, words[name], value, (shown or {}).get(name, value))
        for name, value in filters.items()
        if name not in without
    ]

"""The words before values in a question: a key for each filter of a list."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from svc_pg.database.filters import ListFilter, filters_of

TEXT: Final = "text"
SINCE: Final = "since"
UNTIL: Final = "until"
_NOT: Final = "not-"


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The filters of a list by their keys, which are their options on the command line.

    If one of them is ``text``, words without a key are its value: a search, or letters as they are.
    """

    filters: Mapping[str, ListFilter]

    @property
    def has_words(self) -> bool:
        """True if words without a key are searched for."""
        return TEXT in self.filters

    @property
    def has_search(self) -> bool:
        """True if quotes and a minus before words are those of the search."""
        return self.has_words and self.filters[TEXT].is_search

    @property
    def has_times(self) -> bool:
        """True if a word such as ``yesterday`` says which rows are wanted."""
        return SINCE in self.filters and UNTIL in self.filters

    @property
    def keys(self) -> list[str]:
        """The keys as people write them, with ``-`` for those that exclude."""
        return [written_key(key) for key in self.filters]

    def find(self, key: str, *, is_excluded: bool) -> ListFilter | None:
        """The filter with this key, in whatever case, or the one that leaves its values out; None if there is none."""
        name = key.casefold()
        return self.filters.get(_NOT + name if is_excluded else name)


def vocabulary(*declarations: type) -> Vocabulary:
    """The keys of the filters that TypedDicts declare."""
    return Vocabulary({each.option: each for one in declarations for each in filters_of(one).values()})


def written_key(key: str) -> str:
    """A key as people write it: ``-table`` for the option ``not-table``."""
    return "-" + key.removeprefix(_NOT) if key.startswith(_NOT) else key


def takes_several(wanted: ListFilter) -> bool:
    """True if a comma stands between values of the filter."""
    return wanted.kind in ("texts", "ids")

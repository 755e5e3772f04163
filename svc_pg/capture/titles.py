"""The columns that usually name the records of a table for people."""

from collections.abc import Collection, Sequence
from typing import Final

USUAL_TITLES: Final = (
    "name",
    "title",
    "full_name",
    "display_name",
    "label",
    "username",
    "email",
    "number",
    "code",
    "sku",
    "slug",
    "reference",
)
"""The columns that may name a record, the first that it has."""
_FAMILY_NAMES: Final = frozenset(("lastname", "surname", "familyname"))


def usual_titles(recorded: Collection[str]) -> Sequence[str]:
    """The usual columns among those of a table that are ``recorded``, the surest first.

    A title beside a family's name is none: it is a form of address, such as Dr, which names nobody.
    """
    is_of_persons = not _FAMILY_NAMES.isdisjoint(column.replace("_", "").lower() for column in recorded)
    passed = {"title"} if is_of_persons else set()
    return [column for column in USUAL_TITLES if column in recorded and column not in passed]


def guessed_title(recorded: Collection[str], key: Sequence[str]) -> str | None:
    """The column that will name the records of a table by its ``recorded`` columns; None if only the key does."""
    return next((column for column in usual_titles(recorded) if [column] != list(key)), None)

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


def guessed_title(recorded: Collection[str], key: Sequence[str]) -> str | None:
    """The column that will name the records of a table by its ``recorded`` columns; None if only the key does.

    A title beside a family's name is a form of address, such as Dr, which names nobody.
    """
    passed = {"title"} if {"last_name", "lastname", "surname"} & {*recorded} else set()
    usual = (column for column in USUAL_TITLES if column not in passed)
    return next((column for column in usual if column in recorded and [column] != list(key)), None)

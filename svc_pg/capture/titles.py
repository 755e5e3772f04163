"""The columns that usually name the records of a table for people."""

import re
from collections.abc import Collection, Sequence
from typing import Final

from svc_pg.capture.table import Table

USUAL_TITLES: Final = (
    "name",
    "title",
    "full_name",
    "display_name",
    "NOUN_name",
    "NOUN_title",
    "label",
    "username",
    "email",
    "number",
    "code",
    "sku",
    "slug",
    "reference",
)
"""The columns that may name a record, the first that it has; NOUN is that of its table, as in ``slices.slice_name``."""
_OF_NOUN: Final = "NOUN_"
_WORDS: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_PLURALS: Final = (("ies", "y"), ("es", ""), ("s", ""))
_FAMILY_NAMES: Final = frozenset(("lastname", "surname", "familyname"))


def usual_titles(recorded: Collection[str], *, table: str) -> Sequence[str]:
    """The usual columns among those of a ``table`` that are ``recorded``, the surest first.

    A title beside a family's name is none: it is a form of address, such as Dr, which names nobody.
    """
    is_of_persons = not _FAMILY_NAMES.isdisjoint(map(_joined, recorded))
    passed = {"title"} if is_of_persons else set()
    nouns = _nouns(table)
    found: dict[str, None] = {}
    for usual in USUAL_TITLES:
        if not usual.startswith(_OF_NOUN):
            found |= {usual: None} if usual in recorded and usual not in passed else {}
            continue
        last = usual.removeprefix(_OF_NOUN)
        found |= {column: None for column in sorted(recorded) if _joined(column) in {f"{noun}{last}" for noun in nouns}}
    return list(found)


def guessed_title(table: Table, redacted: Collection[str], key: Sequence[str]) -> str | None:
    """The column that will name the records of a table; None if only their ``key`` does.

    It is a usual one that is not ``redacted`` and holds one text or number.
    """
    recorded = {column for column in table.columns if not _is_nameless(table.types.get(column, ""))} - {*redacted}
    return next((column for column in usual_titles(recorded, table=table.name.table) if [column] != [*key]), None)


def _is_nameless(type_: str) -> bool:
    return type_.startswith(("json", "bytea", "bool")) or type_.endswith("[]")


def _nouns(table: str) -> set[str]:
    """The nouns for a row of a table, each joined: of ``sql_metrics`` metric and sqlmetric, for example."""
    words = [word.lower() for word in _WORDS.findall(table)]
    ends = {"".join(words[start:]) for start in range(len(words))}
    return ends | {end.removesuffix(plural) + one for end in ends for plural, one in _PLURALS if end.endswith(plural)}


def _joined(column: str) -> str:
    return column.replace("_", "").lower()

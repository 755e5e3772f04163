"""The conditions of searches in snapshots and contexts, after a cheap one that all entries meet that they find.

The words of an entry cost 15 us, and the texts of the members of a context 7 us: most entries lack even the letters,
and a path finds a member in 0.5 us.
"""

import json
import re
from typing import Final, LiteralString

from svc_pg.database.pagination import Filter

_CONTAINS: Final[LiteralString] = "(before_data @> %s::jsonb or after_data @> %s::jsonb)"
_HAS_WORDS: Final[LiteralString] = (
    "svc.audit_words(before_data, after_data, description) @@ websearch_to_tsquery('pg_catalog.simple'::regconfig, %s)"
)
_HAS_LETTERS: Final[LiteralString] = (
    "pg_catalog.concat(before_data, ' ', after_data, ' ', description) collate pg_catalog.\"C\""
    " operator(pg_catalog.~~*) all (%s::text[])"
)
# an object in the condition of the function, which others would fail
_HAS_FACT: Final[LiteralString] = (
    "exists (select from jsonb_each_text(case jsonb_typeof(context) when 'object' then context end) f"
    " where f.value = %s)"
)
_FACT_BY_PATH: Final[LiteralString] = (
    "case when context operator(pg_catalog.@@) %s::jsonpath then " + _HAS_FACT + " end"
)

_PLAIN: Final = re.compile(r"[A-Za-z0-9._@\s]+")
"""A question of which each word is sought: without operators, and without markup or protocols, which have no words."""
_RUN: Final = re.compile(r"[A-Za-z]+|[0-9]+")  # the parser reads 1e5tent as 1e5 and tent
_LONG: Final = re.compile(r"[A-Za-z0-9]{101}")
_TWO_CASES: Final = re.compile("[iIkK]")  # which are the small letters of characters outside ASCII too
_MOST_WORDS: Final = 4
_SCALAR: Final = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?|true|false")
"""A value that may be the text of a number or a truth."""


def contains(found: Filter, text: str) -> Filter:
    """Entries of which a snapshot has the members of this JSON object."""
    return found.where(_CONTAINS, text, text)


def has_words(found: Filter, words: str) -> Filter:
    """Entries with these words, in the syntax of web searches."""
    if letters := letters_of(words):
        found = found.where(_HAS_LETTERS, letters)
    return found.where(_HAS_WORDS, words)


def letters_of(words: str) -> list[str]:
    """Patterns of ILIKE that each text with these words matches; none if the question is not that simple."""
    parts = words.split()
    if not _PLAIN.fullmatch(words) or _LONG.search(words) or any(part.lower() == "or" for part in parts):
        return []
    longest = sorted(dict.fromkeys(_RUN.findall(words)), key=len, reverse=True)
    return [f"%{_TWO_CASES.sub('_', word)}%" for word in longest[:_MOST_WORDS]]


def has_fact(found: Filter, value: str) -> Filter:
    """Entries with a member of their context that has this value."""
    if value.startswith(("{", "[")):  # which a path compares with nothing
        return found.where(_HAS_FACT, value)
    return found.where(_FACT_BY_PATH, path_of(value), value)


def path_of(value: str) -> str:
    """A path that is true of each context with a member of this text, which is no object and no array."""
    path = f"$.* == {json.dumps(value, ensure_ascii=False)}"
    return f"{path} || $.* == {value}" if _SCALAR.fullmatch(value) else path

"""Texts and names that PostgreSQL can store: without NUL and lone surrogates, and names of a limited size."""

from typing import Final

from svc_pg.errors import QueryError

MAX_IDENTIFIER_BYTES: Final = 63  # NAMEDATALEN - 1; PostgreSQL would cut a longer name silently

_MAX_CHARACTERS: Final = 10_000
"""Of a text in a query."""


def is_storable(text: str) -> bool:
    """True if PostgreSQL has such a text."""
    return "\0" not in text and not any("\ud800" <= character <= "\udfff" for character in text)


def refuse_unstorable(**texts: str | None) -> None:
    """Raise QueryError if PostgreSQL has no such text; the names of the arguments are those of the message."""
    for name, text in texts.items():
        if text is not None and not is_storable(text):
            raise QueryError(f"{name} {text!r} contains NUL or a lone surrogate, which no text in PostgreSQL does")


def check_texts(*params: object) -> None:
    """Refuse texts that a driver could not pass on, or that would keep the database busy. Raises QueryError."""
    for param in params:
        if isinstance(param, list):
            check_texts(*param)
        if not isinstance(param, str):
            continue
        if len(param) > _MAX_CHARACTERS:
            raise QueryError(f"a text has {len(param)} characters", hint=f"At most {_MAX_CHARACTERS} are accepted.")
        if not is_storable(param):
            raise QueryError(f"{param!r} contains NUL or a lone surrogate, which no text in PostgreSQL does")

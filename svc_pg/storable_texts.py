"""Texts that PostgreSQL can store: without NUL and lone surrogates."""

from svc_pg.errors import QueryError


def is_storable(text: str) -> bool:
    """Whether PostgreSQL has such a text."""
    return "\0" not in text and not any("\ud800" <= character <= "\udfff" for character in text)


def refuse_unstorable(**texts: str | None) -> None:
    """Raise QueryError if PostgreSQL has no such text; the names of the arguments are those of the message."""
    for name, text in texts.items():
        if text is not None and not is_storable(text):
            raise QueryError(f"{name} {text!r} contains NUL or a lone surrogate, which no text in PostgreSQL does")

r"""Texts of the log that are invalid UTF-8, which an application may write to SQLite: recorded unchanged.

Each byte that is not part of a character is read as ``\x`` and two digits, which JSON has as ``\\x``.
"""

import re
from typing import Final

_BYTE: Final = re.compile("[\udc80-\udcff]")


class _Invalid(str):
    """A text with invalid bytes; ``original`` has them as lone surrogates."""

    __slots__ = ("original",)
    original: str


def read_text(data: bytes) -> str:
    """Decode a text."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        original = data.decode(errors="surrogateescape")
        text = _Invalid(_marked(original, r"\x"))
        text.original = original
        return text


def in_json(text: str) -> str:
    """The text from ``read_text`` as a JSON document."""
    return _marked(text.original, r"\\x") if isinstance(text, _Invalid) else text


def _marked(text: str, mark: str) -> str:
    return _BYTE.sub(lambda byte: f"{mark}{ord(byte[0]) - 0xDC00:02x}", text)

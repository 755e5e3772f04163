r"""Texts of the log that are not valid UTF-8, as an application may write them to SQLite: recorded as they are.

Each byte that is not part of a character is read as ``\x`` and two digits, which JSON has as ``\\x``.
"""

import re
from typing import Final

_BYTE: Final = re.compile("[\udc80-\udcff]")


class _Invalid(str):
    """A text with such bytes; ``original`` has them as lone surrogates."""

    __slots__ = ("original",)
    original: str


def read_text(data: bytes) -> str:
    """The text that these bytes mean."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        original = data.decode(errors="surrogateescape")
        text = _Invalid(_marked(original, r"\x"))
        text.original = original
        return text


def in_json(text: str) -> str:
    """A text of JSON that ``read_text`` has read."""
    return _marked(text.original, r"\\x") if isinstance(text, _Invalid) else text


def _marked(text: str, mark: str) -> str:
    return _BYTE.sub(lambda byte: f"{mark}{ord(byte[0]) - 0xDC00:02x}", text)

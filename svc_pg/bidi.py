"""Isolate a text that others wrote from the words around it, in whichever direction either is read.

An element ``bdi`` alone does not: the text can end it by a control character of its own, and turn around what follows.
Unicode Standard Annex 9: https://www.unicode.org/reports/tr9/
"""

import re
from typing import Final

_OPENING: Final = "\u2066\u2067\u2068"
_CLOSING: Final = "\u2069"
_WAYS_OUT: Final = re.compile(f"[\x1c-\x1e\x85\u2029{_OPENING}{_CLOSING}]")  # the first five separate paragraphs
_MARK: Final = "\N{REPLACEMENT CHARACTER}"


def isolated(text: str) -> str:
    """The content of a ``bdi``: isolates that it opens are closed, and a mark replaces what would end the ``bdi``."""
    depth = 0

    def kept(found: re.Match[str]) -> str:
        nonlocal depth
        if found[0] in _OPENING:
            depth += 1
        elif found[0] == _CLOSING and depth:
            depth -= 1
        else:
            return _MARK
        return found[0]

    return _WAYS_OUT.sub(kept, text) + _CLOSING * depth

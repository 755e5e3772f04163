"""Cut a script into its statements, for drivers that run one at a time."""

import re
from typing import Final

# Comments and literals, in which a semicolon ends nothing, and the semicolon itself
_TOKEN: Final = re.compile(
    r"""--[^\n]* | /\*.*?\*/ | (?<!\w)[eE]'(?:[^'\\]|\\.|'')*' | '[^']*' | "[^"]*" | (?P<tag>\$\w*\$).*?(?P=tag) | ;""",
    re.VERBOSE | re.DOTALL,
)
_COMMENTS: Final = re.compile(r"(?:\s|--[^\n]*(?:\n|\Z))*")


def statements(script: str) -> list[str]:
    """Each statement without its semicolon, with the comments before it. Knows our own scripts, not all of SQL."""
    found, start = [], 0
    for token in _TOKEN.finditer(script):
        if token[0] == ";":
            found.append(script[start : token.start()].strip())
            start = token.end()
    found.append(script[start:].strip())
    return [statement for statement in found if not _COMMENTS.fullmatch(statement)]

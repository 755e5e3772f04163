"""The steps of an install as texts of SQL, for deployment by files: a database's shell, Alembic, Django."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from svc_pg.schema.configuration_change import ConfigurationChange

# Comments and literals, in which a semicolon ends nothing, and the semicolon itself
_TOKEN: Final = re.compile(
    r"""--[^\n]* | /\*.*?\*/ | (?<!\w)[eE]'(?:[^'\\]|\\.|'')*' | '[^']*' | "[^"]*" | (?P<tag>\$\w*\$).*?(?P=tag) | ;""",
    re.VERBOSE | re.DOTALL,
)
_COMMENTS: Final = re.compile(r"(?:\s|--[^\n]*(?:\n|\Z))*")


def statements(script: str) -> list[str]:
    """Each statement without its semicolon, with the comments before it. Parses our own scripts, not all of SQL."""
    found, start = [], 0
    for token in _TOKEN.finditer(script):
        if token[0] == ";":
            found.append(script[start : token.start()].strip())
            start = token.end()
    found.append(script[start:].strip())
    return [statement for statement in found if not _COMMENTS.fullmatch(statement)]


@dataclass(frozen=True, slots=True)
class Script:
    """Texts of several statements, each to be run in one transaction if the database supports that.

    ``upgrade`` makes the database equal to the configuration and records that, or fails if it has run already, or the
    database is in another state than the script was made for. ``downgrade`` removes the objects that ``upgrade`` added
    and keeps the data: for the first script all triggers, views and functions, for a later one the captures that it
    added. After it ``upgrade`` can run again. ``tables`` are the audited tables that must exist before. ``opening`` and
    ``closing`` stand around it in a file, and ``split`` takes the statements apart. ``made_for`` is a fingerprint of
    the database's state, if it has one: only one script for a state can run. ``change`` is what a revision calls for
    instead of carrying the texts, if the database's installer can take that.
    """

    upgrade: str
    downgrade: str
    tables: list[str]
    opening: str = "begin;"
    closing: str = "commit;"
    split: Callable[[str], list[str]] = statements
    made_for: str | None = None
    change: ConfigurationChange | None = None

    @property
    def file(self) -> str:
        """The upgrade as a file for the database's shell."""
        return "\n".join(part for part in (self.opening, self.upgrade, self.closing) if part)

"""The position of a follower of the log: the text of a cursor, for every database."""

from dataclasses import dataclass
from typing import Final

from svc_pg.database.pagination import decode, encode
from svc_pg.errors import QueryError

NOW: Final = "now"
START: Final = "start"


@dataclass(frozen=True, slots=True)
class Position:
    """``after`` is the position of the horizon up to which all was read; empty at the start.

    Inside a stretch, ``until`` is the position of its end, and ``row`` the cursor of the last entry.
    """

    after: str
    until: str = ""
    row: str = ""

    @property
    def cursor(self) -> str:
        """The text from which a later reading continues."""
        return encode((self.after, self.until, self.row))


def position_of(cursor: str) -> Position:
    """Read the position in a cursor. Raises QueryError."""
    if cursor in (NOW, START):
        return Position("")
    after, until, row = (str(part) for part in decode(cursor, str, str, str))
    if row and not until:
        raise QueryError(f"{cursor!r} is not a cursor", hint="Pass the cursor that came with the page before.")
    return Position(after, until, row)

"""The statements in the files of ``sql/``: a module reads its own once, when it is imported.

A statement that takes more than a few lines stands in ``sql/queries/ROOM/``, where ROOM is the room whose module reads
it; those of other databases stand in ``sql/mysql/queries/`` and ``sql/sqlite/queries/``. Values are parameters. A hole
``{name}`` is one that the module fills, with constant SQL or with a quoted identifier.
"""

import re
from importlib.resources import files
from typing import Final, LiteralString

_FOLDER: Final = files("svc_pg.sql")
_COMMENT: Final = re.compile(r"(?:--.*\n)*")


def statement(path: LiteralString) -> LiteralString:
    """The text of a file below ``sql/``, without the comment at its head: it tells the reader, not the server."""
    text: LiteralString = _FOLDER.joinpath(path).read_text(encoding="utf-8")
    return _COMMENT.sub("", text, count=1)

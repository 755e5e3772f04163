"""Ask for confirmation before something ends irrevocably."""

from collections.abc import Callable
from typing import Annotated, Any

import typer
from psycopg import Connection

from . import output
from .json_text import printable
from .operator import operator

Yes = Annotated[bool, typer.Option("--yes", help="Do not ask.")]


def over(revoked_by: str | None, *, is_live: bool) -> str | None:
    """The words for the end of a session, link or token; None if it is live."""
    if revoked_by is not None:
        return f"ended before, by {printable(revoked_by)}"
    return None if is_live else "ended before, by itself"


def confirm(question: str, *, yes: bool) -> None:
    """Ask, unless ``yes``. Ends the command if the answer is no, or if it cannot ask."""
    if not yes:
        typer.confirm(question, abort=True, err=True)


def end_once(conn: "Connection[Any]", words: str, over: str | None, *, yes: bool, end: Callable[[], object]) -> None:
    """Ask, end it and report that. ``over`` tells how it has ended already, if it has."""
    conn.commit()  # a question may wait for long
    if over is not None:
        output.words(f"{words}: {over}")
        return
    confirm(f"End {words}?", yes=yes)
    with operator(conn):
        end()
    conn.commit()
    output.words(f"ended {words}")

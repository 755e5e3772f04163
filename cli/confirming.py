"""Ask for confirmation before a change that nothing takes back."""

import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from typing import Annotated, Any

import typer
from psycopg import Connection

from svc_pg.errors import SvcError

from . import output
from .json_text import printable
from .operator import operator

Yes = Annotated[bool, typer.Option("--yes", help="Do not ask.")]


def over(revoked_by: str | None, *, is_live: bool) -> str | None:
    """The words for the end of a session, link or token; None if it is live."""
    if revoked_by is not None:
        return f"ended before, by {printable(revoked_by)}"
    return None if is_live else "ended before, by itself"


def confirm(question: str, *, yes: bool, instead: str = "Add --yes.") -> None:
    """Ask, unless ``yes``. Ends the command if the answer is no. Raises SvcError, with this hint, if nobody answers."""
    if yes:
        return
    try:
        with redirect_stdout(sys.stderr):  # which else gets the blank behind the question
            is_agreed = typer.confirm(question, err=True)
    except typer.Abort:  # of Ctrl-C, or of the end of the input
        output.words("")  # ends the line of the question
        if sys.stdin.isatty():
            raise
        raise SvcError("nothing is done, because nobody can say yes", hint=instead) from None
    if not is_agreed:
        raise typer.Abort


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

"""The tables with entries without an actor, for the command ``status``."""

from collections.abc import Sequence
from typing import Any, Final

from svc_pg.database.query import fetch
from svc_pg.formats.plurals import counted
from svc_pg.status.attribution import Attribution, attribution

from .. import output
from ..optional_read import quick_read

_MOST_TABLES: Final = 5


def read_attribution(conn: Any) -> list[Attribution]:
    """The entries of the last day with and without an actor; none if they cannot be read quickly."""
    return quick_read(conn, lambda conn: fetch(conn, attribution()), [])


def tell(attributed: Sequence[Attribution]) -> None:
    """Print a line for each of the first tables, those with the greatest part first."""
    lacking = sorted((each for each in attributed if each.without_actor), key=lambda each: -each.share)
    for each in lacking[:_MOST_TABLES]:
        entries, verb = counted(each.entries, "entry"), "has" if each.without_actor == 1 else "have"
        output.words(f"In the last day, {each.without_actor:,} of {entries} of {each.table_name} {verb} no actor.")
    more = len(lacking) - _MOST_TABLES
    if more > 0:
        output.words(f"So {'has' if more == 1 else 'have'} {counted(more, 'more table')}; --json lists them.")
    if any(each.share == 1 for each in lacking):
        output.words(
            "If your application names actors, its connections may lack with_audit:"
            ' see "The actor" in the documentation.'
        )

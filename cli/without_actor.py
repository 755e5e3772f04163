"""The tables whose entries have no actor, for the command ``status``."""

from collections.abc import Sequence
from typing import Any, Final

from psycopg.errors import QueryCanceled

from svc_pg.database.query import fetch
from svc_pg.status.attribution import PREPARE, Attribution, attribution

from . import facts, output

_MOST_TABLES: Final = 5


def read(conn: Any) -> list[Attribution]:
    """The entries of the last day with and without an actor; none if they cannot be read quickly."""

    def read(conn: Any) -> list[Attribution]:
        conn.execute(PREPARE)
        return fetch(conn, attribution())

    try:
        return facts.known(conn, read, [])
    except QueryCanceled:
        return []


def tell(attributed: Sequence[Attribution]) -> None:
    """Print a line for each of the first tables, those with the greatest part first."""
    lacking = sorted((each for each in attributed if each.without_actor), key=lambda each: -each.share)
    for each in lacking[:_MOST_TABLES]:
        output.words(
            f"In the last day, {each.without_actor} of {each.entries} entries of {each.table_name} have no actor."
        )
    if len(lacking) > _MOST_TABLES:
        output.words(f"So have {len(lacking) - _MOST_TABLES} more tables; --json lists them.")
    if any(each.share == 1 for each in lacking):
        output.words(
            "If your application names actors, its connections may lack with_audit:"
            ' see "The actor" in the documentation.'
        )

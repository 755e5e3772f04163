"""Read a page of a list from the database, and print its rows."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, Final

from psycopg import Connection

from svc_pg.database.empty_pages import NOTHING_YET, looked_at
from svc_pg.database.pagination import Page, Paged, Row
from svc_pg.database.stretches import MOST_ROWS

from . import output, records
from .database import connect

MOST_PAGES: Final = 10
"""The pages that a command reads to fill its own."""


def show_list(
    wanted: Paged[Row],
    lines: Callable[[Row], Iterable[str]],
    *,
    none: str,
    things: str = "rows",
    database_url: str | None,
    as_json: bool,
    after: str | None = None,
) -> Page[Row]:
    """Print the page after a cursor, each row in a few lines or all of it as JSON. Returns it.

    ``none`` is the message for people if it is empty and the last, ``things`` the word for its rows if others follow.
    """
    with connect(database_url) as conn:
        page = filled(conn, wanted, after=after)
    if as_json:
        records.show_page(page)
        return page
    for row in page:
        for line in lines(row):
            output.data(line)
    if not page.data:
        tell_none(page, none, things)
    return page


def filled(conn: Connection[Any], wanted: Paged[Row], *, after: str | None) -> Page[Row]:
    """The rows of up to ten pages after a cursor that look at a stretch of a list each, but no more than one page has.

    The list goes on after its own cursor.
    """
    page = (wanted if after is None else wanted.after(after)).list(conn)
    found = [*page.data]
    for _ in range(MOST_PAGES - 1):
        if len(found) >= wanted.size or page.next_cursor is None:
            break
        page = wanted.limit(wanted.size - len(found)).after(page.next_cursor).list(conn)
        found += page.data
    return replace(page, data=found)


def tell_none(page: Page[Row], none: str, things: str, *, of_a_page: int = MOST_ROWS) -> None:
    """Tell people that an empty page is the last, or how far was looked if it is not."""
    if page.next_cursor is None:
        output.words(none)
    else:
        output.words(f"{NOTHING_YET}. {looked_at('A command', MOST_PAGES * of_a_page, things)}")

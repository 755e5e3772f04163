"""Read a page of a list from the database, and print its rows."""

from collections.abc import Callable, Iterable

from svc_pg.database.pagination import Page, Paged, Row

from . import output, records
from .database import connect


def show_list(
    wanted: Paged[Row],
    lines: Callable[[Row], Iterable[str]],
    *,
    none: str,
    database_url: str | None,
    as_json: bool,
    after: str | None = None,
) -> Page[Row]:
    """Print the page after a cursor, each row in a few lines or all of them as JSON. Returns it.

    ``none`` is the message for people if it is empty.
    """
    with connect(database_url) as conn:
        page = (wanted if after is None else wanted.after(after)).list(conn)
    if as_json:
        records.show_json(page.data)
        return page
    for row in page:
        for line in lines(row):
            output.data(line)
    if not page.data:
        output.none(none, page.next_cursor)
    return page

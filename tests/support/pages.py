"""Read all pages of a list, forwards and backwards, and check that both are the same."""

from typing import Any

import httpx

from svc_pg.database.pagination import Paged, Row


def all_rows(conn: Any, query: Paged[Row]) -> list[Row]:
    """The rows of all pages of a query."""
    page = query.list(conn)
    pages = [page.data]
    assert page.prev_cursor is None
    while page.next_cursor:
        page = query.after(page.next_cursor).list(conn)
        pages.append(page.data)
    back = []
    while page.prev_cursor:
        page = query.before(page.prev_cursor).list(conn)
        assert page.next_cursor
        back.append(page.data)
    assert back[::-1] == pages[:-1]
    return [row for data in pages for row in data]


def all_data(client: httpx.Client, path: str, **query: Any) -> list[Any]:
    """The data of all pages of a route."""

    def ask(**more: Any) -> Any:
        response = client.get(path, params=query | more)
        assert response.status_code == 200, response.text
        return response.json()

    page = ask()
    pages = [page["data"]]
    assert page["prevCursor"] is None
    while page["nextCursor"]:
        page = ask(cursor=page["nextCursor"])
        pages.append(page["data"])
    back = []
    while page["prevCursor"]:
        page = ask(before=page["prevCursor"])
        back.append(page["data"])
    assert back[::-1] == pages[:-1]
    return [row for data in pages for row in data]

"""The header Link of a page: the addresses of the pages after and before it (RFC 8288)."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final
from urllib.parse import urlencode

from svc_pg.console.http.requests import ConsoleRequest, ConsoleResponse
from svc_pg.database.pagination import Page

MOST_CHARACTERS: Final = 2000
"""Links beyond these are left out: proxies refuse an answer whose headers are too long."""

_PLACES: Final = ("cursor", "before", "after", "around")


def linked(request: ConsoleRequest, response: ConsoleResponse) -> ConsoleResponse:
    """The response, with the header if it has a page that is not alone. The addresses have the filters of the request.

    A page of a log that is followed leads to the next by ``after``.
    """
    if not isinstance(response.body, Page):
        return response
    value = ""
    for relation, address in _links(request, response.body):
        link = f'<{address}>; rel="{relation}"'
        if len(value) + len(link) <= MOST_CHARACTERS:
            value = f"{value}, {link}" if value else link
    return replace(response, headers={**response.headers, "Link": value}) if value else response


def _links(request: ConsoleRequest, page: Page[object]) -> Iterator[tuple[str, str]]:
    if page.next_cursor is not None:
        name = "after" if "after" in request.query else "cursor"
        yield "next", _address(request, name, page.next_cursor)
    if page.prev_cursor is not None:
        yield "prev", _address(request, "before", page.prev_cursor)


def _address(request: ConsoleRequest, name: str, cursor: str) -> str:
    kept = [(key, value) for key, value in request.query.multi_items() if key not in _PLACES]
    return f"{request.base_path}{request.path}?{urlencode([*kept, (name, cursor)])}"

"""The OpenAPI document of the routes that were added so far, made when somebody asks for it."""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import Any, Final

from pydantic import JsonValue

from svc_pg.console.http.documentation import Documentation
from svc_pg.console.http.requests import ConsoleRequest, ConsoleResponse
from svc_pg.console.openapi.document import EVENTS_TAG, Route, document, operation_id
from svc_pg.database.query import RawJson
from svc_pg.errors import ConfigError
from svc_pg.formats.json_writer import encode
from svc_pg.webhooks.events.own_events import OWN_EVENTS

OPENAPI: Final = Documentation(
    operation_id="openapi.get",
    summary="This document",
    description="It is the same without a session, and on every console of this version with the same products.",
    response=dict[str, Any],
)

_SERVER_URL: Final = "{server}"

Offered = Callable[[], Awaitable[Sequence[str]]]
"""Finds the ids of the products that the database has."""


class ApiDocument:
    """Collects routes with their documentation, and the descriptions of their tags."""

    def __init__(self, title: str, *, offered: Offered | None = None) -> None:
        self._title = title
        self._offered = offered
        self._tags: dict[str, str] = {EVENTS_TAG: "The events that svc-pg itself sends to endpoints."}
        self._made: dict[frozenset[str], str] = {}
        self.routes: list[Route] = []
        """In the order in which they were added."""

    def add(self, routes: Sequence[Route], *, description: str = "") -> None:
        """Add routes of one tag, which has this description."""
        self._made.clear()
        self.routes += routes
        if description:
            self._tags.update(dict.fromkeys((route.tag for route in routes), description))

    def refuse_taken(self, routes: Sequence[Route]) -> None:
        """Raise ConfigError if one of these routes has the ``operation_id`` of another."""
        taken = {operation_id(route) for route in self.routes}
        for route in routes:
            name = operation_id(route)
            if name in taken and route.documentation.operation_id:
                hint = "Give each route an operation_id of its own."
                raise ConfigError(f"an operation has the name {name!r} already", hint=hint)
            taken.add(name)

    def document(self, *, server_url: str, without: Collection[str] = ()) -> Mapping[str, JsonValue]:
        """The document of all routes but those of some products, and of the events that webhooks send."""
        routes = [route for route in self.routes if route.product not in without]
        events = () if "webhooks" in without else OWN_EVENTS
        return document(routes, title=self._title, server_url=server_url, tags=self._tags, events=events)

    async def answer(self, request: ConsoleRequest) -> ConsoleResponse:
        """Answer with the document of the products that the database has.

        It is made once for these, because anybody may ask for it. Only the path of the mount may differ.
        """
        offered = None if self._offered is None else await self._offered()
        ids = {route.product for route in self.routes if route.product is not None}
        without = frozenset(ids.difference(ids if offered is None else offered))
        if without not in self._made:
            self._made[without] = encode(self.document(server_url=_SERVER_URL, without=without)).decode()
        server_url = encode(request.base_path or "/").decode()
        return ConsoleResponse(200, RawJson(self._made[without].replace(f'"{_SERVER_URL}"', server_url, 1)))

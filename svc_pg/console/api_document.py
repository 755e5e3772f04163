"""The OpenAPI document of the routes that were added so far, made when somebody asks for it."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from pydantic import JsonValue

from svc_pg.console.documentation import Documentation
from svc_pg.console.openapi import EVENTS_TAG, Route, document, operation_id
from svc_pg.console.requests import ConsoleRequest, ConsoleResponse
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


class ApiDocument:
    """Collects routes with their documentation, and the descriptions of their tags."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._tags: dict[str, str] = {EVENTS_TAG: "The events that svc-pg itself sends to endpoints."}
        self._made: str | None = None
        self.routes: list[Route] = []
        """In the order in which they were added."""

    def add(self, routes: Sequence[Route], *, description: str = "") -> None:
        """Add routes of one tag, which has this description."""
        self._made = None
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

    def document(self, *, server_url: str) -> Mapping[str, JsonValue]:
        """The document of all routes."""
        return document(self.routes, title=self._title, server_url=server_url, tags=self._tags, events=OWN_EVENTS)

    async def answer(self, request: ConsoleRequest) -> ConsoleResponse:
        """Answer with the document, made once because anybody may ask for it. Only the path of the mount may differ."""
        if self._made is None:
            self._made = encode(self.document(server_url=_SERVER_URL)).decode()
        server_url = encode(request.base_path or "/").decode()
        return ConsoleResponse(200, RawJson(self._made.replace(f'"{_SERVER_URL}"', server_url, 1)))

"""The route that turns a link to the portal into a session of it, once."""

from dataclasses import dataclass
from typing import Annotated, Final

from pydantic import Field

from svc_pg.console.database import pool as database
from svc_pg.console.database.pool import Database
from svc_pg.console.http.body import RequestBody, read_body
from svc_pg.console.http.documentation import Documentation
from svc_pg.console.http.requests import ConsoleRequest, ConsoleResponse
from svc_pg.console.sign_in import portal_links
from svc_pg.console.transport.client_addresses import user_agent
from svc_pg.formats.doc import Doc
from svc_pg.settings import Settings


class OpenPortalRequest(RequestBody):
    """The token of a link."""

    token: str = Field(description="The token of the link, from its address.", examples=["sp_4kX"])


@dataclass(frozen=True, slots=True)
class OpenedPortalSession:
    """A session of the portal's pages, which opens nothing else."""

    portal_token: Annotated[str, Doc("The token of the session, for the portal's pages.", "sp_4kX")]
    tenant: Annotated[str, Doc("The tenant whose webhooks it may manage.", "acme")]
    expires_in: Annotated[int, Doc("The seconds for which it lasts.", 3600)]


OPEN: Final = Documentation(
    operation_id="portal.open",
    summary="Turn a link to the portal into a session of its pages, once",
    body=OpenPortalRequest,
    body_example={"token": "sp_4kX"},
    response=OpenedPortalSession,
    errors={"link_over": 410, **database.PROBLEMS},
)


@dataclass(frozen=True, slots=True)
class PortalOpening:
    """The handler, and the objects that it needs."""

    database: Database
    settings: Settings

    async def open(self, request: ConsoleRequest) -> ConsoleResponse:
        """Open a link."""
        body = read_body(request, OpenPortalRequest)
        async with self.database.once(request) as conn:
            opened = await portal_links.open_link(
                conn,
                body.token,
                idle_timeout=self.settings.console_idle_timeout,
                ip=request.client,
                user_agent=user_agent(request),
            )
        return ConsoleResponse(200, OpenedPortalSession(opened.token, opened.tenant, opened.expires_in))

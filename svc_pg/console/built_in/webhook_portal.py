"""The routes of links to the portal, where a customer manages the endpoints of its tenant."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, Final
from urllib.parse import quote
from uuid import UUID

from pydantic import Field

from svc_pg.console.built_in.webhook_bodies import Text
from svc_pg.console.built_in.webhook_resources import as_problems
from svc_pg.console.database.pool import Database
from svc_pg.console.http.body import RequestBody, read_body
from svc_pg.console.http.documentation import in_path
from svc_pg.console.http.products import ProductEndpoint
from svc_pg.console.http.requests import AuthenticatedRequest, ConsoleResponse, Problem
from svc_pg.console.sign_in import portal_links
from svc_pg.console.sign_in.known_tenants import KnownTenants
from svc_pg.console.sign_in.lifetimes import IS_NEW_TENANT
from svc_pg.console.sign_in.portal_links import LIFETIME, LINK_ID, LONGEST, PendingPortalLink, PortalLink
from svc_pg.console.transport.prefix import PREFIX
from svc_pg.database.query import afetch, afetch_one
from svc_pg.database.storable_texts import MAX_TENANT_CHARACTERS
from svc_pg.formats.doc import Doc
from svc_pg.settings.addresses import origin, unreachable

OF_LINK: Final = (in_path(LINK_ID),)


class CreatePortalSessionRequest(RequestBody):
    """The tenant whose webhooks a customer may manage, and the seconds for which the session lasts."""

    tenant: Text = Field(
        min_length=1,
        max_length=MAX_TENANT_CHARACTERS,
        description="The tenant whose webhooks the customer may manage.",
        examples=["acme"],
    )
    expires_in: int = Field(
        default=int(LIFETIME.total_seconds()),
        ge=60,
        le=int(LONGEST.total_seconds()),
        description="The seconds for which the session lasts.",
        examples=[3600],
    )


@dataclass(frozen=True, slots=True)
class CreatedPortalLink:
    """A link to the portal that was just made."""

    id: Annotated[UUID, LINK_ID]
    url: Annotated[
        str | None,
        Doc(
            "The address to send to the customer; null if SVC_CONSOLE_PUBLIC_URL does not tell the host.",
            "https://shop.example/.well-known/svc/ui/portal/enter?token=sp_4kX",
        ),
    ]
    path: Annotated[
        str, Doc("The part of the address after the host.", "/.well-known/svc/ui/portal/enter?token=sp_4kX")
    ]
    link_expires_at: Annotated[datetime, Doc("The time until which it can be opened, once.")]
    expires_in: Annotated[int, Doc("The seconds for which its session lasts.", 3600)]
    is_new_tenant: Annotated[bool, IS_NEW_TENANT]
    warning: Annotated[
        str | None,
        Doc(
            "The reason if the customer cannot open the link, because its host is of this machine or its network;"
            " else null.",
            "Nobody outside of this machine can open it.",
        ),
    ]


@dataclass(frozen=True, slots=True)
class PendingPortalLinks:
    """The links to the portal that nobody has opened yet."""

    data: Annotated[Sequence[PendingPortalLink], Doc("The links, newest first.")]


@dataclass(frozen=True, slots=True)
class PortalRoutes:
    """The handlers, and the objects that they need."""

    database: Database
    public_url: str | None
    known: KnownTenants

    def endpoints(self) -> Sequence[ProductEndpoint]:
        """The routes."""
        return [
            ProductEndpoint(
                method="GET",
                path="/portal-sessions",
                operation_id="portal_sessions.list",
                handler=self._list,
                required_permission="admin",
                summary="Links to the portal that nobody has opened yet, newest first",
                response=PendingPortalLinks,
            ),
            ProductEndpoint(
                method="POST",
                path="/portal-sessions",
                operation_id="portal_sessions.create",
                keeps_answer=True,
                handler=self._add,
                required_permission="admin",
                summary="Make a link to the portal of a tenant, to be opened once within ten minutes",
                body=CreatePortalSessionRequest,
                body_example={"tenant": "acme", "expiresIn": 3600},
                response=CreatedPortalLink,
                status=201,
                errors={"unknown_tenant": 404, "invalid_value": 422},
            ),
            ProductEndpoint(
                method="GET",
                path="/portal-sessions/:id",
                operation_id="portal_sessions.get",
                path_parameters=OF_LINK,
                handler=self._get,
                required_permission="admin",
                summary="A link to the portal, whatever became of it",
                response=PortalLink,
                errors={"unknown_session": 404},
            ),
            ProductEndpoint(
                method="DELETE",
                path="/portal-sessions/:id",
                operation_id="portal_sessions.revoke",
                path_parameters=OF_LINK,
                handler=self._revoke,
                required_permission="admin",
                summary="End a link to the portal, or the session that it became",
                status=204,
                errors={"unknown_session": 404},
            ),
        ]

    async def _list(self, _request: AuthenticatedRequest) -> ConsoleResponse:
        async with self.database.connection() as conn:
            return ConsoleResponse(200, PendingPortalLinks(await afetch(conn, portal_links.waiting())))

    async def _add(self, request: AuthenticatedRequest) -> ConsoleResponse:
        body = read_body(request, CreatePortalSessionRequest)
        with as_problems():
            wanted = portal_links.link(body.tenant, lifetime=timedelta(seconds=body.expires_in))
            async with self.database.acting(request) as conn:
                await self.known.refuse_unknown(conn, body.tenant)
                link = await afetch_one(conn, wanted)
        path = address(link.token, root=_root(request))
        url = None if self.public_url is None else origin(self.public_url) + path
        warning = unreachable(url or f"http://{request.headers.get('host', '')}")
        made = CreatedPortalLink(link.id, url, path, link.expires_at, body.expires_in, link.is_new_tenant, warning)
        return ConsoleResponse(201, made, {"Location": path})

    async def _get(self, request: AuthenticatedRequest) -> ConsoleResponse:
        async with self.database.connection() as conn:
            found = await afetch(conn, portal_links.get(request.uuid(unknown=_unknown())))
        if not found:
            raise _unknown()
        return ConsoleResponse(200, found[0])

    async def _revoke(self, request: AuthenticatedRequest) -> ConsoleResponse:
        link_id = request.uuid(unknown=_unknown())
        async with self.database.acting(request) as conn:
            if not await portal_links.arevoke(conn, link_id):
                raise _unknown()
        return ConsoleResponse(204)


def _unknown() -> Problem:
    return Problem(404, "unknown_session", "No link to the portal has this id.")


def address(token: str, *, root: str = "") -> str:
    """The path of a link, from the root of the host on. ``root`` is the path at which the application is served."""
    return f"{root}{PREFIX}/ui/portal/enter?token={token}"


def _root(request: AuthenticatedRequest) -> str:
    """The path of the application, which has the console or mounts the API of webhooks; percent-encoded."""
    if request.base_path.endswith(PREFIX):
        return request.base_path.removesuffix(PREFIX)
    return quote(str(request.scope.get("app_root_path", "")).rstrip("/"))

"""Routes of the product ``account`` for the tokens of programs: list, add, revoke."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated, Any, Final

from psycopg import AsyncConnection
from pydantic import AfterValidator, Field

from svc_pg.console.database.pool import Database
from svc_pg.console.http.body import RequestBody, read_body
from svc_pg.console.http.body_problems import BodyProblems
from svc_pg.console.http.documentation import in_path
from svc_pg.console.http.parameters import PAGE, PAGE_BYTES, declared, documented, filtered
from svc_pg.console.http.products import ProductEndpoint
from svc_pg.console.http.requests import AuthenticatedRequest, ConsoleResponse, Problem, created
from svc_pg.console.sessions.token_sessions import ACTOR_PREFIX
from svc_pg.console.sign_in import api_tokens
from svc_pg.console.sign_in.api_tokens import LIFETIME, LONGEST, TOKEN_ID, ApiToken, CreatedToken
from svc_pg.console.sign_in.known_tenants import KnownTenants
from svc_pg.console.sign_in.lifetimes import LifeFilter
from svc_pg.database.pagination import Page
from svc_pg.database.storable_texts import MAX_TENANT_CHARACTERS
from svc_pg.errors import ConflictError, QueryError
from svc_pg.settings import Permission

_FILTERS: Final = {**declared(LifeFilter), **PAGE}
_DAY: Final = 86400
_NAME: Final = "^[A-Za-z0-9][A-Za-z0-9._-]*$"


OF_TOKEN: Final = (in_path(TOKEN_ID),)


def _name(text: str) -> str:
    if not re.fullmatch(_NAME, text):
        raise ValueError("write letters, digits, dots, hyphens and underscores, the first a letter or a digit")
    return text


class CreateTokenRequest(RequestBody):
    """The token of a program."""

    name: Annotated[str, AfterValidator(_name)] = Field(
        max_length=63,
        json_schema_extra={"pattern": _NAME},
        description="The actor of its changes is token:name.",
        examples=["nightly-report"],
    )
    permission: Permission = Field(description="The greatest permission of it; each includes those before it.")
    tenant: str | None = Field(
        default=None,
        min_length=1,
        max_length=MAX_TENANT_CHARACTERS,
        description="Only what is this tenant's.",
        examples=["acme"],
    )
    expires_in: int = Field(
        default=int(LIFETIME.total_seconds()),
        ge=1,
        le=LONGEST.days * _DAY,
        description="The seconds for which it lasts.",
        examples=[7776000],
    )


@dataclass(frozen=True, slots=True)
class TokenRoutes:
    """The handlers, the database with the tokens, and the tenants that these may be of."""

    database: Database
    known: KnownTenants

    def endpoints(self) -> Sequence[ProductEndpoint]:
        """The routes."""
        return [
            ProductEndpoint(
                method="GET",
                path="/tokens",
                operation_id="tokens.list",
                handler=self._list,
                is_compressed=True,
                required_permission="admin",
                summary="The tokens of programs, newest first",
                query=documented(_FILTERS),
                response=Page[ApiToken],
            ),
            ProductEndpoint(
                method="POST",
                path="/tokens",
                operation_id="tokens.create",
                keeps_answer=True,
                handler=self._add,
                required_permission="admin",
                summary="Make a token for a program; the answer holds it, this once",
                body=CreateTokenRequest,
                body_example={"name": "nightly-report", "permission": "read", "expiresIn": 90 * _DAY},
                response=CreatedToken,
                status=201,
                errors={"people_only": 403, "unknown_tenant": 404, "token_exists": 409},
            ),
            ProductEndpoint(
                method="GET",
                path="/tokens/:id",
                operation_id="tokens.get",
                path_parameters=OF_TOKEN,
                handler=self._get,
                required_permission="admin",
                summary="The token of a program, without its secret",
                response=ApiToken,
                errors={"unknown_token": 404},
            ),
            ProductEndpoint(
                method="DELETE",
                path="/tokens/:id",
                operation_id="tokens.revoke",
                path_parameters=OF_TOKEN,
                handler=self._revoke,
                required_permission="admin",
                summary="End the token of a program",
                status=204,
                errors={"unknown_token": 404},
            ),
        ]

    async def _list(self, request: AuthenticatedRequest) -> ConsoleResponse:
        wanted = filtered(api_tokens.query(), request.query, _FILTERS)
        async with self.database.connection() as conn:
            return ConsoleResponse(200, await wanted.alist(conn, max_bytes=PAGE_BYTES))

    async def _add(self, request: AuthenticatedRequest) -> ConsoleResponse:
        if request.session.email.startswith(ACTOR_PREFIX):  # or one that was stolen would survive its end in others
            raise Problem(403, "people_only", "A program cannot make tokens.")
        problems = BodyProblems()
        with problems.kept():
            body = read_body(request, CreateTokenRequest)
        try:
            async with self.database.acting(request) as conn:
                if (tenant := problems.text(request, "tenant")) is not None:
                    async with problems.of(conn, "tenant"):
                        await self._refuse_unknown(conn, tenant)
                if (name := problems.text(request, "name")) is not None:
                    async with problems.of(conn, "name"):
                        await _refuse_taken(conn, name)
                problems.refuse()
                token = await api_tokens.aadd(
                    conn,
                    body.name,
                    permission=body.permission,
                    tenant=body.tenant,
                    lifetime=timedelta(seconds=body.expires_in),
                )
        except ConflictError as error:  # made by another call since
            raise _taken() from error
        except QueryError as error:
            raise _refused(error) from error
        return created(request, token.id, token)

    async def _refuse_unknown(self, conn: AsyncConnection[Any], tenant: str) -> None:
        try:
            await self.known.refuse_unknown(conn, tenant)
        except QueryError as error:
            raise _refused(error) from error

    async def _get(self, request: AuthenticatedRequest) -> ConsoleResponse:
        wanted = api_tokens.query().named(str(request.uuid(unknown=_unknown())))
        async with self.database.connection() as conn:
            for token in await wanted.alist(conn):
                return ConsoleResponse(200, token)
        raise _unknown()

    async def _revoke(self, request: AuthenticatedRequest) -> ConsoleResponse:
        token_id = request.uuid(unknown=_unknown())
        async with self.database.acting(request) as conn:
            if not await api_tokens.arevoke(conn, token_id):
                raise _unknown()
        return ConsoleResponse(204)


async def _refuse_taken(conn: AsyncConnection[Any], name: str) -> None:
    if await api_tokens.ais_taken(conn, name):
        raise _taken()


def _refused(error: QueryError) -> Problem:
    return Problem(422, "invalid_body", f"{error.message}.")


def _taken() -> Problem:
    return Problem(409, "token_exists", "A live token has this name.")


def _unknown() -> Problem:
    return Problem(404, "unknown_token", "No token has this id.")

"""The product ``tenant``: list, add, rename and remove the tenants of an application."""

from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from typing import Any, Final

from psycopg import AsyncConnection, DataError, Error, IntegrityError, errors

from svc_pg.console.built_in.tenant_bodies import CreateTenantRequest, UpdateTenantRequest
from svc_pg.console.built_in.tenant_use import MOST_ASKED, TenantUses, UnlistedTenants, unlisted, use_of
from svc_pg.console.database.pool import Database
from svc_pg.console.http.body import read_body
from svc_pg.console.http.body_problems import BodyProblems
from svc_pg.console.http.documentation import in_path, text
from svc_pg.console.http.parameters import PAGE, PAGE_BYTES, FilterParameter, documented, filtered
from svc_pg.console.http.preconditions import IF_MATCH, OUTDATED, check, tag
from svc_pg.console.http.products import Product, ProductEndpoint
from svc_pg.console.http.requests import AuthenticatedRequest, ConsoleResponse, Problem, created
from svc_pg.console.sign_in.known_tenants import aend_access
from svc_pg.console.sign_in.tenant_table import TENANT_ID, Tenant, Tenants, TenantTable
from svc_pg.database.pagination import Listing, Page
from svc_pg.database.query import afetch_one
from svc_pg.status.webhooks_installed import webhooks_installed

_UNKNOWN: Final = {"unknown_tenant": 404}
_EXISTS: Final = {"tenant_exists": 409}
_EXISTS_ALREADY: Final = "There is a tenant with this id or this name."
_OF_NAME: Final = [{"pointer": "/name", "detail": _EXISTS_ALREADY}]
"""An id that is taken is found before a tenant is added."""
_REFUSED: Final = {"tenant_refused": 422}
_MISSING: Final = {"tenant_table_missing": 503}
_IDS: Final[dict[str, FilterParameter[Sequence[str]]]] = {
    "id": FilterParameter(lambda _, *ids: ids, "a tenant", text("acme"), max_values=MOST_ASKED)
}


OF_TENANT: Final = (in_path(TENANT_ID),)


def tenant_product(database: Database, table: TenantTable) -> Product:
    """The product, over a table of the database."""
    return Product(
        id="tenant",
        name="Tenants",
        description="The tenants of the application, and their use of the service.",
        endpoints=TenantRoutes(database, table).endpoints(),
    )


class TenantRoutes:
    """The handlers, and the objects that they need."""

    def __init__(self, database: Database, table: TenantTable) -> None:
        self._database = database
        self._table = table
        self._tenants = Tenants(table)
        self._filters: dict[str, FilterParameter[Listing[Tenant]]] = {
            "text": FilterParameter(self._tenants.called, "tenants with these letters in their name", text("ac")),
            **PAGE,
        }

    def endpoints(self) -> Sequence[ProductEndpoint]:
        """The routes."""
        return [
            ProductEndpoint(
                method="GET",
                path="/tenants",
                operation_id="tenants.list",
                handler=self._list,
                is_compressed=True,
                summary="Tenants, by name",
                query=documented(self._filters),
                response=Page[Tenant],
                errors=_MISSING,
            ),
            ProductEndpoint(
                method="POST",
                path="/tenants",
                operation_id="tenants.create",
                keeps_answer=True,
                handler=self._add,
                required_permission="write",
                summary="Add a tenant",
                body=CreateTenantRequest,
                body_example={"id": "acme", "name": "Acme"},
                response=Tenant,
                status=201,
                errors={**_EXISTS, **_REFUSED, **_MISSING},
            ),
            ProductEndpoint(
                method="GET",
                path="/tenants/:id",
                operation_id="tenants.get",
                path_parameters=OF_TENANT,
                handler=self._get,
                summary="One tenant",
                response=Tenant,
                errors={**_UNKNOWN, **_MISSING},
            ),
            ProductEndpoint(
                method="PATCH",
                path="/tenants/:id",
                operation_id="tenants.update",
                path_parameters=OF_TENANT,
                handler=self._rename,
                required_permission="write",
                summary="Rename a tenant; with If-Match only if nobody else has renamed it",
                headers=[IF_MATCH],
                body=UpdateTenantRequest,
                body_example={"name": "Acme Europe"},
                response=Tenant,
                errors={**_UNKNOWN, **_EXISTS, **_REFUSED, **_MISSING, **OUTDATED},
            ),
            ProductEndpoint(
                method="DELETE",
                path="/tenants/:id",
                operation_id="tenants.delete",
                path_parameters=OF_TENANT,
                handler=self._remove,
                required_permission="admin",
                summary="Remove a tenant, and end its sessions, tokens and links to the portal",
                status=204,
                errors={**_UNKNOWN, "tenant_in_use": 409, **_REFUSED, **_MISSING},
            ),
            ProductEndpoint(
                method="GET",
                path="/use",
                operation_id="tenants.use",
                handler=self._use,
                is_compressed=True,
                summary="The number of endpoints, messages, sessions and tokens of tenants",
                query=documented(_IDS),
                response=TenantUses,
            ),
            ProductEndpoint(
                method="GET",
                path="/unlisted",
                operation_id="tenants.list_unlisted",
                handler=self._unlisted,
                is_compressed=True,
                summary="Tenants of endpoints, messages, sessions and tokens that the table does not have",
                response=UnlistedTenants,
                errors=_MISSING,
            ),
        ]

    async def _use(self, request: AuthenticatedRequest) -> ConsoleResponse:
        ids = filtered((), request.query, _IDS)
        async with self._database.connection() as conn:
            has_webhooks = await afetch_one(conn, webhooks_installed())
            return ConsoleResponse(200, await use_of(conn, ids, has_webhooks=has_webhooks))

    async def _unlisted(self, _request: AuthenticatedRequest) -> ConsoleResponse:
        async with self._answering(self._database.connection()) as conn:
            has_webhooks = await afetch_one(conn, webhooks_installed())
            return ConsoleResponse(200, await unlisted(conn, self._tenants, has_webhooks=has_webhooks))

    async def _list(self, request: AuthenticatedRequest) -> ConsoleResponse:
        wanted = filtered(self._tenants.query(), request.query, self._filters)
        async with self._answering(self._database.connection()) as conn:
            return ConsoleResponse(200, await wanted.alist(conn, max_bytes=PAGE_BYTES))

    async def _get(self, request: AuthenticatedRequest) -> ConsoleResponse:
        async with self._answering(self._database.connection()) as conn:
            with _known():
                tenant = _one(await self._tenants.find(conn, request.params["id"]))
            return await self._answer(conn, tenant)

    async def _add(self, request: AuthenticatedRequest) -> ConsoleResponse:
        problems = BodyProblems()
        with problems.kept():
            new = read_body(request, CreateTenantRequest)
        async with self._answering(self._database.acting(request)) as conn:
            if (tenant_id := problems.text(request, "id")) is not None:
                async with problems.of(conn, "id"):
                    await self._refuse_taken(conn, tenant_id)
            problems.refuse()
            try:
                tenant = await self._tenants.add(conn, new.name, tenant_id=new.id)
            except DataError as error:  # for example an id that the type of its column cannot hold
                raise _refused(error) from error
        return created(request, tenant.id, tenant)

    async def _refuse_taken(self, conn: AsyncConnection[Any], tenant_id: str) -> None:
        try:
            found = await self._tenants.find(conn, tenant_id)
        except DataError as error:  # for example an id that the type of its column cannot hold
            raise _refused(error) from error
        if found is not None:
            raise Problem(409, "tenant_exists", "There is a tenant with this id.")

    async def _rename(self, request: AuthenticatedRequest) -> ConsoleResponse:
        changes = read_body(request, UpdateTenantRequest)
        async with self._answering(self._database.acting(request)) as conn:
            with _known():
                tenant = _one(await self._tenants.find(conn, request.params["id"], is_locked=True))
            check(request, await self._tenants.version(conn, tenant))
            return await self._answer(conn, await self._tenants.rename(conn, tenant.id, changes.name))

    async def _remove(self, request: AuthenticatedRequest) -> ConsoleResponse:
        async with self._answering(self._database.acting(request)) as conn:
            with _known():
                removed = _one(await self._tenants.remove(conn, request.params["id"]))
            await aend_access(conn, removed.id)
        return ConsoleResponse(204)

    async def _answer(self, conn: AsyncConnection[Any], tenant: Tenant) -> ConsoleResponse:
        return ConsoleResponse(200, tenant, {"ETag": tag(await self._tenants.version(conn, tenant))})

    @asynccontextmanager
    async def _answering(
        self, opening: AbstractAsyncContextManager[AsyncConnection[Any]]
    ) -> AsyncIterator[AsyncConnection[Any]]:
        """A connection on which refusals by the table, also those at the commit, become problem documents."""
        with _explaining(self._table):
            async with opening as conn:
                yield conn


def _one(tenant: Tenant | None) -> Tenant:
    if tenant is None:
        raise Problem(404, "unknown_tenant", "There is no tenant with this id.")
    return tenant


@contextmanager
def _known() -> Iterator[None]:
    try:
        yield
    except DataError as error:  # the type of the column cannot hold such an id
        raise Problem(404, "unknown_tenant", "There is no tenant with this id.") from error


@contextmanager
def _explaining(table: TenantTable) -> Iterator[None]:
    try:
        yield
    except errors.UniqueViolation as error:
        raise Problem(409, "tenant_exists", _EXISTS_ALREADY, errors=_OF_NAME) from error
    except (errors.ForeignKeyViolation, errors.RestrictViolation) as error:
        raise Problem(409, "tenant_in_use", "Other rows refer to this tenant.") from error
    except IntegrityError as error:
        raise _refused(error) from error
    except (errors.UndefinedTable, errors.UndefinedColumn) as error:
        detail = f"The table {table.name} or one of its columns does not exist: {error.diag.message_primary}."
        raise Problem(503, "tenant_table_missing", detail) from error


def _refused(error: Error) -> Problem:
    return Problem(422, "tenant_refused", f"The table refuses this tenant: {error.diag.message_primary}.")

"""The tenants that links, tokens and endpoints may be for, and the end of all access for one."""

from dataclasses import dataclass
from typing import Any, Final

from psycopg import AsyncConnection, Connection, DataError, Error
from psycopg.rows import scalar_row

from svc_pg.console.http.requests import Problem, explained
from svc_pg.console.sign_in.tenant_table import SVC_TENANTS, Tenants, TenantTable
from svc_pg.database.query import Query, afetch, fetch, fetch_one, scalar
from svc_pg.database.statements import statement
from svc_pg.database.storable_texts import refuse_tenant
from svc_pg.errors import NotFoundError

_CHECK: Final = "select svc.console_check_tenant(%s)"
_IS_NEW: Final = "select svc.console_is_new_tenant(%s)"
_END: Final = "select svc.end_tenant_access(%s)"
_ACCESS: Final = statement("queries/console/tenant_access.sql")
_ENDED: Final = """
select (select count(*) from svc.console_portal_links where tenant = %(tenant)s and revoked_at = now()) as links,
       (select count(*) from svc.console_sessions where tenant = %(tenant)s and revoked_at = now()) as sessions,
       (select count(*) from svc.console_tokens where tenant = %(tenant)s and revoked_at = now()) as tokens
"""


@dataclass(frozen=True, slots=True)
class Access:
    """The numbers of links, sessions and tokens of one tenant."""

    links: int
    sessions: int
    tokens: int


class KnownTenants:
    """The tenants that a console makes links, tokens and endpoints for: those of a table, by default of svc.tenants.

    If no table was named and svc.tenants is empty, any text may be a tenant.
    """

    def __init__(self) -> None:
        self._tenants: Tenants | None = None
        self._name = ""

    @property
    def table(self) -> Tenants | None:
        """The tenants of the table that was named; None if none was."""
        return self._tenants

    def are_in(self, table: TenantTable) -> None:
        """From now on, tenants are the rows of this table."""
        self._tenants, self._name = Tenants(table), table.name

    async def name_of(self, conn: AsyncConnection[Any], tenant: str) -> str | None:
        """The name of the tenant; None if it has none, or the table cannot be read."""
        try:
            found = await (self._tenants or Tenants(SVC_TENANTS)).called_by_id(conn, tenant)
        except Error:  # without a right to the application's table, for example
            return None
        return next((each.name for each in found), None)

    async def refuse_unknown(self, conn: AsyncConnection[Any], tenant: str) -> None:
        """Raise Problem 404 if the tenant is unknown; else nobody removes it before the end of the transaction.

        Raises QueryError if none can be called so.
        """
        refuse_tenant(tenant)
        if self._tenants is None:
            try:
                await afetch(conn, Query(_CHECK, (tenant,), dict))
            except NotFoundError as error:
                raise Problem(404, "unknown_tenant", explained(error)) from error
            return
        try:
            found = await self._tenants.kept(conn, tenant)
        except DataError:  # the type of the column cannot hold such an id
            found = None
        if found is None:
            raise Problem(404, "unknown_tenant", f"There is no such tenant in {self._name}. Add it first.")


def refuse_unknown(conn: Connection[Any], tenant: str) -> None:
    """Raise NotFoundError if svc.tenants has tenants, but not this one; else it stays as in ``KnownTenants``.

    Raises QueryError if none can be called so.
    """
    refuse_tenant(tenant)
    fetch(conn, Query(_CHECK, (tenant,), dict))


def is_new(conn: Connection[Any], tenant: str | None) -> bool:
    """True if nothing in the database is of the tenant, whose name may be misspelt. Of no tenant it is not."""
    return bool(scalar(conn, _IS_NEW, (tenant,)))


async def ais_new(conn: AsyncConnection[Any], tenant: str | None) -> bool:
    """As ``is_new``, on an async connection."""
    cursor = await conn.cursor(row_factory=scalar_row).execute(_IS_NEW, (tenant,))
    return bool(await cursor.fetchone())


def access(tenant: str) -> Query[Access]:
    """All that lets somebody in for this tenant now. Raises QueryError if none can be called so."""
    refuse_tenant(tenant)
    return Query(_ACCESS, {"tenant": tenant}, Access)


def end_access(conn: Connection[Any], tenant: str) -> Access:
    """End all access for this tenant, as the actor of the transaction; return the numbers."""
    refuse_tenant(tenant)
    scalar(conn, _END, (tenant,))
    return fetch_one(conn, Query(_ENDED, {"tenant": tenant}, Access))


async def aend_access(conn: AsyncConnection[Any], tenant: str) -> None:
    """As ``end_access``, on an async connection."""
    await conn.cursor(row_factory=scalar_row).execute(_END, (tenant,))

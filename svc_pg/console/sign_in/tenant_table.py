"""Tenants in ``svc.tenants``, or in a table of the application: read, add, rename, remove."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Annotated, Any, Final, LiteralString

from psycopg import AsyncConnection, DataError
from psycopg.rows import class_row, scalar_row, tuple_row
from psycopg.sql import NULL, SQL, Identifier

from svc_pg.database.pagination import ALL, Keyset, Listing, decode
from svc_pg.database.table_names import TableName
from svc_pg.errors import ConfigError
from svc_pg.formats.doc import Doc

TENANT_ID: Final = Doc("The id of the tenant, as entries, messages and endpoints name it.", "acme")


@dataclass(frozen=True, kw_only=True)
class TenantTable:
    """The table of tenants. ``name`` is ``schema.table``; columns are spelled as in the catalog.

    The id may have any type that can be read from text. Rows without a name are not listed. A change sets
    ``updated_at_column``. Raises ConfigError if ``name`` is not that of a table, or a column has no name.
    """

    name: str
    id_column: str = "id"
    name_column: str = "name"
    created_at_column: str | None = None
    updated_at_column: str | None = None

    def __post_init__(self) -> None:
        TableName.parse(self.name)
        if "" in (self.id_column, self.name_column, self.created_at_column, self.updated_at_column):
            raise ConfigError(
                f"tenant table {self.name!r}: a column has no name",
                hint="Leave out the columns of times that it lacks.",
            )


SVC_TENANTS: Final = TenantTable(name="svc.tenants", created_at_column="created_at", updated_at_column="updated_at")


MOST_LOOKED_AT: Final = 10_000
"""The tenants, by id, among which a suggestion looks for letters of a name."""


@dataclass(frozen=True, slots=True)
class Tenant:
    """One tenant."""

    id: Annotated[str, TENANT_ID]
    name: Annotated[str, Doc("Its name.", "Acme")]
    created_at: Annotated[
        datetime | None, Doc("The time at which it was added; null if the table has no column for it.")
    ]
    updated_at: Annotated[datetime | None, Doc("The time of its last change; null if the table has no column for it.")]


_ROW: Final = """{id}::text as id, {name}::text as name, {created}::timestamptz as created_at,
       {updated}::timestamptz as updated_at"""
_ALL: Final = "select {row} from {table}"
_IS_NAMED: Final = "{name} is not null"
_IS_CALLED: Final = "strpos(lower({name}::text), lower(%s)) > 0"
_LOOKED_THROUGH: Final = """
with first as (select t.* from {table} t where {name} is not null order by {id} limit %s)
select looked.number, found.* from (select count(*)::int as number from first) looked
  left join (select {row} from first where strpos(lower({name}::text), lower(%s)) > 0
              order by {name}, {id} limit %s) found on true
"""
_BY_NAME: Final = " order by {name}, {id}"
_BEYOND: Final = "({name}, {id}) > (%s, %s)"
_BY_NAME_BACKWARDS: Final = " order by {name} desc, {id} desc"
_BEFORE: Final = "({name}, {id}) < (%s, %s)"
_ONE: Final = "select {row} from {table} where {id} = %s"
_ADD: Final = "insert into {table} ({name}) values (%s) returning {row}"
_ADD_WITH_ID: Final = "insert into {table} ({name}, {id}) values (%s, %s) returning {row}"
_LOCK: Final = "select {row} from {table} where {id} = %s for update"
_KEEP: Final = "select {row} from {table} where {id} = %s for key share"
_RENAME: Final = "update {table} set {name} = %s where {id} = %s returning {row}"
_RENAME_AT: Final = "update {table} set {name} = %s, {updated} = now() where {id} = %s returning {row}"
# a table has the system column xmin, the transaction that wrote the row; of a view, the null outside is meant
_VERSION: Final = """
select row.version
  from (select null::text as xmin) beside,
       lateral (select xmin::text as version from {table} where {id} = %s) row
"""
_REMOVE: Final = "delete from {table} where {id} = %s returning {row}"


class Tenants:
    """Queries and changes of one table. None of them commits, and errors are those of psycopg."""

    def __init__(self, table: TenantTable) -> None:
        self._has_updated_at = table.updated_at_column is not None
        names: dict[str, SQL | Identifier] = {
            "table": Identifier(*TableName.parse(table.name)),
            "id": Identifier(table.id_column),
            "name": Identifier(table.name_column),
            "created": _column(table.created_at_column),
            "updated": _column(table.updated_at_column),
        }
        self.names = names
        """The table and its columns, as they stand in a statement."""
        self._names = {**names, "row": SQL(_ROW).format(**names)}

    def query(self) -> Listing[Tenant]:
        """A query of tenants, sorted by name."""
        by_name = Keyset(
            select=self._text(_ALL),
            row=Tenant,
            order=self._text(_BY_NAME),
            beyond=self._text(_BEYOND),
            reverse_order=self._text(_BY_NAME_BACKWARDS),
            before=self._text(_BEFORE),
            key=lambda tenant: (tenant.name, tenant.id),
            read=lambda cursor: decode(cursor, str, str),
        )
        return Listing(by_name, ALL.where(self._text(_IS_NAMED)))

    def called(self, wanted: Listing[Tenant], words: str) -> Listing[Tenant]:
        """Those of a query with these letters in their name."""
        return replace(wanted, filter=wanted.filter.where(self._text(_IS_CALLED), words))

    async def find(self, conn: AsyncConnection[Any], tenant_id: str, *, is_locked: bool = False) -> Tenant | None:
        """The tenant with this id; ``is_locked`` locks it until the end of the transaction."""
        return _first(await self._run(conn, _LOCK if is_locked else _ONE, tenant_id))

    async def looked_through(
        self, conn: AsyncConnection[Any], text: str, *, shown: int
    ) -> tuple[Sequence[Tenant], int]:
        """The tenant with this id, and those with these letters in their name among the first by id.

        Beside them the number of those looked at for letters: up to ``MOST_LOOKED_AT``.
        """
        exact = await self.called_by_id(conn, text)
        cursor = conn.cursor(row_factory=tuple_row)
        await cursor.execute(self._text(_LOOKED_THROUGH), (MOST_LOOKED_AT, text, shown))
        rows = await cursor.fetchall()
        named = sorted((Tenant(*row[1:]) for row in rows if row[1] is not None), key=lambda each: (each.name, each.id))
        return [*exact, *(each for each in named if each not in exact)][:shown], rows[0][0]

    async def called_by_id(self, conn: AsyncConnection[Any], text: str) -> Sequence[Tenant]:
        """The tenant with this id if it has a name, also of a text that no id can be."""
        try:
            async with conn.transaction():
                found = await self.find(conn, text)
        except DataError:  # no text of an id of this type
            return []
        return [] if found is None or found.name is None else [found]

    async def kept(self, conn: AsyncConnection[Any], tenant_id: str) -> Tenant | None:
        """The tenant with this id, which nobody removes before the end of the transaction."""
        return _first(await self._run(conn, _KEEP, tenant_id))

    async def version(self, conn: AsyncConnection[Any], tenant: Tenant) -> object:
        """The version of a tenant's row, another after each write, also of equal values; of a view, its values.

        Two changes within one transaction count as one.
        """
        cursor = await conn.cursor(row_factory=scalar_row).execute(self._text(_VERSION), (tenant.id,))
        return (await cursor.fetchone(), tenant.name, tenant.updated_at)

    async def add(self, conn: AsyncConnection[Any], name: str, *, tenant_id: str | None) -> Tenant:
        """Add a tenant. Default id: that of the table."""
        if tenant_id is None:
            [tenant] = await self._run(conn, _ADD, name)
        else:
            [tenant] = await self._run(conn, _ADD_WITH_ID, name, tenant_id)
        return tenant

    async def rename(self, conn: AsyncConnection[Any], tenant_id: str, name: str) -> Tenant:
        """Rename an existing tenant."""
        [tenant] = await self._run(conn, _RENAME_AT if self._has_updated_at else _RENAME, name, tenant_id)
        return tenant

    async def remove(self, conn: AsyncConnection[Any], tenant_id: str) -> Tenant | None:
        """Remove the tenant with this id, and return it, or None if there is none."""
        return _first(await self._run(conn, _REMOVE, tenant_id))

    async def _run(self, conn: AsyncConnection[Any], statement: LiteralString, *params: object) -> Sequence[Tenant]:
        cursor = conn.cursor(row_factory=class_row(Tenant))
        return await (await cursor.execute(self._text(statement), params)).fetchall()

    def _text(self, template: LiteralString) -> LiteralString:
        return SQL(template).format(**self._names).as_string()  # literal except for names, which are quoted


def _column(name: str | None) -> SQL | Identifier:
    return NULL if name is None else Identifier(name)


def _first(tenants: Sequence[Tenant]) -> Tenant | None:
    return tenants[0] if tenants else None

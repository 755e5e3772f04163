"""The inventory of tables, columns, indexes and constraints of the migrations, to detect later changes."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Final, Literal, LiteralString

from psycopg import Connection

from svc_pg.database.query import Query, fetch
from svc_pg.database.sql_products import ProductId, is_table_of_webhooks
from svc_pg.database.statements import statement
from svc_pg.schema.postgres.installation import Installation
from svc_pg.schema.postgres.migrations import OF_WEBHOOKS
from svc_pg.schema.status import InventoryKind

_PRESENT: Final = statement("queries/schema/present_inventory.sql")
# Another version of PostgreSQL may print a definition in other words, and after a dump it has other parentheses. A
# record of an older svc-pg has none.
_MAJOR: Final[LiteralString] = "current_setting('server_version_num')::integer / 10000"
_IS_ANOTHER: Final[LiteralString] = (
    "translate(p.definition, '()', '') <> translate(to_jsonb(r) ->> 'definition', '()', '')"
)
_ALTERED: Final = (
    statement("queries/schema/altered_objects.sql")
    .replace("{present}", _PRESENT)
    .replace("{is_another}", _IS_ANOTHER)
    .replace("{major}", _MAJOR)
)
RECORD: Final = f"""
delete from svc.installed_inventory;
insert into svc.installed_inventory (kind, identity, of_table, sql, definition) {_PRESENT}
select kind, identity, of_table, sql, definition from present;
"""  # noqa: S608 - constants
RENEW: Final = f"""{_PRESENT}
update svc.installed_inventory r
   set sql = p.sql, definition = p.definition, postgres_major = {_MAJOR}
  from present p
 where p.kind = r.kind and p.identity = r.identity and r.postgres_major <> {_MAJOR};
"""  # noqa: S608 - constants
"""Record the definitions anew if they are from another version of PostgreSQL."""

_FORGET: Final = r"""
delete from svc.installed_inventory where of_table like 'webhook\_%';
drop type if exists svc.webhook_lane;
"""


@dataclass(frozen=True, slots=True)
class AlteredObject:
    """An object of a table that is missing, has another definition, or is not valid.

    ``sql`` restores it, and is None if only a backup can.
    """

    kind: InventoryKind
    identity: str
    of_table: str
    state: Literal["missing", "tampered"]
    sql: str | None


def altered(conn: Connection[Any], installation: Installation, products: Collection[ProductId]) -> list[AlteredObject]:
    """The objects of these products that differ from the record; of a missing table, only the table."""
    if not installation.has("installed_inventory"):
        return []
    found = fetch(conn, Query(_ALTERED, (), AlteredObject))
    return [each for each in found if "webhooks" in products or not is_table_of_webhooks(each.of_table)]


def record(conn: Connection[Any]) -> None:
    """Record the objects that exist, after migrations."""
    conn.execute(RECORD)


def forget_dropped(conn: Connection[Any], installation: Installation, products: Collection[ProductId]) -> None:
    """Forget the tables of webhooks if these are left out and all of them were dropped, so that they can be made anew.

    Nothing of webhooks may be left that needs their types.
    """
    is_left = "webhooks" in products or any(map(is_table_of_webhooks, installation.around.relations))
    if not is_left and installation.migrations.keys() & OF_WEBHOOKS:
        conn.execute("delete from svc.migrations where number = any (%s)", (list(OF_WEBHOOKS),))
        conn.execute(_FORGET)

"""The migrations of schema ``svc``, below ``sql/migrations``."""

from collections.abc import Collection
from typing import Any, Final

from psycopg import Connection

from svc_pg.database.sql_products import ProductId
from svc_pg.errors import InstallError
from svc_pg.schema import migration_files
from svc_pg.schema.migration_files import Migration
from svc_pg.schema.postgres.installation import Installation
from svc_pg.schema.status import Status

_FOLDER: Final = "migrations"
OF_WEBHOOKS: Final = frozenset({3, 4, 8, 10, 13, 17, 19, 27, 29, 33, 34})
"""The migrations of tables of webhooks alone. Named here, because a file is not edited after a release."""


def released() -> tuple[Migration, ...]:
    """All migrations of this program, in order."""
    return migration_files.released(_FOLDER)


def states(installation: Installation, products: Collection[ProductId]) -> list[Status]:
    """All migrations that have run or that these products need, missing or ok.

    Raises the errors of ``svc_pg.schema.migration_files.pending``, and InstallError if a schema ``svc`` exists that is
    not ours.
    """
    if not installation.has("migrations") and installation.around.schema_owner is not None:
        raise InstallError(
            "a schema svc exists in this database, and svc-pg did not make it",
            hint="Rename or drop it; the name is fixed.",
        )
    unwanted = () if "webhooks" in products else OF_WEBHOOKS
    return migration_files.states(_FOLDER, installation.migrations, unwanted=unwanted)


def apply(conn: Connection[Any], migration: Migration) -> None:
    """Run one migration and record it, in the caller's transaction."""
    conn.execute(migration.sql.encode())
    conn.execute(
        "insert into svc.migrations (number, name, sha256) values (%s, %s, %s)",
        (migration.number, migration.name, migration.sha256),
    )

"""The record of the installed objects of a server of MySQL or MariaDB."""

from collections.abc import Mapping
from dataclasses import dataclass

from svc_pg.database.dbapi import DbApiConnection, rows
from svc_pg.other_databases.schema.mysql.installed import recorded_objects
from svc_pg.schema.comparison import Key, Recorded


@dataclass(frozen=True, slots=True)
class Installation:
    """The record, which is empty if nothing is installed.

    ``tables`` are those of schema svc, ``migrations`` the names and fingerprints of the server's migrations, and
    ``notes`` the triggers of all its databases, each with its home.
    """

    tables: frozenset[str]
    version: str | None
    migrations: Mapping[int, tuple[str, str]]
    notes: Mapping[Key, tuple[str, Recorded]]

    @property
    def is_of_others(self) -> bool:
        """True if a schema ``svc`` exists that is not ours."""
        return bool(self.tables) and "migrations" not in self.tables


def read_installation(conn: DbApiConnection) -> Installation:
    """Read the record."""
    found = rows(conn, "select table_name from information_schema.tables where table_schema = 'svc'")
    tables = frozenset(name for (name,) in found)
    if "migrations" not in tables:
        return Installation(tables, None, {}, {})
    versions = rows(conn, "select version from svc.installation") if "installation" in tables else []
    return Installation(
        tables,
        next((version for (version,) in versions), None),
        {
            number: (name, digest)
            for number, name, digest in rows(conn, "select number, name, sha256 from svc.migrations")
        },
        recorded_objects(conn) if "installed_objects" in tables else {},
    )

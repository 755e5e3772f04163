"""One look at a database before an install: the server, the installer, the roles and earlier installs."""

import json
from dataclasses import dataclass
from typing import Any, Final, LiteralString

from psycopg import Connection
from psycopg.errors import InsufficientPrivilege
from psycopg.rows import tuple_row

from svc_pg import __version__
from svc_pg.config.installed_parts import Parts, json_of, parts_in
from svc_pg.database.query import Query, RawJson, fetch_one, scalar
from svc_pg.database.statements import statement
from svc_pg.errors import AccessError
from svc_pg.schema.postgres import log_indexes
from svc_pg.schema.postgres.log_indexes import LogIndexes, of_facts

OWNERS: Final = ("svc_owner", "svc_writer")
CAPTURE: Final = "svc_capture"
CAPTURER: Final = "^svc_capture_.*_[0-9a-f]{8}$"
"""The pattern of the names of superusers' tables' roles, one for each table: members of CAPTURE."""
CLOSED: Final = (*OWNERS, CAPTURE)
"""The roles without login."""
SENDER: Final = "svc_sender"
"""The role that sends events: of webhooks alone."""
ROLES: Final = (*CLOSED, SENDER, "svc_reader", "svc_admin")
OPTIONS_SINCE: Final = 160000
"""The server version from which a membership has the options to inherit and to SET ROLE."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The facts in the catalog that every role may read.

    ``roles`` are all of the cluster. ``excess`` has, for each role of svc with powers that it should not have, the
    options that remove them. ``lacking`` are the existing owners that the installer cannot act as. ``relations`` are
    the tables of schema ``svc``. ``has_user_types`` is true if a role that is no superuser owns a type outside that
    schema other than a domain, an array or a row.
    """

    server_version: int
    is_standby: bool
    is_read_only: bool
    installer: str
    is_superuser: bool
    creates_roles: bool
    creates_schemas: bool
    schema_owner: str | None
    acts_as_schema_owner: bool
    is_schema_of_superuser: bool
    roles: list[str]
    excess: dict[str, str]
    lacking: list[str]
    relations: list[str]
    has_guard: bool
    sees_hash_key: bool
    has_user_types: bool
    log_indexes: LogIndexes | None

    @property
    def has_options(self) -> bool:
        """True if a membership has options: to inherit, and to SET ROLE."""
        return self.server_version >= OPTIONS_SINCE


@dataclass(frozen=True, slots=True)
class Installation:
    """The surroundings, and the record of the install, which has no version if nothing is installed.

    ``revision`` rises with every transaction of an install. ``migrations`` are the names and fingerprints of the
    migrations that have run, by number. ``configuration`` is that of the last install; None if it is not known, or if
    all was removed since.
    """

    around: Surroundings
    version: str | None
    has_roles: bool | None
    access_sha256: str | None
    revision: int
    migrations: dict[int, tuple[str, str]]
    configuration: Parts | None = None

    def has(self, table: str) -> bool:
        """True if schema ``svc`` has this table."""
        return table in self.around.relations


_SURROUNDINGS: Final = statement("queries/schema/surroundings.sql").replace("{log_indexes}", log_indexes.FACTS)
# in a database of before, it has no configuration
_RECORD: Final[LiteralString] = """
select version, has_roles, access_sha256, revision, to_json(i) ->> 'configuration' from svc.installation i
"""
_CONFIGURATION_SINCE: Final = 23
"""The migration that adds the column."""
_RECORD_INSTALL: Final = statement("queries/schema/record_install.sql")


def _surroundings(*, excess: RawJson, log_indexes: RawJson | None, **facts: Any) -> Surroundings:
    return Surroundings(excess=excess.value, log_indexes=of_facts(log_indexes), **facts)


def look_around(conn: Connection[Any]) -> Surroundings:
    """Read the catalog."""
    params = {
        "owners": list(OWNERS),
        "closed": list(CLOSED),
        "capturer": CAPTURER,
        "svc_roles": list(ROLES),
        "options_since": OPTIONS_SINCE,
    }
    return fetch_one(conn, Query(_SURROUNDINGS, params, _surroundings))


def read_installation(conn: Connection[Any], around: Surroundings) -> Installation:
    """Read the record, as far as there is one. Raises AccessError if the role may not."""
    rows = conn.cursor(row_factory=tuple_row)
    try:
        record = rows.execute(_RECORD).fetchone() if "installation" in around.relations else None
    except InsufficientPrivilege as error:
        raise AccessError(
            f'role "{around.installer}" may not read what is installed',
            hint='Administrators may. Name the role in admin below [grants] of svc-pg.toml: see "Roles and rights" in'
            " the documentation.",
        ) from error
    version, has_roles, access_sha256, revision, configuration = record or (None, None, None, 0, None)
    migrations = {}
    if "migrations" in around.relations:
        rows.execute("select number, name, sha256 from svc.migrations")
        migrations = {number: (name, sha256) for number, name, sha256 in rows}
    return Installation(
        around=around,
        version=version,
        has_roles=has_roles,
        access_sha256=access_sha256,
        revision=revision,
        migrations=migrations,
        configuration=None if configuration is None else parts_in(json.loads(configuration)),
    )


def record_install(
    conn: Connection[Any],
    present: Installation,
    parts: Parts,
    *,
    has_roles: bool,
    access_sha256: str,
    is_changed: bool,
) -> int:
    """Record an install, if anything is new; return the revision."""
    record = (__version__, has_roles, access_sha256)
    known = (present.version, present.has_roles, present.access_sha256)
    is_known = present.configuration is not None and json_of(parts) == json_of(present.configuration)
    if not is_changed and record == known and is_known:
        return present.revision
    revision: int = scalar(conn, _RECORD_INSTALL, (*record, json_of(parts)))
    return revision


def record_configuration(conn: Connection[Any], parts: Parts) -> None:
    """Record the configuration once more, as another install has recorded its own meanwhile."""
    conn.execute("update svc.installation set configuration = %s::json", (json_of(parts),))


def forget_configuration(conn: Connection[Any], present: Installation) -> None:
    """Record that nothing is installed, and count the transaction."""
    next_revision(conn)
    if present.migrations.keys() >= {_CONFIGURATION_SINCE}:
        conn.execute("update svc.installation set configuration = null")


def next_revision(conn: Connection[Any]) -> int:
    """Count a transaction of an install; return its number."""
    number: int = scalar(conn, "update svc.installation set revision = revision + 1 returning revision")
    return number

"""Find foreign objects on the tables and roles of svc: rules, triggers, policies, defaults, settings, members."""

from dataclasses import dataclass
from typing import Any, Final

from psycopg import Connection

from svc_pg.database import sql_access
from svc_pg.database.query import Query, fetch
from svc_pg.rendering.templates import render
from svc_pg.schema.postgres.installation import CAPTURER, CLOSED, Installation
from svc_pg.schema.status import ForeignKind, Status

PARAMETER_GRANTS_SINCE: Final = 150000
"""The server version from which a right to set a parameter can be granted."""
_NEEDED: Final = ("audit_logs", "audit_hash_key", "installation")


@dataclass(frozen=True, slots=True)
class Foreign:
    """A foreign object that can end or falsify a capture, and the SQL that removes it.

    It ``is_kept`` by an install if it may be needed, or needs a decision first.
    """

    kind: ForeignKind
    identity: str
    is_kept: bool
    sql: str


def status_of(thing: Foreign) -> Status:
    """The foreign object among the objects of a status."""
    return Status(thing.kind, thing.identity, "tampered", thing.sql, is_foreign=thing.is_kept)


def settings(conn: Connection[Any], installation: Installation) -> list[Foreign]:
    """Those of ``find`` that are settings of roles, databases and the server."""
    text = render("installed/foreign_settings.sql.j2", has_parameter_grants=_has_parameter_grants(installation))
    return fetch(conn, Query(text, (), Foreign))


def find(conn: Connection[Any], installation: Installation, *, has_roles: bool) -> list[Foreign]:
    """All foreign objects that the role may see; none while a table of ours is missing."""
    if not all(installation.has(table) for table in _NEEDED):
        return []
    text = render(
        "installed/foreign.sql.j2",
        has_roles=has_roles,
        helpers=sql_access.helpers("owner"),
        owners=CLOSED,
        capturer_pattern=CAPTURER,
        sees_key=installation.around.sees_hash_key,
        has_user_types=installation.around.has_user_types,
        has_parameter_grants=_has_parameter_grants(installation),
    )
    return fetch(conn, Query(text, (), Foreign))


def _has_parameter_grants(installation: Installation) -> bool:
    return installation.around.server_version >= PARAMETER_GRANTS_SINCE

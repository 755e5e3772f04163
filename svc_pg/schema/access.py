"""Owners and privileges of the objects in schema ``svc``.

Default privileges of the installing role would open new tables to others, and anybody may change a grant, so every
install compares all owners and privileges with the rules in ``sql/access/access_changes.sql.j2`` and corrects the
differences. Rights that somebody has as a member of a role are no difference.
"""

from dataclasses import dataclass
from difflib import get_close_matches
from hashlib import sha256
from typing import Any, Final, Literal, LiteralString

from psycopg import Connection
from psycopg.rows import tuple_row

from svc_pg.config import Grants
from svc_pg.errors import ConfigError
from svc_pg.query import Query, fetch, scalar
from svc_pg.render import render

_ROUNDS: Final = 3  # a revoke from a table also removes the grants on its columns, and the next round restores them


@dataclass(frozen=True, slots=True)
class Access:
    """Whether the roles of svc_pg.schema.roles own everything, or the installer; and the grants to other roles."""

    has_roles: bool
    grants: Grants


@dataclass(frozen=True, slots=True)
class AccessChange:
    """An object with a wrong owner or privileges, such as ``table svc.audit_logs``, and the SQL that corrects it."""

    object: str
    sql: str


def wanted(conn: Connection[Any], grants: Grants, *, roles: bool | None = None) -> Access:
    """The access rules; ``roles`` None means as the database remembers, and with roles if it is new.

    Raises ConfigError if ``grants`` names a role that does not exist.
    """
    known = [name for (name,) in conn.cursor(row_factory=tuple_row).execute("select rolname from pg_roles")]
    for right, names in grants:
        for name in names:
            if name not in known:
                near = get_close_matches(name, known, n=1)
                raise ConfigError(
                    f'grants.{right}: role "{name}" does not exist',
                    hint=f'Did you mean "{near[0]}"?' if near else "Create it first; svc-pg makes only its own roles.",
                )
    if roles is None and scalar(conn, "select to_regclass('svc.installation') is not null"):
        roles = scalar(conn, "select has_roles from svc.installation")
    return Access(has_roles=roles is not False, grants=grants)


def compare(conn: Connection[Any], access: Access) -> list[AccessChange]:
    """The differences: none if svc is not installed. The roles must exist."""
    return fetch(conn, Query(_rendered("access/access_changes.sql.j2", access), (), AccessChange))


def apply(conn: Connection[Any], access: Access) -> None:
    """Correct the differences, in the caller's transaction."""
    for _ in range(_ROUNDS):
        changes = compare(conn, access)
        for change in changes:
            conn.execute(change.sql.encode())
        if not changes:
            break


def state(conn: Connection[Any], access: Access) -> Literal["outdated", "tampered"]:
    """The reason for differences: new rules since the last install (outdated), or else somebody changed the rights."""
    is_installed = scalar(conn, "select to_regclass('svc.installation') is not null")
    recorded = scalar(conn, "select access_sha256 from svc.installation") if is_installed else None
    return "tampered" if recorded == fingerprint(access) else "outdated"


def fingerprint(access: Access) -> str:
    """The hash of the rules, roles and grants, which the database keeps."""
    return sha256(access_sql(access).encode()).hexdigest()


def access_sql(access: Access) -> str:
    """As ``apply``, but a statement for those who install by script."""
    return _rendered("access/access.sql.j2", access)


def _rendered(template: str, access: Access) -> LiteralString:
    def holders(role: str, names: list[str]) -> list[str]:
        return [role, *names] if access.has_roles else names

    return render(
        template,
        has_roles=access.has_roles,
        writer=holders("svc_writer", []),
        send=holders("svc_sender", access.grants.send),
        read=holders("svc_reader", access.grants.read),
        admin=holders("svc_admin", access.grants.admin),
    )

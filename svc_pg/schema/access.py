"""Who owns what is in schema ``svc``, and who may do what with it.

Default privileges of the installing role would open new tables to others, and anybody may change a grant, so every
install compares all owners and privileges with the rules in ``sql/access/access_changes.sql.j2`` and puts right what
differs. Rights that somebody has as a member of a role are no difference.
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

_ROUNDS: Final = 3  # a revoke from a table takes the grants on its columns along, and the next round puts them back


@dataclass(frozen=True, slots=True)
class Access:
    """Whether the roles of svc_pg.schema.roles own and hold everything, or the installer owns it; and who else may."""

    has_roles: bool
    grants: Grants


@dataclass(frozen=True, slots=True)
class AccessChange:
    """An object with a wrong owner or wrong privileges, such as ``table svc.audit_logs``, and what puts it right."""

    object: str
    sql: str


def wanted(conn: Connection[Any], grants: Grants, *, roles: bool | None = None) -> Access:
    """What should be; ``roles`` None means as the database remembers, and with roles where it is new.

    Raises ConfigError where ``grants`` names a role that does not exist.
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
    """What differs: nothing, where svc is not installed. The roles must exist."""
    return fetch(conn, Query(_rendered("access/access_changes.sql.j2", access), (), AccessChange))


def apply(conn: Connection[Any], access: Access) -> None:
    """Put right what differs, in the caller's transaction."""
    for _ in range(_ROUNDS):
        changes = compare(conn, access)
        for change in changes:
            conn.execute(change.sql.encode())
        if not changes:
            break


def state(conn: Connection[Any], access: Access) -> Literal["outdated", "tampered"]:
    """Why something differs: the rules have changed since the last install, or else somebody has changed the rights."""
    is_installed = scalar(conn, "select to_regclass('svc.installation') is not null")
    recorded = scalar(conn, "select access_sha256 from svc.installation") if is_installed else None
    return "tampered" if recorded == fingerprint(access) else "outdated"


def fingerprint(access: Access) -> str:
    """What the database keeps of the rules, roles and grants."""
    return sha256(access_sql(access).encode()).hexdigest()


def access_sql(access: Access) -> str:
    """As ``apply``, as a statement for those who install by script."""
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

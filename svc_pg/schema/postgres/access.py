"""Owners and privileges of the objects in schema ``svc``.

Default privileges of the installing role would open new tables to others, and grants may be changed by others, so every
install compares all owners and privileges with the rules in ``sql/access/access_changes.sql.j2``, and in the headers of
the files that make functions and views, and corrects the differences. Rights through membership in a role are no
difference.
"""

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from difflib import get_close_matches
from hashlib import sha256
from typing import Any, Final, Literal, LiteralString

from psycopg import Connection

from svc_pg.config import Grants
from svc_pg.config.products import PRODUCTS
from svc_pg.database import sql_access
from svc_pg.database.sql_products import ProductId
from svc_pg.errors import ConfigError
from svc_pg.rendering.templates import render
from svc_pg.schema.postgres import scope
from svc_pg.schema.postgres.installation import ROLES, SENDER, Installation

_ROUNDS: Final = 3


@dataclass(frozen=True, slots=True)
class Access:
    """The owner of all objects, either the roles of ``roles`` or the installer, and the grants to other roles."""

    has_roles: bool
    grants: Grants
    products: Sequence[ProductId] = PRODUCTS

    @property
    def roles(self) -> Sequence[str]:
        """Our roles that the database needs: without webhooks there is nobody who sends."""
        return [role for role in ROLES if role != SENDER or "webhooks" in self.products] if self.has_roles else []


@dataclass(frozen=True, slots=True)
class AccessChange:
    """An object with a wrong owner or privileges, for example ``table svc.audit_logs``, and the SQL that corrects it.

    Others may follow a change that ``is_first``: a role that it makes owns something, and a revoke from a table also
    removes the grants on its columns.
    """

    object: str
    sql: str
    is_first: bool


def wanted(
    installation: Installation,
    grants: Grants,
    *,
    roles: bool | None = None,
    products: Sequence[ProductId] = PRODUCTS,
) -> Access:
    """The access rules. Default for ``roles``: as installed before, and with roles in a new database.

    Raises ConfigError if ``grants`` names a role that does not exist.
    """
    known = installation.around.roles
    for right, names in grants:
        for name in names:
            if name not in known:
                near = get_close_matches(name, known, n=1)
                raise ConfigError(
                    f'grants.{right}: role "{name}" does not exist',
                    hint=f'Did you mean "{near[0]}"?' if near else "Create it first; svc-pg makes only its own roles.",
                )
    if roles is None:
        roles = installation.has_roles
    return Access(has_roles=roles is not False, grants=grants, products=products)


def compare(conn: Connection[Any], access: Access, *, names: Sequence[str] | None = None) -> list[AccessChange]:
    """The differences: none if svc is not installed. The roles must exist.

    With ``names`` only the differences of functions, views and tables with these names.
    """
    text = _rendered("access/access_changes.sql.j2", access, is_scoped=names is not None)
    params = [] if names is None else [names]
    return [AccessChange(name, sql, is_first) for name, sql, is_first, _ in scope.execute(conn, text, params)]


def apply(conn: Connection[Any], access: Access, *, names: Sequence[str] | None = None) -> None:
    """Correct the differences, in the caller's transaction."""
    for _ in range(_ROUNDS):
        with scope.planning(conn, scope.ALL) if names is None else nullcontext():
            changes = compare(conn, access, names=names)
        if not changes:
            break
        conn.execute("\n".join(change.sql for change in changes).encode())
        if not any(change.is_first for change in changes):
            break


def state(installation: Installation, access: Access) -> Literal["outdated", "tampered"]:
    """The reason for differences: new rules since the last install (outdated), or changes by others (tampered)."""
    return "tampered" if installation.access_sha256 == fingerprint(access) else "outdated"


def fingerprint(access: Access) -> str:
    """The hash of the rules, roles and grants, which the database keeps."""
    return sha256(access_sql(access).encode()).hexdigest()


def access_sql(access: Access) -> str:
    """As ``apply``, but as a statement for a script."""
    return _rendered("access/access.sql.j2", access, is_scoped=False)


def _rendered(template: str, access: Access, *, is_scoped: bool) -> LiteralString:
    def holders(role: str, names: list[str]) -> list[str]:
        return [role, *names] if role in access.roles else names

    return render(
        template,
        is_scoped=is_scoped,
        has_roles=access.has_roles,
        rights=sql_access.rights(of_families=False),
        own_rights=sql_access.rights(of_families=True),
        helpers=sql_access.helpers("owner", "hashing owner"),
        writer=holders("svc_writer", []),
        send=holders(SENDER, access.grants.send),
        read=holders("svc_reader", access.grants.read),
        admin=holders("svc_admin", access.grants.admin),
    )

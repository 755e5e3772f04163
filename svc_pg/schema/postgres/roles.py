"""The roles that own the schema and hold its privileges, created if missing by an installer with that right.

- ``svc_owner`` owns the schema, its tables and functions; ``svc_writer`` the views through which entries are written,
  and can insert entries into the audit log, and nothing else. The triggers of a table run as its owner; if that is a
  superuser, as a role of the table's own, a member of ``svc_capture``, which can do nothing else. None of these can log
  in, and only the installer should be a member.
- ``svc_sender`` calls ``svc.send``, ``svc_reader`` reads, ``svc_admin`` administers and delivers: ``svc-pg worker`` and
  the console connect as a member of it. Make your own roles members of these, or name them under ``[grants]``, which
  applies to one database only.

Roles belong to the whole cluster. Every database with svc-pg shares them, so ``uninstall`` drops a role only together
with the data, and only if no database needs it any more.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from psycopg import Connection
from psycopg.errors import DependentObjectsStillExist, InsufficientPrivilege

from svc_pg.errors import InstallError
from svc_pg.rendering.templates import ident, render
from svc_pg.schema.postgres.installation import CAPTURE, CAPTURER, OWNERS, ROLES, Surroundings, look_around


@dataclass(frozen=True, slots=True)
class RoleState:
    """One role and its state; ``tampered`` is a role with more powers than svc-pg gave it."""

    name: str
    state: Literal["ok", "missing", "tampered"]
    sql: str


def compare(around: Surroundings, wanted: Sequence[str]) -> list[RoleState]:
    """The state of every wanted role, and of roles of superusers' tables with powers."""
    of_tables = sorted(role for role in around.excess if role not in ROLES)
    return [_state(role, around) for role in (*wanted, *of_tables)]


def _state(role: str, around: Surroundings) -> RoleState:
    if role not in around.roles:
        grantee = around.installer if role in OWNERS and not around.is_superuser else None
        return RoleState(role, "missing", _role_sql(role, around, grantee=grantee, is_missing=True))
    if role in around.excess:
        return RoleState(role, "tampered", f"alter role {ident(role)} {around.excess[role]};")
    return RoleState(role, "ok", "")


def _role_sql(role: str, around: Surroundings, *, grantee: str | None, is_missing: bool) -> str:
    return render(
        "access/role.sql.j2", role=role, grantee=grantee, is_missing=is_missing, has_options=around.has_options
    )


def join(conn: Connection[Any], around: Surroundings) -> None:
    """Give the installer the rights of the existing owners. Raises InstallError if that is impossible."""
    if not around.lacking:
        return
    try:
        with conn.transaction():
            for role in around.lacking:
                conn.execute(_role_sql(role, around, grantee=around.installer, is_missing=False).encode())
    except InsufficientPrivilege:
        pass  # the check that follows reports it
    if still := look_around(conn).lacking:
        options = " with inherit true, set true" if around.has_options else ""
        raise InstallError(
            f'role "{around.installer}" cannot act as {" and ".join(still)}, which own schema svc',
            hint=f"Let somebody who may execute: grant {', '.join(still)} to {ident(around.installer)}{options};",
        )


def drop_unused(conn: Connection[Any], *, has_roles: bool) -> list[str]:
    """Drop the roles that no database of the cluster needs and that the installer may drop; return their names.

    Without roles, ``svc_capture`` and its members are the only roles that an install may have created. It is dropped
    after ``svc_owner``, because a database that needs it may not have used it yet.
    """
    dropped: list[str] = []
    existing = look_around(conn).roles
    of_tables = [role for role in existing if re.search(CAPTURER, role)]
    for role in (*of_tables, *(ROLES if has_roles else (CAPTURE,))):
        is_needed = role == CAPTURE and ({*OWNERS, *of_tables} & {*existing}) - {*dropped}
        if role not in existing or is_needed:
            continue
        try:
            with conn.transaction():
                conn.execute(f"drop role {ident(role)}".encode())
        except (DependentObjectsStillExist, InsufficientPrivilege):
            continue
        dropped.append(role)
    return dropped

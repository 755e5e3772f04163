"""The roles that own the schema and hold its privileges: created if they are missing, by an installer that may.

- ``svc_owner`` owns the schema, its tables and functions; ``svc_writer`` the views through which entries are written,
  and can insert entries into the audit log, and nothing else. The triggers of a table run as its owner; if that is a
  superuser, as ``svc_capture``, which can do nothing else. Nobody logs in as one of these three, and nobody but the
  installer should be a member.
- ``svc_sender`` calls ``svc.send``, ``svc_reader`` reads, ``svc_admin`` administers and delivers: ``svc-pg worker`` and
  the console connect as a member of it. Make your own roles members of these, or name them under ``[grants]``, which
  applies to one database only.

Roles belong to the whole cluster. Every database with svc-pg shares them, so ``uninstall`` drops a role only together
with the data, and only if no database needs it any more.
"""

from dataclasses import dataclass
from typing import Any, Final, Literal

from psycopg import Connection
from psycopg.errors import DependentObjectsStillExist, InsufficientPrivilege

from svc_pg.errors import InstallError
from svc_pg.query import Query, fetch, scalar
from svc_pg.render import ident, render

OWNERS: Final = ("svc_owner", "svc_writer")
CAPTURE: Final = "svc_capture"
ROLES: Final = (*OWNERS, CAPTURE, "svc_sender", "svc_reader", "svc_admin")
_OPTIONS_SINCE: Final = 160000  # the server version from which a membership says whether it inherits and may SET ROLE


@dataclass(frozen=True, slots=True)
class RoleState:
    """One role and its state; ``tampered`` is an owner that somebody can log in as."""

    name: str
    state: Literal["ok", "missing", "tampered"]
    sql: str


@dataclass(frozen=True, slots=True)
class Installer:
    """The installing role, and whether it may make roles."""

    name: str
    is_superuser: bool
    creates_roles: bool


@dataclass(frozen=True, slots=True)
class _Role:
    name: str
    exists: bool
    can_login: bool


def installer(conn: Connection[Any]) -> Installer:
    """The role that this connection acts as."""
    text = (
        "select rolname as name, rolsuper as is_superuser, rolsuper or rolcreaterole as creates_roles"
        " from pg_roles where rolname = current_user"
    )
    [found] = fetch(conn, Query(text, (), Installer))
    return found


def compare(conn: Connection[Any]) -> list[RoleState]:
    """The state of every role."""
    text = """
        select wanted.name, r.oid is not null as exists, coalesce(r.rolcanlogin, false) as can_login
          from unnest(%s::text[]) with ordinality wanted(name, ordinality)
          left join pg_roles r on r.rolname = wanted.name
         order by wanted.ordinality"""
    me = installer(conn)
    return [_state(conn, role, me) for role in fetch(conn, Query(text, (list(ROLES),), _Role))]


def _state(conn: Connection[Any], role: _Role, me: Installer) -> RoleState:
    if not role.exists:
        grantee = me.name if role.name in OWNERS and not me.is_superuser else None
        return RoleState(role.name, "missing", _role_sql(conn, role.name, grantee=grantee, is_missing=True))
    if role.can_login and role.name in (*OWNERS, CAPTURE):
        return RoleState(role.name, "tampered", f"alter role {ident(role.name)} nologin;")
    return RoleState(role.name, "ok", "")


def _role_sql(conn: Connection[Any], role: str, *, grantee: str | None, is_missing: bool) -> str:
    has_options = conn.info.server_version >= _OPTIONS_SINCE
    return render("access/role.sql.j2", role=role, grantee=grantee, is_missing=is_missing, has_options=has_options)


def join(conn: Connection[Any]) -> None:
    """Give the installer the rights of those owners that exist. Raises InstallError if that is impossible."""
    me = installer(conn)
    needed = "SET" if conn.info.server_version >= _OPTIONS_SINCE else "MEMBER"
    text = """
        select array(select rolname::text from pg_roles where rolname = any(%s)
                        and not (pg_has_role(oid, 'USAGE') and pg_has_role(oid, %s)) order by rolname)"""

    def lacking() -> list[str]:
        names: list[str] = scalar(conn, text, (list(OWNERS), needed))
        return names

    try:
        with conn.transaction():
            for role in lacking():
                conn.execute(_role_sql(conn, role, grantee=me.name, is_missing=False).encode())
    except InsufficientPrivilege:
        pass  # the check that follows reports it
    if still := lacking():
        options = " with inherit true, set true" if conn.info.server_version >= _OPTIONS_SINCE else ""
        raise InstallError(
            f'role "{me.name}" cannot act as {" and ".join(still)}, which own schema svc',
            hint=f"Let somebody who may execute: grant {', '.join(still)} to {ident(me.name)}{options};",
        )


def drop_unused(conn: Connection[Any], *, has_roles: bool) -> list[str]:
    """Drop the roles that no database of the cluster needs and that the installer may drop; return their names.

    Without roles ``svc_capture`` is the only one that an install may have made. It goes only after ``svc_owner``,
    because a database need not have an object of it.
    """
    dropped = []
    for role in compare(conn):
        if role.state == "missing" or not (has_roles or role.name == CAPTURE):
            continue
        if role.name == CAPTURE and scalar(conn, "select to_regrole('svc_owner') is not null"):
            continue
        try:
            with conn.transaction():
                conn.execute(f"drop role {ident(role.name)}".encode())
        except (DependentObjectsStillExist, InsufficientPrivilege):
            continue
        dropped.append(role.name)
    return dropped

"""The definers of triggers, and their missing rights, without which writes to the tables fail."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from svc_pg.database.dbapi import DbApiConnection, error_number, rows
from svc_pg.database.mysql_errors import DENIED
from svc_pg.database.statements import statement
from svc_pg.database.table_names import TableName
from svc_pg.errors import InstallError
from svc_pg.other_databases.capture.mysql.catalog import holes
from svc_pg.other_databases.schema.mysql.diagnosis import RIGHTS_HINT
from svc_pg.other_databases.schema.mysql.session import Server
from svc_pg.rendering.schema_objects import Trigger

_OF_LOG: Final = ("SELECT", "INSERT", "DELETE")
_OF_TABLE: Final = ("SELECT", "TRIGGER")
_DEFINERS: Final = """
select trigger_schema, trigger_name, event_object_table, definer from information_schema.triggers
 where trigger_schema in ({})
"""
_RIGHTS: Final = statement("mysql/queries/rights.sql")
_PARTS: Final = re.compile(r"\\.|.", re.DOTALL)
_PLACEHOLDERS: Final = {"%": ".*", "_": "."}


@dataclass(frozen=True, slots=True)
class _Rights:
    """The rights of an account: everywhere, on databases, which are patterns, and on tables."""

    everywhere: set[str] = field(default_factory=set)
    databases: list[tuple[str, str]] = field(default_factory=list)
    tables: set[tuple[TableName, str]] = field(default_factory=set)

    def missing(self, table: TableName, needed: Sequence[str]) -> list[str]:
        """The rights among ``needed`` that it lacks on a table."""
        return [right for right in needed if not self._has(table, right)]

    def _has(self, table: TableName, right: str) -> bool:
        return (
            right in self.everywhere
            or (table, right) in self.tables
            or any(right == given and _is_like(table.schema, pattern) for pattern, given in self.databases)
        )


def check_own(conn: DbApiConnection, server: Server, wanted: Iterable[Trigger]) -> None:
    """Raise InstallError if the user lacks rights that the triggers would need."""
    [(account,)] = rows(conn, "select current_user()")
    known = _rights(conn, server, [account])
    for trigger in wanted:
        if account in known and (lack := _lack(known[account], trigger.table)):
            raise InstallError(f"{lack} is denied to {account} itself, in whose name triggers run", hint=RIGHTS_HINT)


def powerless(conn: DbApiConnection, server: Server, schemas: Iterable[str]) -> dict[str, str]:
    """The triggers that make every write fail, each with the reason: its definer was dropped, or lacks a right.

    Other dropped accounts than the user's own are found only with the right to read schema ``mysql``.
    """
    databases = [*dict.fromkeys((*schemas, "svc"))]
    found = [
        (Trigger(name, TableName(schema, table)), definer)
        for schema, name, table, definer in rows(conn, holes(_DEFINERS, databases), databases)
    ]
    definers = sorted({definer for _, definer in found})
    known = _rights(conn, server, definers)
    there = _accounts(conn)
    reasons: dict[str, str] = {}
    for trigger, definer in found:
        if there is not None and definer not in there:
            reason = "who was dropped"
        elif definer in known and (lack := _lack(known[definer], trigger.table)):
            reason = f"to whom {lack} is denied"
        else:
            continue
        reasons[str(trigger)] = f"every write fails while its triggers run as {definer}, {reason}"
    return reasons


def _lack(rights: _Rights, table: TableName) -> str | None:
    for name, needed in ((TableName("svc", "audit_logs"), _OF_LOG), (table, _OF_TABLE)):
        if missing := rights.missing(name, needed):
            return f"{', '.join(missing)} on {name}"
    return None


def _accounts(conn: DbApiConnection) -> set[str] | None:
    """All accounts, or None if the user may not read them."""
    try:
        return {account for (account,) in rows(conn, "select concat(user, '@', host) from mysql.user")}
    except Exception as error:
        if error_number(error) not in DENIED:
            raise
        return None


def _rights(conn: DbApiConnection, server: Server, accounts: Sequence[str]) -> Mapping[str, _Rights]:
    """The rights of these accounts, except accounts whose rights the user may not see.

    On MariaDB triggers have no rights of roles. On MySQL they have those of default roles, so accounts with roles are
    left out.
    """
    names = {_grantee(account): account for account in accounts}
    found: dict[str, _Rights] = {}
    for grantee, schema, table, right in rows(conn, holes(_RIGHTS, list(names)), [*names] * 3) if names else ():
        account = names[grantee]
        if schema is None:  # at least USAGE: an account of whom nothing else is known either has no row here
            found.setdefault(account, _Rights()).everywhere.add(right)
        elif account in found and table is None:
            found[account].databases.append((schema, right))
        elif account in found:
            found[account].tables.add((TableName(schema, table), right))
    with_roles = set() if server.is_mariadb else _with_roles(conn)
    return {account: rights for account, rights in found.items() if account not in with_roles}


def _with_roles(conn: DbApiConnection) -> set[str]:
    """Accounts that have roles on MySQL, as far as the user may see."""
    [(own, roles)] = rows(conn, "select current_user(), current_role()")
    found = {own} if roles != "NONE" else set()
    try:
        found.update(account for (account,) in rows(conn, "select concat(to_user, '@', to_host) from mysql.role_edges"))
    except Exception as error:
        if error_number(error) not in DENIED:
            raise
    return found


def _grantee(account: str) -> str:
    user, _, host = account.rpartition("@")
    return f"'{user}'@'{host}'"


def _is_like(name: str, pattern: str) -> bool:
    r"""True if a database matches a pattern of LIKE, in which ``\_`` is no placeholder."""
    parts = [_PLACEHOLDERS.get(part) or re.escape(part.removeprefix("\\")) for part in _PARTS.findall(pattern)]
    return re.fullmatch("".join(parts), name, re.DOTALL) is not None

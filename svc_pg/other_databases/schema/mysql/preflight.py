"""Refuse an install on MySQL or MariaDB before it changes anything."""

from typing import Final

from svc_pg.database.dbapi import DbApiConnection, error_number, rows
from svc_pg.database.mysql_errors import DENIED
from svc_pg.errors import AccessError, InstallError
from svc_pg.other_databases.schema.mysql.diagnosis import UNTRUSTED_HINT
from svc_pg.other_databases.schema.mysql.session import Server

_OLDEST: Final = {True: ("MariaDB", (10, 6)), False: ("MySQL", (8, 0, 16))}
_TRUSTED: Final = ("SUPER", "BINLOG ADMIN", "ALL PRIVILEGES ON *.*")


def check_server(server: Server) -> None:
    """Raise InstallError if the server is too old."""
    name, oldest = _OLDEST[server.is_mariadb]
    if server.version < oldest:
        needed = ".".join(map(str, oldest))
        raise InstallError(f"the server is {server.text}, and svc-pg needs {name} {needed} or later")


def check_sight(conn: DbApiConnection) -> None:
    """Raise AccessError if the user may not see schema svc: nothing would seem to be installed."""
    try:
        rows(conn, "select 1 from svc.migrations limit 0")
    except Exception as error:
        if error_number(error) in DENIED:
            raise AccessError(
                "the user may not read schema svc, which tells what is installed",
                hint="Connect as the one who installs, or: grant select on svc.* to ...;",
            ) from error


def check_rights(conn: DbApiConnection) -> None:
    """Raise InstallError if the server cannot be written to, or would replicate triggers as statements."""
    settings = "@@global.read_only, @@log_bin, @@global.binlog_format, @@session.binlog_format"
    [(is_read_only, is_logged, *formats, trusts)] = rows(
        conn,
        f"select {settings}, @@log_bin_trust_function_creators",
    )
    grants = "\n".join(grant for (grant,) in rows(conn, "show grants"))
    is_trusted = any(right in grants for right in _TRUSTED)
    if str(is_read_only) not in ("0", "OFF") and not is_trusted:  # a word on newer MariaDB
        raise InstallError("the server is read-only", hint="Connect to the primary.")
    if not is_logged:
        return
    if "STATEMENT" in formats:
        raise InstallError(
            "binlog_format is STATEMENT, under which replicas would compute other entries",
            hint="Set binlog_format = ROW on the server, and connect anew.",
        )
    if not trusts and not is_trusted:
        raise InstallError("with the binary log on, the server lets you make no triggers", hint=UNTRUSTED_HINT)

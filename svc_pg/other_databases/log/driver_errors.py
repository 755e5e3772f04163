"""Translate errors of the drivers of SQLite, MySQL and MariaDB to errors of svc-pg."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from svc_pg.database.dbapi import error_number
from svc_pg.database.mysql_errors import BUSY, LOST, NO_RIGHT_TO_TABLE, TOO_LONG
from svc_pg.errors import AccessError, AppendOnlyError, ConflictError, SvcError, not_installed

_NO_TABLE: Final = re.compile("no such table: (main.)?(svc_|sqlite_sequence)")
_MISSING: Final = frozenset({1049, 1146})
_PROCESS: Final = 1227
_READ_ONLY: Final = frozenset({1290, 1792, 1836, 1142, 1143})


@contextmanager
def translating() -> Iterator[None]:
    """Raise a driver's error as the SvcError that it stands for, if it stands for one."""
    try:
        yield
    except SvcError:
        raise
    except Exception as error:
        if known := _translated(error):
            raise known from error
        raise


def is_busy(error: BaseException) -> bool:
    """True if others hold a lock for too long."""
    return error_number(error) in BUSY or getattr(error, "sqlite_errorname", "").startswith(
        ("SQLITE_BUSY", "SQLITE_LOCKED")
    )


def is_denied(error: BaseException) -> bool:
    """True if the user lacks the right to a table or a database."""
    return error_number(error) in NO_RIGHT_TO_TABLE


def cannot_write(error: BaseException) -> bool:
    """True if the log may only be read: the file, the server, or a right of the user. Also if others keep its lock."""
    number, name = error_number(error), getattr(error, "sqlite_errorname", "")
    return (
        isinstance(error, AccessError) or number in _READ_ONLY or name.startswith("SQLITE_READONLY") or is_busy(error)
    )


def is_too_long(error: BaseException) -> bool:
    """True if a statement took longer than it may."""
    return error_number(error) in TOO_LONG


def problem_of(error: BaseException) -> str | None:
    """The reason for which a database refuses one table; None if the error is no refusal, or the connection is lost."""
    if isinstance(error, AccessError | ConflictError):
        return f"{error.message}; {error.hint}" if error.hint else error.message
    number = error_number(error)
    if number is not None and not isinstance(error, OSError) and number not in LOST:
        return f"the database says: {error.args[-1] if error.args else error}"
    name = getattr(error, "sqlite_errorname", None)
    return f"SQLite says: {error}" if name == "SQLITE_ERROR" or is_busy(error) else None


def _translated(error: Exception) -> SvcError | None:
    text, code = str(error), error_number(error)
    if "append-only" in text:
        return AppendOnlyError("the audit log is append-only", hint="Entries leave it by svc-pg purge alone.")
    if _NO_TABLE.search(text) or (code in _MISSING and "svc" in text):
        return not_installed()
    if code in NO_RIGHT_TO_TABLE and "svc" in text.replace("audit_logs", "svc"):
        return AccessError(
            "the database's user may not read or write the audit log", hint="Grant it: grant select on svc.* to ...;"
        )
    if code == _PROCESS and "PROCESS" in text:
        return AccessError(
            "the database's user may not see which transactions run, and only that tells which entries are settled",
            hint="Grant it: grant process on *.* to ...; or read what is not settled too.",
        )
    return None

"""Translate errors of the drivers of SQLite, MySQL and MariaDB to errors of svc-pg."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from svc_pg.database.dbapi import error_number
from svc_pg.errors import AccessError, AppendOnlyError, SvcError, not_installed

BUSY: Final = frozenset({1205, 1213, 3572})
"""MySQL's error numbers for locks: the wait was too long, a deadlock, or NOWAIT."""

_NO_TABLE: Final = re.compile("no such table: (main.)?(svc_|sqlite_sequence)")
_MISSING: Final = frozenset({1049, 1146})
_DENIED: Final = frozenset({1044, 1142, 1143})
_PROCESS: Final = 1227


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
    return error_number(error) in _DENIED


def _translated(error: Exception) -> SvcError | None:
    text, code = str(error), error_number(error)
    if "append-only" in text:
        return AppendOnlyError("the audit log is append-only", hint="Entries leave it by svc-pg purge alone.")
    if _NO_TABLE.search(text) or (code in _MISSING and "svc" in text):
        return not_installed()
    if code in _DENIED and "svc" in text.replace("audit_logs", "svc"):
        return AccessError(
            "the database's user may not read or write the audit log", hint="Grant it: grant select on svc.* to ...;"
        )
    if code == _PROCESS and "PROCESS" in text:
        return AccessError(
            "the database's user may not see which transactions run, and only that tells which entries are settled",
            hint="Grant it: grant process on *.* to ...; or read what is not settled too.",
        )
    return None

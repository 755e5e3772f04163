"""Explain why an install failed: a lock, a missing right, a lost connection."""

from typing import Final

from svc_pg.database.dbapi import error_number
from svc_pg.database.mysql_errors import DENIED, LOCKED, LOST
from svc_pg.errors import InstallError, SvcError

_UNTRUSTED: Final = 1419
UNTRUSTED_HINT: Final = (
    "The binary log is on. Set log_bin_trust_function_creators = 1 (on RDS: in the parameter group), or install as a"
    " user with SUPER."
)
RIGHTS_HINT: Final = (
    "An install needs all rights on schema svc, and SELECT, TRIGGER and LOCK TABLES on the databases of audited tables,"
    " granted to the account itself and not to a role."
)


def diagnose(error: Exception, *, table: str | None = None) -> SvcError:
    """Explain an error of the server; ``table`` is the audited table concerned."""
    if isinstance(error, SvcError):
        return error
    number = error_number(error)
    reason = str(error.args[-1] if error.args else error)
    if number in LOCKED:
        place = f' of table "{table}"' if table else ""
        return InstallError(
            f"{reason}: a transaction keeps the lock{place}",
            hint="Try again when it has ended: select * from information_schema.innodb_trx.",
        )
    if number == _UNTRUSTED:
        return InstallError("the server lets nobody make triggers who has not SUPER", hint=UNTRUSTED_HINT)
    if number in DENIED:
        return InstallError(reason, hint=RIGHTS_HINT)
    if number in LOST:
        return InstallError(
            f"the connection to the server was lost: {reason}", hint="Try again; it goes on with what is left."
        )
    return InstallError(reason, hint="Try again when the cause is gone; it goes on with what is left.")

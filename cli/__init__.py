"""The command line ``svc-pg``: one command is parse, one library call, print."""

import errno
import gc
import os
import sys
from typing import Final

from svc_pg.database.sqlstates import translate
from svc_pg.errors import SvcError

from . import output

_EXTRAS: Final = {
    "aiodns": "worker",
    "aiohappyeyeballs": "worker",
    "fastapi": "console",
    "httptools": "worker",
    "pymysql": "mysql",
    "rich": "cli",
    "starlette": "console",
    "typer": "cli",
    "uvicorn": "console",
}
"""Optional packages, each with the extra that installs it."""

_READ_ONLY: Final = "Connect to the primary, not to a standby, and with default_transaction_read_only off."


def main() -> None:
    """Run the command line. Exit codes: 0 success, 1 failure, 2 wrong usage, 3 a check found differences."""
    _open_closed_streams()
    gc.disable()  # until the command is loaded: a third of a start would go into a search for garbage in modules
    sys.path.insert(0, "")  # --config shop:config means the module shop in the working folder
    try:
        from .app import app  # it needs Typer, and takes a while, in which Ctrl-C may come

        try:
            app()
        finally:
            output.end()
    except KeyboardInterrupt:
        sys.exit(130)
    except Exception as error:
        if isinstance(error, UnicodeEncodeError) and (argument := _undecoded()) and not output.debug:
            output.words(f"error: argument {argument} is not UTF-8")
            sys.exit(2)
        known = _explained(error)
        if known is None or output.debug:
            raise
        output.fail(known)
        sys.exit(1)


def _open_closed_streams() -> None:
    """Reopen closed standard streams, so that no connection to the database gets their numbers.

    A closed output is opened for reading, so that writing fails: data must not be lost without an error.
    """
    for name, flags, mode in (("stdin", os.O_RDONLY, "r"), ("stdout", os.O_RDONLY, "w"), ("stderr", os.O_WRONLY, "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, flags), mode, encoding="utf-8"))


def _undecoded() -> int | None:
    """The number of the first argument that is not UTF-8, as a file's name may be, but no text in PostgreSQL."""
    for number, argument in enumerate(sys.argv[1:], 1):
        try:
            argument.encode()
        except UnicodeEncodeError:
            return number
    return None


def _explained(error: Exception) -> Exception | None:
    """The error to show to people; None if it is a bug."""
    if isinstance(error, SvcError):
        return error
    if isinstance(error, ModuleNotFoundError) and (package := (error.name or "").partition(".")[0]) in _EXTRAS:
        return SvcError(f"this command needs {package}; run: pip install 'svc-pg[{_EXTRAS[package]}]'")
    if type(error).__module__ == "pymysql.err" and isinstance(error.args[0], int):  # also has a sqlstate
        return SvcError(f"the server says: {error.args[-1]} ({error.args[0]})")
    if hasattr(error, "sqlstate"):  # psycopg's, which only some commands import
        if error.sqlstate == "25006":
            return SvcError(str(error).partition("\n")[0], hint=_READ_ONLY)
        return translate(error) or error
    if isinstance(error, OSError) and error.errno == errno.ENOSPC:  # of Typer's help, which it prints by itself
        return SvcError(f"standard output cannot be written: {error.strerror}")
    # SQLITE_ERROR is of our statements, the others of the file
    if getattr(error, "sqlite_errorname", "SQLITE_ERROR") != "SQLITE_ERROR":
        from svc_pg.other_databases.schema.sqlite.session import hint_of

        return SvcError(f"SQLite says: {error}", hint=hint_of(error))
    return None

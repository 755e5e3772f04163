"""The command line ``svc-pg``: one command is parse, one library call, print."""

import sys
from typing import Final

from svc_pg.errors import SvcError, translate

from . import output

_EXTRAS: Final = {
    "aiodns": "worker",
    "aiohttp": "worker",
    "fastapi": "console",
    "rich": "cli",
    "starlette": "console",
    "typer": "cli",
    "uvicorn": "console",
    "yarl": "worker",
}
"""Packages that an installation without all dependencies may lack, and the extra that brings each."""


def main() -> None:
    """Run the command line. Exit codes: 0 success, 1 failure, 2 wrong usage, 3 a check found differences."""
    sys.path.insert(0, "")  # --config shop:config means the module shop in the working folder
    try:
        from .app import app  # it needs Typer

        app()
    except Exception as error:
        known = _explained(error)
        if known is None or output.debug:
            raise
        output.fail(known)
        sys.exit(1)


def _explained(error: Exception) -> Exception | None:
    """The error to show to people; None if it is a bug."""
    if isinstance(error, SvcError):
        return error
    if isinstance(error, ModuleNotFoundError) and (package := (error.name or "").partition(".")[0]) in _EXTRAS:
        return SvcError(f"this command needs {package}; run: pip install 'svc-pg[{_EXTRAS[package]}]'")
    if hasattr(error, "sqlstate"):  # psycopg's, which only some commands import
        return translate(error) or error
    return None

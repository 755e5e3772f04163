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
    """Run the command line. Exit codes: 0 done, 1 failed, 2 wrong usage, 3 looked, and it is not as it should be."""
    sys.path.insert(0, "")  # --config shop:config means the shop of the working folder
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
    """The error as people should read it; None if it is a bug."""
    if isinstance(error, SvcError):
        return error
    if isinstance(error, ModuleNotFoundError) and (package := (error.name or "").partition(".")[0]) in _EXTRAS:
        return SvcError(f"this command needs {package}; run: pip install 'svc-pg[{_EXTRAS[package]}]'")
    if hasattr(error, "sqlstate"):  # psycopg's, which only some commands import
        return translate(error) or error
    return None

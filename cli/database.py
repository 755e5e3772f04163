"""The database of a command: its address, and the error if it cannot be reached."""

import re
from typing import Any, Final

import psycopg

from svc_pg.conninfo import FORMS, Conninfo
from svc_pg.errors import SvcError
from svc_pg.settings import Settings

_ANOTHER: Final = "For another: --database-url, DATABASE_URL or libpq's PGHOST, PGPORT, PGDATABASE."
_ATTEMPT: Final = re.compile(r"(- host: .*?, hostaddr: \S+: )?(connection (failed|is bad): )?(?P<words>.*)")


def conninfo(database_url: str | None) -> Conninfo:
    """The database: the given one, else the environment's, else the empty conninfo, which libpq completes.

    Raises ConfigError if it cannot be read.
    """
    if database_url is not None:
        return Conninfo.parse(database_url, name="--database-url")
    configured = Settings.load().database_url
    return Conninfo.parse(configured.get_secret_value() if configured else "", name="DATABASE_URL")


def connect(database_url: str | None) -> "psycopg.Connection[Any]":
    """Open a connection for one command. Raises SvcError, which names the address without the password."""
    database = conninfo(database_url)
    try:
        return psycopg.connect(database.bounded, application_name="svc-pg")
    except psycopg.OperationalError as error:
        if not database.is_distinct:
            raise SvcError("no connection to the database: its address has an @ or / too many", hint=FORMS) from None
        raise SvcError(
            f"no connection to the database: {_tidy(str(error))}", hint=f"Tried {database}. {_ANOTHER}"
        ) from error


def _tidy(text: str) -> str:
    """The message of libpq in one line: it repeats itself for each address, and indents its questions."""
    attempts = [
        " ".join(match["words"].split())
        for line in text.splitlines()
        if line.strip() and line[0] != "\t" and (match := _ATTEMPT.fullmatch(line))
        if not line.startswith("Multiple connection attempts failed")
    ]
    by_reason: dict[str, str] = {}
    for attempt in attempts:
        by_reason.setdefault(attempt.rpartition(" failed: ")[2], attempt)
    return "; ".join(by_reason.values())

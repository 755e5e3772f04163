"""The database that a command works on: which one it is, and what to say where it cannot be reached."""

import asyncio
import re
from typing import Any, Final

import psycopg
from psycopg import pq
from psycopg.conninfo import conninfo_to_dict

from svc_pg.addresses import DATABASE_FORMS, readable_database
from svc_pg.errors import NotInstalledError, SvcError
from svc_pg.settings import Settings
from svc_pg.webhooks.worker.connections import Connection, Reconnecting
from svc_pg.webhooks.worker.statistics import Statistics

_ANOTHER: Final = "For another: --database-url, DATABASE_URL or libpq's PGHOST, PGPORT, PGDATABASE."
# Some of what the worker and the console call
_IS_INSTALLED: Final = """
select bool_and(to_regproc(name) is not null)
  from unnest(array['svc.next_due', 'svc.audit_ensure_partitions', 'svc.webhook_prune', 'svc.console_prune']) name
"""
_URL: Final = re.compile(r"postgres(ql)?://([^@/?#]*@)?[^@/?#]*(/[^@?]*)?(\?.*)?")
_ATTEMPT: Final = re.compile(r"(- host: .*?, hostaddr: \S+: )?(connection (failed|is bad): )?(?P<words>.*)")


def conninfo(database_url: str | None) -> str:
    """The database: what was said, else the environment's, else the empty conninfo, which libpq completes.

    Raises ConfigError where it cannot be read.
    """
    if database_url is not None:
        return readable_database(database_url, name="--database-url")
    configured = Settings.load().database_url
    return readable_database(configured.get_secret_value(), name="DATABASE_URL") if configured else ""


def connect(database_url: str | None) -> "psycopg.Connection[Any]":
    """Open a connection for one command. Raises SvcError that says what was tried, without the password."""
    text = conninfo(database_url)
    try:
        return psycopg.connect(text, application_name="svc-pg")
    except psycopg.OperationalError as error:
        if not _is_distinct(text):
            raise SvcError(
                "no connection to the database: its address has an @ or / too many", hint=DATABASE_FORMS
            ) from None
        raise SvcError(
            f"no connection to the database: {_tidy(str(error))}", hint=f"Tried {place(text)}. {_ANOTHER}"
        ) from error


def require_svc(database_url: str | None) -> None:
    """Raises SvcError where the database cannot be reached, NotInstalledError where it lacks svc-pg."""
    with connect(database_url) as conn:
        _check(conn.execute(_IS_INSTALLED).fetchone())


async def wait_for_svc(text: str, *, stopping: asyncio.Event) -> None:
    """Wait until the database can be reached, or for ``stopping``. Raises NotInstalledError where it lacks svc-pg."""

    async def check(conn: Connection) -> None:
        _check(await (await conn.execute(_IS_INSTALLED)).fetchone())

    await Reconnecting(text, stopping=stopping, statistics=Statistics()).run(check)


def _check(found: tuple[bool] | None) -> None:
    if found != (True,):
        raise NotInstalledError("the database has no schema svc, or an old one", hint="Run: svc-pg install")


def place(text: str) -> str:
    """Which database a conninfo names, with libpq's defaults: ``database shop at db1, port 5432, as ann``."""
    if not _is_distinct(text):
        return "a database whose address has an @ or / too many"
    said = conninfo_to_dict(text)
    if service := said.get("service"):
        return f"the service {service}"
    defaults = {each.keyword.decode(): each.val.decode() for each in pq.Conninfo.get_defaults() if each.val}
    known = {name: str(value) for name, value in (defaults | said).items()}
    user = known.get("user", "")
    host = known.get("host") or known.get("hostaddr") or "the local socket"
    return f"database {known.get('dbname', user)} at {host}, port {known.get('port')}, as {user}"


def _is_distinct(text: str) -> bool:
    """Whether no part of a password can have run over into the parts that are shown, as with ``:p@ss@`` in a URL."""
    name = str(conninfo_to_dict(text).get("dbname", ""))
    return "@" not in name and ("://" not in text.partition("=")[0] or _URL.fullmatch(text) is not None)


def _tidy(text: str) -> str:
    """What libpq says, in one line: it says the same of each address, and indents what could be asked."""
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

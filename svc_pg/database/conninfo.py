"""The address of a PostgreSQL database: read once, bounded in time, and never shown with its secrets."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from psycopg import ProgrammingError, pq
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from svc_pg.errors import ConfigError

FORMS: Final = (
    "Write postgresql://USER:PASSWORD@HOST:PORT/DATABASE, where special characters of the parts are percent-encoded (@"
    " is %40), or host=HOST dbname=DATABASE."
)
NEVER_PREPARE: Final = None
"""The ``prepare_threshold`` of our connections: PgBouncer before 1.21 does not keep prepared statements."""
# Without these a network that swallows packets is noticed after 15 minutes to 2 hours. Seconds; milliseconds the last.
_LIMITS: Final = {
    "connect_timeout": 10,
    "keepalives_idle": 15,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
}
_DRIVER: Final = re.compile(r"\Apostgres(?:ql)?\+\w+://")
_URL: Final = re.compile(r"postgres(ql)?://([^@/?#]*@)?[^@/?#]*(/[^@?]*)?(\?.*)?")


@dataclass(frozen=True, slots=True)
class Conninfo:
    """An address as libpq reads it. Its text form names the database and shows no secret.

    ``bounded`` is the address with time limits, unless it or libpq's environment sets its own, and with UTF-8 in place
    of the role's encoding.
    """

    bounded: str = field(repr=False)
    _name: str

    @classmethod
    def parse(cls, address: "str | Conninfo", *, name: str = "the conninfo") -> "Conninfo":
        """Read a URL, also in SQLAlchemy's form, or a conninfo; an empty one is completed by libpq.

        Raises ConfigError, which shows nothing of the address, if it is not one. ``name`` stands for it in the error.
        """
        if isinstance(address, Conninfo):
            return address
        text = libpq(address)
        try:
            given = {key: str(value) for key, value in conninfo_to_dict(text).items()}
        except ProgrammingError:
            if unknown := _unknown_options(text):
                raise ConfigError(
                    f"{name} has options that libpq does not know: {', '.join(unknown)}",
                    hint="Leave them out, or write libpq's: sslmode=require in place of ssl=require, for example.",
                ) from None
            # libpq's own words repeat parts of it, and one of them may be the password
            raise ConfigError(f"{name} is not the address of a PostgreSQL database", hint=FORMS) from None
        defaults = {each.keyword.decode(): each.val.decode() for each in pq.Conninfo.get_defaults() if each.val}
        limits = {key: limit for key, limit in _LIMITS.items() if key not in defaults | given}
        bounded = make_conninfo(text, client_encoding="UTF8", **limits)
        return cls(bounded, _database_name(given, defaults) if _is_distinct(text, given) else "")

    @property
    def is_distinct(self) -> bool:
        """True if no part of a password can have run over into other parts, as it does in a URL with ``:p@ss@``."""
        return bool(self._name)

    def __str__(self) -> str:
        return self._name or "a database whose address has an @ or / too many"


def libpq(address: str) -> str:
    """The address without the driver that SQLAlchemy writes in ``postgresql+asyncpg://``, and without space around it.

    A secret that was read from a file often ends with a line end.
    """
    return _DRIVER.sub("postgresql://", address.strip())


def _database_name(given: Mapping[str, str], defaults: Mapping[str, str]) -> str:
    known = {**defaults, **given}
    if service := known.get("service"):
        return f"the service {service}"
    user = known.get("user", "")
    host = known.get("host") or known.get("hostaddr") or "the local socket"
    return f"database {known.get('dbname', user)} at {host}, port {known.get('port')}, as {user}"


def _unknown_options(text: str) -> list[str]:
    """The names of options after the ``?`` of a URL that libpq refuses; none if they may be parts of a password."""
    query = text.partition("?")[2]
    if not query or "@" in query or "password" in query or _URL.fullmatch(text) is None:
        return []
    known = {each.keyword.decode() for each in pq.Conninfo.get_defaults()}
    return [name for each in query.split("&") if (name := each.partition("=")[0]) not in known]


def _is_distinct(text: str, given: Mapping[str, str]) -> bool:
    is_url = "://" in text.partition("=")[0]
    return "@" not in given.get("dbname", "") and (not is_url or _URL.fullmatch(text) is not None)

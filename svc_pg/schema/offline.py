"""The statements of a revision in Alembic's offline mode, which has no connection: from a database to look at."""

from contextlib import closing
from typing import Any, Final
from weakref import WeakKeyDictionary

import psycopg

from svc_pg.database import addresses
from svc_pg.database.conninfo import NEVER_PREPARE, Conninfo
from svc_pg.errors import ConfigError, InstallError
from svc_pg.schema.configuration_change import ConfigurationChange
from svc_pg.schema.installer import installer_of
from svc_pg.settings import Settings

_WHOLE: Final = "Or write the revision with all its SQL: svc-pg migrate --sql"
_PLACEHOLDER: Final = "driver://"
"""The beginning of the address in an alembic.ini that nobody has changed."""
_printed: Final[WeakKeyDictionary[Any, list[str]]] = WeakKeyDictionary()
"""The statements of the revisions before this one, by Alembic's context: what they make is there for the next."""


def statements(context: Any, change: ConfigurationChange, *, backwards: bool) -> list[str]:
    """The statements for a database like the one of ``DATABASE_URL`` or ``alembic.ini``, in which nothing changes.

    Raises ConfigError if neither names one, and InstallError if it cannot be reached or has the changes already: then
    the script is for another one.
    """
    before = _printed.setdefault(context, [])
    with closing(_opened(context)) as conn, conn.transaction(force_rollback=True):
        for statement in before:
            conn.execute(statement.encode())
        made = installer_of(conn).statements(change, backwards=backwards, is_printed=True)
    if not made:
        raise InstallError(
            f"offline, a revision is printed for a database such as {conn.info.dbname}, which has its changes already",
            hint=f"Let DATABASE_URL name one that has the tables, and not this revision. {_WHOLE}",
        )
    before += made
    return made


def _opened(context: Any) -> psycopg.Connection[Any]:
    configured = Settings.load().database_url
    environment = context.environment_context
    of_ini = environment.config.get_main_option("sqlalchemy.url") if environment is not None else None
    url, name = (configured.get_secret_value(), "DATABASE_URL") if configured else (of_ini, "sqlalchemy.url")
    if not url or url.startswith(_PLACEHOLDER):
        raise ConfigError(
            "offline, this revision needs a database to look at: what capture records depends on the tables",
            hint=f"Set DATABASE_URL; nothing is changed there. {_WHOLE}",
        )
    found = addresses.parse(url, name=name)
    if not isinstance(found, Conninfo):
        raise ConfigError(f"{name}: this revision was written for PostgreSQL, and the address is that of {found}")
    try:
        return psycopg.connect(found.bounded, prepare_threshold=NEVER_PREPARE)
    except psycopg.Error as error:
        raise InstallError(f"{name}: {str(error).strip()}", hint=_WHOLE) from error

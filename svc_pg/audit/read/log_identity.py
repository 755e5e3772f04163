"""The identity of a log, by which a reader who keeps a cursor tells it from the log of another database."""

from typing import Any, Final

from svc_pg.audit.portable.statements import Statement, Steps, run
from svc_pg.audit.read.horizon import horizon
from svc_pg.database.dialects import dialect_of
from svc_pg.errors import QueryError, translating

_INSTALLED: Final = "select applied_at from svc_migrations where number = 1"
_INSTALLED_ON_MYSQL: Final = "select cast(applied_at as char) from svc.migrations where number = 1"


def identity(conn: Any, known: str | None = None) -> str:
    """The identity of the log: on PostgreSQL its epoch, elsewhere the time of its first install.

    Raises NotInstalledError, and QueryError if ``known`` is that of another log. A restored copy is the same log.
    """
    if dialect_of(conn) == "postgresql":
        with translating(), conn.transaction():
            return horizon(conn, after=None if known is None else f"{known}.0").epoch
    found = run(conn, _installed(_INSTALLED if dialect_of(conn) == "sqlite" else _INSTALLED_ON_MYSQL))
    if known not in (None, found):
        raise QueryError(
            f"the log of another database was read, whose first install was at {known}",
            hint="Name that database, or a new file with --cursor.",
        )
    return found


def _installed(text: Any) -> Steps[str]:
    [[installed_at]] = yield Statement(text)
    return str(installed_at)

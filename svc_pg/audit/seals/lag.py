"""The lag of the seals behind the log."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from psycopg import AsyncConnection, Connection

from svc_pg.audit.seals.stored import require_sealable
from svc_pg.database.query import Query, afetch, fetch

_LAG: Final = "select number, sealed_at, lag from svc.audit_seal_lag()"


@dataclass(frozen=True, slots=True)
class SealLag:
    """The last seal, and the age of the oldest entry without one; zero if all entries have one."""

    number: int
    sealed_at: datetime
    lag: timedelta


def seal_lag(conn: Connection[Any]) -> SealLag | None:
    """The lag of the seals; None if there is no seal. Raises NotInstalledError, and ConfigError on other databases."""
    require_sealable(conn)
    return next(iter(fetch(conn, Query(_LAG, (), SealLag))), None)


async def aseal_lag(conn: AsyncConnection[Any]) -> SealLag | None:
    """As ``seal_lag``, on an async connection."""
    require_sealable(conn)
    return next(iter(await afetch(conn, Query(_LAG, (), SealLag))), None)

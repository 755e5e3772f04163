"""The times in which triggers of a table were not right, so that the log may lack changes of it."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any, Final

from psycopg import AsyncConnection, Connection

from svc_pg.database.dialects import require_postgres
from svc_pg.database.query import Query, afetch, fetch
from svc_pg.database.statements import statement
from svc_pg.database.table_names import TableName
from svc_pg.formats.doc import Doc

_TOLD: Final = statement("queries/audit/silences.sql")
_FEATURE: Final = "the list of times in which capture was not right"
_LAST_SEEN: Final = "last seen right"
MORE: Final = "more objects"
"""The fact that stands for the objects beyond those that are told apart."""
_OF_ALL: Final = (MORE, "session_replication_role")


@dataclass(frozen=True, slots=True)
class Silence:
    """A time in which changes of a table may have gone unrecorded, as maintenance found.

    All was right at ``since``, which is None if it never was, and again at ``until``, which is None if it is not yet.
    """

    since: Annotated[datetime | None, Doc("The last time at which all was right; null if it never was.")]
    until: Annotated[datetime | None, Doc("The time since which all is right again; null if it is not yet.")]


@dataclass(frozen=True, slots=True)
class _Told:
    told_at: datetime
    is_over: bool
    facts: str | None
    is_of_log: bool


def silences(conn: Connection[Any], table: str) -> list[Silence]:
    """The silences of one table, the oldest first, on PostgreSQL. Never commits.

    Looks at the table's newest 1,000 entries about no record. Raises NotInstalledError, and ConfigError for a name that
    is no table's, or another database.
    """
    require_postgres(conn, _FEATURE)
    name = str(TableName.parse(table))
    return _paired(fetch(conn, _told(name)), name)


async def asilences(conn: AsyncConnection[Any], table: str) -> list[Silence]:
    """As ``silences``, on an async connection."""
    require_postgres(conn, _FEATURE)
    name = str(TableName.parse(table))
    return _paired(await afetch(conn, _told(name)), name)


def _told(table: str) -> Query[_Told]:
    return Query(_TOLD, {"table": table}, _Told)


def _paired(entries: Iterable[_Told], table: str) -> list[Silence]:
    """One silence for each time at which all was last seen right."""
    open_names: dict[str, set[str]] = {}
    ends: dict[str, datetime] = {}
    for entry in entries:
        facts = _facts(entry.facts)
        since = str(facts.pop(_LAST_SEEN, "never"))
        names = {each.removeprefix(f"{table}: ") for each in facts if not entry.is_of_log or _concerns(each, table)}
        if not names:
            continue
        left = open_names.setdefault(since, set())
        if entry.is_over:
            left -= names
            ends[since] = entry.told_at
        else:
            left |= names
    return [Silence(_time(since), None if left else ends.get(since)) for since, left in open_names.items()]


def _facts(text: str | None) -> dict[str, object]:
    """The facts of an entry as a mapping.

    Any writer of the log may have made the entry, so its facts may be no JSON object: then they are of unknown objects.
    """
    try:
        found = None if text is None else json.loads(text)
    except (ValueError, RecursionError):
        found = None
    return found if isinstance(found, dict) else {MORE: "unknown"}


def _time(since: str) -> datetime | None:
    """The time; None if there was none, or it cannot be read, so that none is known."""
    try:
        found = datetime.fromisoformat(since)
        return None if found.tzinfo is None else found.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def _concerns(identity: str, table: str) -> bool:
    """True if what the log itself was told to lack concerns the table: a setting, or one of very many objects."""
    return identity.startswith((*_OF_ALL, f"{table}: "))

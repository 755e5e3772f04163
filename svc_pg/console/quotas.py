"""The headers RateLimit and RateLimit-Policy: the calls that a session has left, before it gets a 429.

They are those of https://datatracker.ietf.org/doc/draft-ietf-httpapi-ratelimit-headers. The place that counts a call
notes the count for the answer, which another place makes.
"""

from collections.abc import Mapping
from contextvars import ContextVar
from typing import Any, Final, LiteralString
from uuid import UUID

from psycopg import AsyncConnection
from psycopg.rows import tuple_row

MOST_CALLS: Final = 600
WINDOW_SECONDS: Final = 60
"""As the functions ``console_session`` and ``console_token`` have them, which count the calls of their sessions."""

# a statement of its own: that of the functions would fail in another way on a standby, which has no such table
_COUNTED: Final[LiteralString] = """
select r.hits, greatest(1, ceil(extract(epoch from r.ends_at - now())))::integer
  from svc.console_rate r where r.key = 'calls of ' || %s::text
"""

_noted: ContextVar[Mapping[str, str] | None] = ContextVar("noted", default=None)


def begin() -> None:
    """Forget what was noted for another request."""
    _noted.set(None)


def note(calls: int, resets_in: int, *, most: int) -> None:
    """Note that the session of this request has made so many calls in its window, which ends in ``resets_in`` s."""
    policy, left = f'"calls";q={most};w={WINDOW_SECONDS}', f'"calls";r={max(0, most - calls)};t={resets_in}'
    _noted.set({"RateLimit-Policy": policy, "RateLimit": left})


async def note_counted(conn: AsyncConnection[Any], session_id: UUID) -> None:
    """As ``note``, of a session whose call the database has just counted."""
    cursor = conn.cursor(row_factory=tuple_row)
    if (counted := await (await cursor.execute(_COUNTED, (session_id,))).fetchone()) is not None:
        calls, resets_in = counted
        note(calls, resets_in, most=MOST_CALLS)


def headers() -> Mapping[str, str]:
    """The headers of the answer; none if the calls of its session were not counted."""
    return _noted.get() or {}

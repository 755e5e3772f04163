"""The headers RateLimit and RateLimit-Policy: what a client has left of each limit, before it gets a 429.

They are those of https://datatracker.ietf.org/doc/draft-ietf-httpapi-ratelimit-headers. The place that counts a call
notes the count for the answer, which another place makes.
"""

from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Final, LiteralString

from psycopg import AsyncConnection
from psycopg.rows import tuple_row


@dataclass(frozen=True, slots=True)
class Limit:
    """The most calls of a kind in a window of so many seconds, which begins with the first."""

    name: str
    most: int
    seconds: int

    @property
    def policy(self) -> str:
        """The limit as an item of RateLimit-Policy."""
        return f'"{self.name}";q={self.most};w={self.seconds}'


CALLS: Final = Limit("calls", 600, 60)
SIGN_INS: Final = Limit("sign-ins", 10, 900)
CODES: Final = Limit("codes", 30, 300)
POLLS: Final = Limit("polls", 1, 2)
"""As the functions ``console_session`` and ``console_token``, ``console_init``, ``console_verify`` and ``console_poll``
have them, which count."""
PINGS: Final = Limit("pings", 5, 60)

MOST_CALLS: Final = CALLS.most

# a statement of its own: that of the functions would fail in another way on a standby, which has no such table
_COUNTED: Final[LiteralString] = """
select r.hits, greatest(1, ceil(extract(epoch from r.ends_at - now())))::integer
  from svc.console_rate r where r.ends_at > now() and r.key = """

_noted: ContextVar[Mapping[Limit, tuple[int, int]] | None] = ContextVar("noted", default=None)


def begin() -> None:
    """Forget what was noted for another request."""
    _noted.set(None)


def note(limit: Limit, calls: int, resets_in: int) -> None:
    """Note the calls in the present window of a limit, which ends in ``resets_in`` s, for the answer's headers.

    Two counts can be of one limit; the headers tell the one that leaves fewer calls.
    """
    noted = _noted.get() or {}
    found = (max(0, limit.most - calls), resets_in)
    _noted.set({**noted, limit: min(found, noted.get(limit, found))})


async def note_counted(
    conn: AsyncConnection[Any], limit: Limit, key: LiteralString, *values: object, more: int = 0
) -> None:
    """As ``note``, of a call that the database has just counted under ``key``, an expression of SQL of ``values``.

    Under this key so many ``more`` calls than the limit are allowed.
    """
    cursor = conn.cursor(row_factory=tuple_row)
    if (counted := await (await cursor.execute(_COUNTED + key, values)).fetchone()) is not None:
        calls, resets_in = counted
        note(limit, calls - more, resets_in)


def headers() -> Mapping[str, str]:
    """The headers of the answer; none if no call was counted for it."""
    noted = _noted.get() or {}
    if not noted:
        return {}
    return {
        "RateLimit-Policy": ", ".join(limit.policy for limit in noted),
        "RateLimit": ", ".join(_item(limit, *left) for limit, left in noted.items()),
    }


def _item(limit: Limit, left: int, resets_in: int) -> str:
    return f'"{limit.name}";r={left};t={resets_in}'

"""The headers RateLimit and RateLimit-Policy: the calls that a session has left, before it gets a 429.

They are those of https://datatracker.ietf.org/doc/draft-ietf-httpapi-ratelimit-headers. The place that counts a call
notes the count for the answer, which another place makes.
"""

from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from typing import Final, LiteralString

MOST_CALLS: Final = 600
WINDOW_SECONDS: Final = 60
"""As the functions ``console_session`` and ``console_token`` have them, which count the calls of their sessions."""

COUNTED_BEFORE: Final[LiteralString] = """(
    select array[r.hits, ceil(extract(epoch from r.ends_at - now()))::integer]
      from svc.console_rate r where r.key = 'calls of ' || f.id and r.ends_at > now()
) as counted_before"""
"""A column of ``f``, a session: its calls before this one, and the seconds that its window lasts; null if it is over.

A subquery looks at one row by its key. A join would read the table, because a function counts as a thousand rows.
"""

_noted: ContextVar[Mapping[str, str] | None] = ContextVar("noted", default=None)


def begin() -> None:
    """Forget what was noted for another request."""
    _noted.set(None)


def note(calls: int, resets_in: int, *, most: int) -> None:
    """Note that the session of this request has made so many calls in its window, which ends in ``resets_in`` s."""
    policy, left = f'"calls";q={most};w={WINDOW_SECONDS}', f'"calls";r={max(0, most - calls)};t={resets_in}'
    _noted.set({"RateLimit-Policy": policy, "RateLimit": left})


def note_counted(before: Sequence[int] | None) -> None:
    """As ``note``, with the value of ``COUNTED_BEFORE``."""
    calls, resets_in = (0, WINDOW_SECONDS) if before is None else before
    note(calls + 1, resets_in, most=MOST_CALLS)


def headers() -> Mapping[str, str]:
    """The headers of the answer; none if the calls of its session were not counted."""
    return _noted.get() or {}

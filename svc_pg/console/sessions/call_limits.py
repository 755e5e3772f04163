"""Bound the calls of sessions that are not counted in the database, as those that are: counted in this process."""

import math
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Final

from svc_pg.console.http.bearer import Authenticate
from svc_pg.console.http.quotas import CALLS, note
from svc_pg.console.http.requests import ConsoleRequest, rate_limited
from svc_pg.console.http.tokens import Session
from svc_pg.console.sessions.host_sessions import HostSessionOf, ask

_MOST_SESSIONS: Final = 10_000


class CallLimits:
    """Counts the calls of each session in a window that begins with its first."""

    def __init__(self) -> None:
        self._windows: OrderedDict[str, tuple[float, int]] = OrderedDict()  # the oldest first

    def counted(self, host: HostSessionOf) -> Callable[[ConsoleRequest], Awaitable[Session | None]]:
        """``host``, which raises Problem 429 for a session that makes more than 600 calls within a minute."""

        async def session_of(request: ConsoleRequest) -> Session | None:
            session = await ask(host, request)
            if session is not None:
                self._count(session.session_id)
            return session

        return session_of

    def counting(self, authenticate: Authenticate) -> Authenticate:
        """``authenticate`` with the same limit, for a console that counts nothing in its database."""

        async def counted(token: str, *, is_use: bool = True) -> Session:
            session = await authenticate(token, is_use=is_use)
            self._count(session.session_id)
            return session

        return counted

    def _count(self, session_id: str) -> None:
        now = time.monotonic()
        while self._windows and now >= next(iter(self._windows.values()))[0] + CALLS.seconds:
            self._windows.popitem(last=False)
        began, calls = self._windows.get(session_id, (now, 0))
        note(CALLS, calls + 1, math.ceil(began + CALLS.seconds - now))
        self._windows[session_id] = began, calls + 1
        if len(self._windows) > _MOST_SESSIONS:
            self._windows.popitem(last=False)
        if calls >= CALLS.most:
            raise rate_limited(math.ceil(began + CALLS.seconds - now), CALLS)

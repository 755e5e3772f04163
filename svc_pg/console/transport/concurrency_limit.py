"""Turns: the calls of one session that are under way at a time; further ones wait."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Final
from weakref import WeakValueDictionary

from svc_pg.console.http.requests import Problem

WAIT_SECONDS: Final = 5


class Turns:
    """Lets ``at_once`` calls of each session proceed at a time.

    A call keeps its turn until its answer is sent: else a client that asks and does not read would gather answers.
    """

    def __init__(self, at_once: int) -> None:
        self._at_once = at_once
        self._of_session: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()  # while a call has one
        self._second: Counter[str] = Counter()  # of each session that has some

    @asynccontextmanager
    async def of(self, session_id: str) -> AsyncIterator[None]:
        """Enter to wait for a turn; leaving gives it back. Raises Problem 429 after 5 seconds."""
        turns = self._of_session.setdefault(session_id, asyncio.Semaphore(self._at_once))
        try:
            async with asyncio.timeout(WAIT_SECONDS):
                await turns.acquire()
        except TimeoutError as error:
            detail = f"This session has {self._at_once} calls under way already; wait for their answers."
            raise Problem(429, "too_many_calls", detail, headers={"Retry-After": "1"}) from error
        try:
            yield
        finally:
            turns.release()

    @contextmanager
    def second(self, session_id: str) -> Iterator[bool]:
        """Enter for a second question of a call at the same time: False if half as many as turns are under way already.

        Nothing waits for it: who gets none asks in turn, with one connection.
        """
        is_given = self._second[session_id] < self._at_once // 2
        self._second[session_id] += is_given
        try:
            yield is_given
        finally:
            self._second[session_id] -= is_given
            if not self._second[session_id]:
                del self._second[session_id]

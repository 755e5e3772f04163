"""Tell subscribers that something has changed, never its content: one poller for all of them, while there are any."""

import asyncio
import logging
import weakref
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from typing import Final, Literal, get_args

from psycopg import Error

from svc_pg.console.audit_log import ConsoleLog
from svc_pg.console.audit_log.newest import STATE
from svc_pg.console.database.pool import Database
from svc_pg.console.http.requests import Problem
from svc_pg.database.query import Query, afetch_one
from svc_pg.formats.json_writer import encode
from svc_pg.status.webhooks_installed import webhooks_installed, with_webhooks

Topic = Literal["audit", "deliveries", "endpoints", "console"]

TOPICS: Final[tuple[Topic, ...]] = get_args(Topic)
MOST_CLIENTS: Final = 200
MOST_OF_A_SESSION: Final = 8
POLL_SECONDS: Final = 0.5
KEEPALIVE_SECONDS: Final = 5
LONGEST_SECONDS: Final = 600
RETRY_MILLISECONDS: Final = 3000


logger = logging.getLogger("svc_pg.console")


@dataclass(frozen=True, slots=True)
class _State:
    audit: str | None
    deliveries: str | None
    endpoints: str | None
    console: str | None

    def changed_since(self, before: "_State") -> set[Topic]:
        return {topic for topic in TOPICS if getattr(self, topic) != getattr(before, topic)}


class _Client:
    """A subscriber, and the topics that changed since the last message to it.

    They are told too when changes are looked for from now on: what changed before that, they ask for once.
    """

    def __init__(self) -> None:
        self.is_told = asyncio.Event()
        self._changed: set[Topic] = set()
        self._is_following = False
        self._begins = False

    def follow(self) -> None:
        """Confirm once that changes from now on are told."""
        if not self._is_following:
            self._is_following = self._begins = True
            self.is_told.set()

    def tell(self, topics: set[Topic]) -> None:
        self._changed |= topics
        self.is_told.set()

    def take(self) -> bytes:
        """The events since the last call."""
        begins, topics = self._begins, sorted(self._changed)
        self._begins = False
        self._changed.clear()
        self.is_told.clear()
        return (_event("following", []) if begins else b"") + (_event("changed", topics) if topics else b"")


def _event(name: str, topics: list[Topic]) -> bytes:
    return f"event: {name}\ndata: ".encode() + encode(topics) + b"\n\n"


class Changes:
    """Streams of Server-Sent Events: https://html.spec.whatwg.org/multipage/server-sent-events.html."""

    def __init__(self, database: Database, log: ConsoleLog) -> None:
        self._database = database
        self._log = log
        self._clients: dict[_Client, str] = {}
        self._polling: asyncio.Task[None] | None = None

    def stream(self, session_id: str) -> AsyncIterator[bytes]:
        """A stream for a session; it ends after ten minutes, and clients then connect again.

        Raises Problem 429 if there are 8 of the session, and 503 if there are 200.
        """
        busy = {"Retry-After": "10"}
        if len(self._clients) >= MOST_CLIENTS:
            raise Problem(503, "too_many_streams", "The console has too many streams; try again.", headers=busy)
        if sum(each == session_id for each in self._clients.values()) >= MOST_OF_A_SESSION:
            raise Problem(429, "too_many_streams", f"This session has {MOST_OF_A_SESSION} streams.", headers=busy)
        client = _Client()
        self._clients[client] = session_id  # at once: many may ask at the same time
        stream = self._told(client)
        weakref.finalize(stream, self._forget, client)  # also if nobody reads it, as after a HEAD
        return stream

    async def _told(self, client: _Client) -> AsyncIterator[bytes]:
        loop = asyncio.get_running_loop()
        ends_at = loop.time() + LONGEST_SECONDS
        try:
            self._poll()
            yield f"retry: {RETRY_MILLISECONDS}\n\n".encode()
            while (left := ends_at - loop.time()) > 0:
                try:
                    async with asyncio.timeout(min(KEEPALIVE_SECONDS, left)):
                        await client.is_told.wait()
                except TimeoutError:
                    yield _event("alive", [])  # a comment would not be seen by programs that watch for silence
                    continue
                yield client.take()
        finally:
            self._forget(client)

    def _forget(self, client: _Client) -> None:
        self._clients.pop(client, None)
        if not self._clients and self._polling is not None:
            self._polling.cancel()
            self._polling = None

    def _poll(self) -> None:
        if self._polling is None or self._polling.done():
            self._polling = asyncio.create_task(self._tell())

    async def _tell(self) -> None:
        before: _State | None = None
        again: set[Topic] = set()
        while self._clients:
            state = await self._read()
            if state is not None:
                if before is not None and state.audit is None:  # none but reads are among the newest entries
                    state = replace(state, audit=before.audit)
                changed = set() if before is None else state.changed_since(before)
                # once more at the next look: what tells of a change may be seen before its transaction
                for client in [*self._clients] if changed | again else []:
                    client.tell(changed | again)
                for client in [*self._clients]:
                    client.follow()
                before, again = state, changed
            await asyncio.sleep(POLL_SECONDS)

    async def _read(self) -> _State | None:
        try:
            async with self._database.connection() as conn:
                text = with_webhooks(STATE, has_webhooks=await afetch_one(conn, webhooks_installed()))
                state = await afetch_one(conn, Query(text, (), _State))
            return state if self._log.is_here else replace(state, audit=await self._log.newest())
        except (Problem, Error) as error:
            logger.info("changes cannot be told at the moment: %s", getattr(error, "code", type(error).__name__))
            return None

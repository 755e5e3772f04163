"""The timestamps of seals that an authority gives: the newest seal gets one each hour, which covers those before."""

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Final, Self
from urllib.parse import urlsplit

from psycopg import Connection

from svc_pg import audit
from svc_pg.audit import Seal
from svc_pg.database.query import Query, fetch_one
from svc_pg.errors import ConfigError, SvcError
from svc_pg.maintenance.bounded_calls import Patience
from svc_pg.seals.database.stored_timestamps import add_timestamp, last_stamped
from svc_pg.seals.timestamps import MOST_BYTES, TOLERANCE, BadTimestamp, TimestampAuthority, question_of
from svc_pg.settings import Settings
from svc_pg.status.last_runs import stored_problem
from svc_pg.status.seal_destinations import claim_destination, note_destination, see_destination

_log = logging.getLogger(__name__)

EVERY: Final = timedelta(hours=1)
"""The least time between two timestamps, of all workers and commands together: an authority may be dear."""
AGAIN: Final = timedelta(minutes=10)
"""The least time after a failure."""
_PATIENCE: Final = timedelta(seconds=20)
HEADERS: Final = {"Content-Type": "application/timestamp-query", "Accept": "application/timestamp-reply"}

Post = Callable[[str, bytes, dict[str, str]], bytes]
"""Posts bytes with headers to a URL, and returns the body of the answer. Raises SvcError; bounded in time and bytes."""


@dataclass(frozen=True, slots=True)
class Authority:
    """An authority outside: its URL, which the repr does not show, and the certificates that verify what it says."""

    url: str = field(repr=False)
    certificates: TimestampAuthority

    @classmethod
    def of(cls, settings: Settings) -> Self | None:
        """The one of the settings; None if they name none. Raises ConfigError if its certificates are missing."""
        if settings.seal_timestamp_url is None:
            return None
        certificates = TimestampAuthority.of(settings)
        if certificates is None:
            raise ConfigError(
                "SVC_SEAL_TIMESTAMP_CA is not set, and it verifies what SVC_SEAL_TIMESTAMP_URL answers",
                hint="Name a file with the authority's root certificate in PEM.",
            )
        return cls(settings.seal_timestamp_url, certificates)

    @property
    def name(self) -> str:
        """Its host and port: the rest of the URL may be secret."""
        return urlsplit(self.url).netloc


@dataclass(frozen=True, slots=True)
class _Now:
    now: datetime


_NOW: Final = Query("select pg_catalog.clock_timestamp() as now", (), _Now)


@dataclass(frozen=True, slots=True)
class _Due:
    """The seal that is to get a timestamp, the last one that has one, and the time of the database."""

    seal: Seal
    last: int | None
    now: datetime


class SealTimestamps:
    """Gets timestamps for the newest seal of a log, when one is due, and tells how far that came."""

    def __init__(self, authority: Authority, post: Post) -> None:
        self._authority = authority
        self._post = post
        self._patience = Patience(authority.name, longest=_PATIENCE)
        self._told: str | None = None
        self.taken: int | None = None
        """The seal that got a timestamp in the last call; None if none did."""
        self.problem: SvcError | None = None
        """The reason for which the authority gave none in the last call."""

    @property
    def name(self) -> str:
        """The name of the authority."""
        return self._authority.name

    def take(self, conn: Connection[Any]) -> None:
        """Get a timestamp for the newest seal, unless it has one, or none is due.

        A failure is noted, and holds up nothing. ``conn`` must be outside a transaction.
        """
        self.taken = self.problem = None
        with conn.transaction():
            due = self._due(conn)
        if due is None:
            return
        try:
            answer = self._patience.call(partial(self._asked, due))
        except SvcError as error:
            with conn.transaction():
                self._note(conn, error, due.last)
            return
        with conn.transaction():
            add_timestamp(conn, due.seal.number, answer)
            note_destination(conn, self.name, kind="timestamps", last_seal=due.seal.number, is_whole=True, wait=EVERY)
        self._told, self.taken = None, due.seal.number

    def _due(self, conn: Connection[Any]) -> _Due | None:
        """The newest seal, if it lacks a timestamp, and one is due: then no other worker asks for one meanwhile."""
        newest = next(iter(audit.seals(conn, limit=1)), None)
        if newest is None:
            return None
        last = last_stamped(conn, newest.number)  # a forged one of a seal to come does not count
        if last == newest.number:
            note_destination(conn, self.name, kind="timestamps", last_seal=last, is_whole=True)
            return None
        if not claim_destination(conn, self.name, again=AGAIN):
            see_destination(conn, self.name)
            return None
        return _Due(newest, last, fetch_one(conn, _NOW).now)

    def _asked(self, due: _Due) -> bytes:
        """The answer about a seal, verified. Raises SvcError, whatever the authority does."""
        try:
            question = question_of(due.seal)
            answer = self._post(self._authority.url, question.body, HEADERS)
            if len(answer) > MOST_BYTES:
                raise SvcError(f"it answered more than {MOST_BYTES} bytes")
            time = self._authority.certificates.time_of(answer, due.seal, nonce=question.nonce)
        except SvcError:
            raise
        except BadTimestamp as error:
            raise SvcError(f"its answer is not good: {error}") from error
        except Exception as error:
            raise SvcError(f"it cannot be asked: {error!r}") from error
        if abs(time - due.now) > TOLERANCE:
            raise SvcError(f"its clock differs from the database's: it says {time.isoformat(timespec='seconds')}")
        return answer

    def _note(self, conn: Connection[Any], error: SvcError, last: int | None) -> None:
        problem = stored_problem(str(error))
        self.problem = SvcError(f"no timestamp of {self.name}: {error.message}", hint=error.hint)
        if problem != self._told:
            _log.error("timestamps of the seals by %s: %s", self.name, problem)
        self._told = problem
        note_destination(conn, self.name, kind="timestamps", last_seal=last, problem=problem)

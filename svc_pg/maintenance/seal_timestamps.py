"""The timestamps of seals that an authority gives: the newest seal gets one each hour, which covers those before."""

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, Final, Self
from urllib.parse import urlsplit

from psycopg import Connection

from svc_pg import audit
from svc_pg.audit import Seal
from svc_pg.database.query import Query, fetch, fetch_one
from svc_pg.errors import ConfigError, SvcError
from svc_pg.maintenance.bounded_calls import Patience, never
from svc_pg.seals.database.stored_seals import numbered
from svc_pg.seals.database.stored_timestamps import StoredTimestamp, add_timestamp, last_timestamp
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
    """An authority outside: its URL, which the repr does not show, and the file of its certificates, or these."""

    url: str = field(repr=False)
    certificates: TimestampAuthority | Path | None

    @classmethod
    def of(cls, settings: Settings) -> Self | None:
        """The one of the settings; None if they name none. Its certificates are read when it is first asked."""
        if settings.seal_timestamp_url is None:
            return None
        return cls(settings.seal_timestamp_url.get_secret_value(), settings.seal_timestamp_ca)

    @property
    def name(self) -> str:
        """Its host and port: the rest of the URL may be secret."""
        return urlsplit(self.url).netloc

    def trusted(self) -> TimestampAuthority:
        """Read its certificates. Raises ConfigError if they are missing, and without rfc3161-client."""
        if self.certificates is None:
            raise ConfigError(
                "SVC_SEAL_TIMESTAMP_CA is not set, and it verifies what SVC_SEAL_TIMESTAMP_URL answers",
                hint="Name a file with the authority's root certificate in PEM.",
            )
        if isinstance(self.certificates, Path):
            return TimestampAuthority.read(self.certificates)
        return self.certificates


@dataclass(frozen=True, slots=True)
class _Now:
    now: datetime


_NOW: Final = Query("select pg_catalog.clock_timestamp() as now", (), _Now)


@dataclass(frozen=True, slots=True)
class _Due:
    """The seal that is to get a timestamp, the last one that has a good one, and the time of the database."""

    seal: Seal
    last: int | None
    now: datetime


class SealTimestamps:
    """Gets timestamps for the newest seal of a log, when one is due, and tells how far that came.

    A command tells with ``shown_for`` for how long its state is shown.
    """

    def __init__(self, authority: Authority, post: Post, *, shown_for: timedelta | None = None) -> None:
        self._authority = authority
        self._post = post
        self._shown_for = shown_for
        self._patience = Patience(authority.name, longest=_PATIENCE)
        self._trusted: TimestampAuthority | None = None
        self._good: StoredTimestamp | None = None
        self._told: str | None = None
        self.taken: int | None = None
        """The seal that got a timestamp in the last call; None if none did."""
        self.problem: SvcError | None = None
        """The reason for which there is none from the last call."""

    @property
    def name(self) -> str:
        """The name of the authority."""
        return self._authority.name

    def take(self, conn: Connection[Any], is_stopping: Callable[[], bool] = never) -> None:
        """Get a timestamp for the newest seal, unless it has one, or none is due.

        A failure is noted, and holds up nothing. ``conn`` must be outside a transaction. Raises InterruptedError if
        ``is_stopping`` meanwhile.
        """
        self.taken = self.problem = None
        due: _Due | None = None
        try:
            trusted = self._trusted = self._trusted or self._patience.call(self._read, is_stopping)
            with conn.transaction():
                due = self._due(conn, trusted)
            if due is None:
                return
            answer = self._patience.call(partial(self._asked, due, trusted), is_stopping)
            with conn.transaction():
                self._keep(conn, due.seal, answer)
        except SvcError as error:
            with conn.transaction():
                self._note(conn, error, None if due is None else due.last)
            return
        self._told, self.taken = None, due.seal.number

    def _read(self) -> TimestampAuthority:
        """Its certificates. Raises SvcError, whatever the file has."""
        try:
            return self._authority.trusted()
        except SvcError:
            raise
        except Exception as error:
            raise SvcError(f"its certificates cannot be read: {error!r}") from error

    def _due(self, conn: Connection[Any], trusted: TimestampAuthority) -> _Due | None:
        """The newest seal, if it lacks a timestamp, and one is due: then no other worker asks for one meanwhile.

        Raises SvcError if it has one that is not good.
        """
        newest = next(iter(audit.seals(conn, limit=1)), None)
        if newest is None:
            return None
        stamp = last_timestamp(conn, newest.number)  # a forged one of a seal to come does not count
        last = stamp.seal if stamp is not None and self._is_good(conn, stamp, trusted) else None
        if last == newest.number:
            self._tell(conn, last_seal=last, is_whole=True)
            return None
        if stamp is not None and stamp.seal == newest.number:
            raise SvcError(f"the timestamp of seal {newest.number} is not good", hint="Look: svc-pg verify")
        if not claim_destination(conn, self.name, again=AGAIN):
            see_destination(conn, self.name, shown_for=self._shown_for)
            return None
        return _Due(newest, last, fetch_one(conn, _NOW).now)

    def _is_good(self, conn: Connection[Any], stamp: StoredTimestamp, trusted: TimestampAuthority) -> bool:
        if stamp == self._good:
            return True
        seal = next(iter(fetch(conn, numbered(stamp.seal))), None)
        if seal is None:
            return False
        try:
            trusted.time_of(stamp.answer, seal)
        except BadTimestamp:
            return False
        self._good = stamp
        return True

    def _asked(self, due: _Due, trusted: TimestampAuthority) -> bytes:
        """The answer about a seal, verified. Raises SvcError, whatever the authority does."""
        try:
            question = question_of(due.seal)
            answer = self._post(self._authority.url, question.body, HEADERS)
            if len(answer) > MOST_BYTES:
                raise SvcError(f"it answered more than {MOST_BYTES} bytes")
            time = trusted.time_of(answer, due.seal, nonce=question.nonce)
        except SvcError:
            raise
        except BadTimestamp as error:
            raise SvcError(f"its answer is not good: {error}") from error
        except Exception as error:
            raise SvcError(f"it cannot be asked: {error!r}") from error
        if abs(time - due.now) > TOLERANCE:
            raise SvcError(f"its clock differs from the database's: it says {time.isoformat(timespec='seconds')}")
        return answer

    def _keep(self, conn: Connection[Any], seal: Seal, answer: bytes) -> None:
        """Keep a good answer. Raises SvcError if the seal is gone, or has another answer by now."""
        if not add_timestamp(conn, seal.number, answer):
            raise SvcError(f"somebody else kept a timestamp of seal {seal.number}", hint="Look: svc-pg verify")
        self._tell(conn, last_seal=seal.number, is_whole=True, wait=EVERY)

    def _note(self, conn: Connection[Any], error: SvcError, last: int | None) -> None:
        problem = stored_problem(error.message)
        self.problem = SvcError(f"no timestamp of {self.name}: {error.message}", hint=error.hint)
        if problem != self._told:
            _log.error("timestamps of the seals by %s: %s", self.name, problem)
        self._told = problem
        self._tell(conn, last_seal=last, problem=problem)

    def _tell(
        self,
        conn: Connection[Any],
        *,
        last_seal: int | None,
        is_whole: bool = False,
        problem: str | None = None,
        wait: timedelta | None = None,
    ) -> None:
        note_destination(
            conn,
            self.name,
            kind="timestamps",
            last_seal=last_seal,
            is_whole=is_whole,
            problem=problem,
            wait=wait,
            shown_for=self._shown_for,
        )

"""Copies of the seals that a worker or a command keeps in a file or a folder: a failing one holds up nothing."""

import logging
import time
from collections.abc import Callable
from functools import partial
from math import inf
from pathlib import Path
from typing import Any, Final, TypeVar

from psycopg import Connection
from psycopg.errors import LockNotAvailable

from svc_pg.errors import ProofError, SvcError
from svc_pg.maintenance.bounded_calls import Patience, never
from svc_pg.seals.database.stored_timestamps import last_timestamp
from svc_pg.seals.verification.seal import Seal
from svc_pg.seals.writing.copying import Copies, appending, check_copies, lacking, lacking_timestamps, naming
from svc_pg.status.last_runs import stored_problem
from svc_pg.status.seal_destinations import OF_A_COMMAND, last_seal_at, note_destination

_log = logging.getLogger(__name__)

Value = TypeVar("Value")

_LONGEST_RUN: Final = 20.0  # seconds of a run; the next one goes on


def destination_name(path: Path) -> str:
    """The name of copies at this path, on any machine, among the destinations."""
    return str(path.absolute()).encode(errors="backslashreplace").decode()


class SealCopies:
    """Copies at a path, which is opened for a short time in each run. ``conn`` must be outside a transaction.

    A command ``begins_anew`` if the copies that it had are gone, writes for as long as there is something to write, and
    its state is shown for longer, because it may run once a week.
    """

    def __init__(self, path: Path, *, begins_anew: bool = False) -> None:
        self.path = path
        self.copied = 0
        """The number of copies that were not there before."""
        self.problem: SvcError | None = None
        """The error of the last call; None if there was none."""
        self.known: Seal | None = None
        """The first last copy that was seen, and that the log had: it has to keep its seal."""
        self._name = destination_name(path)
        self._begins_anew = begins_anew
        self._longest_run = inf if begins_anew else _LONGEST_RUN
        self._patience = Patience(str(path))
        self._is_stopping: Callable[[], bool] = never
        self._found: Copies | None = None
        self._told: str | None = None
        self._stamped: int | None = None  # the last seal whose timestamp is there, and those of all before

    def look(self, conn: Connection[Any], is_stopping: Callable[[], bool] = never) -> None:
        """Read the last copy, if that is possible now. Raises ProofError if the log lacks it, or it is damaged.

        Raises InterruptedError if ``is_stopping`` meanwhile.
        """
        self._is_stopping = is_stopping
        with conn.transaction():
            known = None if self._begins_anew else last_seal_at(conn, self._name)
        before = self._found if self._found is not None and len(self._found.lacks) == 1 else None
        try:
            self._found = self._call(lambda: self._opened(before, is_new=known is None))
        except ProofError as error:
            self._found = None
            self._note(conn, error)
            raise
        except SvcError as error:
            self._found = None
            self._note(conn, error)
            return
        try:
            check_copies(conn, self._found)
        except ProofError as error:
            self._note(conn, error)
            raise
        self.known = self.known or self._found.last
        last = self._found.last
        if known is not None and (last is None or last.number < known):
            self._found = None
            words = (
                f"{self.path} no longer has the copies up to seal {known}: mount it, or put them back; or begin anew:"
            )
            self._note(conn, SvcError(f"{words} svc-pg seal --to {self.path}"))

    def write(self, conn: Connection[Any]) -> None:
        """Add the seals and timestamps that the copies lack, for some seconds, and note how far that came.

        Raises ProofError if there is another copy of one.
        """
        if self._found is None:
            return
        found, end = self._found, time.monotonic() + self._longest_run
        problem: SvcError | None = None
        is_whole = True
        try:
            for page in lacking(conn, found.lacks):
                found = self._call(partial(self._appended, found, page))
                if not (is_whole := time.monotonic() < end):
                    break
            if is_whole:
                self._write_timestamps(conn, found, end)
        except ProofError as error:
            self._note(conn, error)
            raise
        except SvcError as error:
            problem = error
        self._found = found if problem is None else None
        self._note(conn, problem, last=found.last, is_whole=is_whole)

    def _write_timestamps(self, conn: Connection[Any], found: Copies, end: float) -> None:
        """Add the timestamps that the copies lack, until ``end``, if there is a newer one."""
        if found.last is None:
            return
        until = found.last.number
        with conn.transaction():
            last = last_timestamp(conn, until)  # a forged one of a seal to come does not count
        if last is None or last.seal == self._stamped:
            return
        present = self._call(partial(self._stamps, found))
        for page in lacking_timestamps(conn, present, until):
            self._call(partial(self._appended_timestamps, found, page))
            if time.monotonic() > end:
                return
        self._stamped = last.seal

    def _stamps(self, before: Copies) -> set[int] | None:
        with naming(self.path), appending(self.path, before=before) as copies:
            return copies.timestamps()

    def _appended_timestamps(self, before: Copies, stamps: list[tuple[int, bytes]]) -> None:
        with naming(self.path), appending(self.path, before=before) as copies:
            copies.append_timestamps(stamps)

    def _call(self, work: Callable[[], Value]) -> Value:
        """The value of a call of the destination. Raises SvcError if that fails in any way."""
        try:
            return self._patience.call(work, self._is_stopping)
        except (SvcError, InterruptedError):
            raise
        except Exception as error:
            raise SvcError(f"{self.path} cannot be read or written: {error!r}") from error

    def _opened(self, before: Copies | None, *, is_new: bool) -> Copies:
        if not is_new and not self.path.exists():
            raise SvcError(f"{self.path} is gone", hint="Mount it, or put it back.")
        with naming(self.path), appending(self.path, before=before, creates=is_new) as copies:
            return copies

    def _appended(self, before: Copies, seals: list[Seal]) -> Copies:
        with naming(self.path), appending(self.path, before=before) as copies:
            self.copied += copies.append(seals)
            return copies

    def _note(
        self, conn: Connection[Any], problem: SvcError | None, *, last: Seal | None = None, is_whole: bool = False
    ) -> None:
        self.problem = problem
        words = None if problem is None else stored_problem(problem.message)
        if words is not None and words != self._told:
            _log.error("copies of the seals: %s", words)
        self._told = words
        number = None if last is None else last.number
        is_whole = is_whole and problem is None
        try:
            with conn.transaction():
                note_destination(
                    conn,
                    self._name,
                    last_seal=number,
                    is_whole=is_whole,
                    problem=words,
                    shown_for=OF_A_COMMAND if self._begins_anew else None,
                )
        except LockNotAvailable:  # whoever holds its row holds up no seal
            _log.warning("the state of %s is not told: another session keeps it locked", self.path)

"""The steps of ``export --follow``: write lines, save their position, and end between two of them."""

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from svc_pg.audit.exports.following import following_lines, identity
from svc_pg.audit.read.audit_query import AuditQuery
from svc_pg.audit.read.log_position import START, Position

from . import signals
from .checkpoint import Checkpoint, options_of
from .checkpoint_file import CheckpointFile, opened_checkpoint
from .database import is_postgresql
from .files.line_file import Lines, appended

_SAVE_EVERY: Final = 1.0
"""The seconds between two cursors under a steady flow of entries."""


class _Reached:
    """The position after the written lines, for the next run. It is saved when the lines are on the disk."""

    def __init__(self, file: CheckpointFile | None, out: Lines, start: Checkpoint, *, is_saved: bool) -> None:
        self._file = file
        self._out = out
        self._end = start
        self._is_saved = is_saved
        self._saved_at = time.monotonic()

    def move(self, cursor: str, *, is_end: bool) -> None:
        self._is_saved = self._is_saved and cursor == self._end.cursor
        self._end = replace(self._end, cursor=cursor)
        if is_end or time.monotonic() - self._saved_at > _SAVE_EVERY:
            self.save()

    def save(self) -> None:
        if self._file is not None and not self._is_saved:
            self._out.sync()
            self._file.save(self._end)
        self._is_saved, self._saved_at = True, time.monotonic()


def follow(
    conn: Any,
    wanted: AuditQuery,
    *,
    to: Path,
    cursor: Path | None,
    after: str | None,
    is_rebound: bool,
    progress: Callable[[int], None],
) -> int:
    """Write entries until a signal asks to end, and return their number.

    The file ``cursor`` keeps the position and the filters for the next run; other filters are refused, unless
    ``is_rebound``. If it is empty, ``after`` is the end of an export to begin after. Raises SvcError.
    """
    options = options_of(wanted.conditions, form="ndjson")
    entries = 0
    with _interruptible() as held, nullcontext() if cursor is None else opened_checkpoint(cursor) as file:
        known = None if file is None else file.read()
        log = "" if file is None else identity(conn, None if known is None else known.log)
        if known is not None and not is_rebound:
            known.check(options, name=str(cursor))
        start = known.cursor if known else START if after is None else Position(after).cursor
        with appended(to, is_resumed=known is not None) as out:
            end = Checkpoint(start, log, options)
            reached = _Reached(file, out, end, is_saved=known == end)
            try:
                if known is not None:
                    with held():
                        reached.save()  # it may be for other filters from here on
                with closing(following_lines(conn, wanted, cursor=start)) as parts:
                    for lines in parts:
                        with held():
                            if not entries:
                                reached.save()  # a file with half a line is known by its cursor
                            out.write(lines.text)
                            entries += lines.entries
                            reached.move(lines.cursor, is_end=lines.is_end)
                            progress(entries)
            except KeyboardInterrupt:
                if is_postgresql(conn):
                    conn.close()  # it may be inside a statement or its end, which a commit would stumble over
            if entries:
                reached.save()
    return entries


@contextmanager
def _interruptible() -> Iterator[Callable[[], AbstractContextManager[None]]]:
    """Turn termination signals into KeyboardInterrupt, inside a ``held`` block only at its end.

    A second signal kills: a reader that has stopped reading would hold a block forever.
    """
    is_held = is_asked = False
    asking = signals.heeded()

    def end(_number: int, _frame: object) -> None:
        nonlocal is_asked
        is_asked = True
        for each in asking:
            signal.signal(each, signal.SIG_DFL)
        if not is_held:
            raise KeyboardInterrupt

    @contextmanager
    def held() -> Iterator[None]:
        nonlocal is_held
        is_held = True
        try:
            yield
        finally:
            is_held = False
        if is_asked:
            raise KeyboardInterrupt

    before = {each: signal.signal(each, end) for each in asking}
    try:
        yield held
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)

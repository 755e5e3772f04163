"""Log failed attempts: the first at once, later ones in one line a minute."""

import asyncio
import logging
from collections import Counter
from typing import Final

from svc_pg.formats.plurals import counted
from svc_pg.webhooks.http.transport import Result

_log = logging.getLogger(__name__)

_EVERY: Final = 60.0  # seconds
_MOST_NAMED: Final = 3


class FailedAttempts:
    """The failed attempts since the last line of the log."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, str]] = Counter()
        self._next_line: asyncio.TimerHandle | None = None

    def note(self, endpoint_id: str, result: Result) -> None:
        """Count an attempt that failed."""
        reason = str(result.status) if result.outcome == "http_error" and result.status else result.outcome
        self._counts[endpoint_id, reason] += 1
        if self._next_line is None:
            self._write()

    def close(self) -> None:
        """Log the last ones."""
        if self._next_line is not None:
            self._next_line.cancel()
        if self._counts:
            _log.warning("%s", self._line())
            self._counts.clear()

    def _write(self) -> None:
        self._next_line = None
        if self._counts:
            _log.warning("%s", self._line())
            self._counts.clear()
            self._next_line = asyncio.get_running_loop().call_later(_EVERY, self._write)

    def _line(self) -> str:
        by_reason = self._counts.most_common()
        named = [f"{count} at endpoint {endpoint} ({reason})" for (endpoint, reason), count in by_reason[:_MOST_NAMED]]
        if others := sum(count for _, count in by_reason[_MOST_NAMED:]):
            named.append(f"{others} others")
        return f"{counted(self._counts.total(), 'attempt')} failed: {', '.join(named)}"

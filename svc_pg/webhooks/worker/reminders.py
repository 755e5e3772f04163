"""Limit the log of a lasting fault: each new message at once, and the same one once a minute."""

import re
import time
from typing import Final

import psycopg

_EVERY: Final = 60.0  # seconds
_MOST: Final = 20  # messages within that time: one with a part that always changes must not fill the log
# psycopg tries each host and address, and lists the failures of all after the last one
_ONE_OF_SEVERAL: Final = re.compile(r"^- host: .*?, hostaddr: .*?: (.+)$", re.MULTILINE)


class Reminders:
    """The messages of one fault that were logged within the last minute."""

    def __init__(self) -> None:
        self._logged_at: dict[str, float] = {}

    def is_due(self, message: str) -> bool:
        """True if this message is to be logged now; it then counts as logged."""
        now = time.monotonic()
        self._logged_at = {known: at for known, at in self._logged_at.items() if now - at < _EVERY}
        if message in self._logged_at or len(self._logged_at) >= _MOST:
            return False
        self._logged_at[message] = now
        return True

    def clear(self) -> None:
        """Forget all messages, so that the next one is logged: the fault is over."""
        self._logged_at.clear()


def reason(error: psycopg.Error) -> str:
    """The reason of an error in one line; all different reasons if several hosts or addresses were tried."""
    text = str(error)
    reasons = dict.fromkeys(_ONE_OF_SEVERAL.findall(text)) or [text.partition("\n")[0]]
    return "; ".join(reasons)

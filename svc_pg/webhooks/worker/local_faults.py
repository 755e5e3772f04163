"""Faults of this machine that stop deliveries: logged, shown by readiness, and counted against no receiver."""

import logging
import random
import time
from datetime import timedelta
from typing import Final

from svc_pg.webhooks.worker.reminders import Reminders

_log = logging.getLogger(__name__)

_WAIT: Final = timedelta(seconds=5)
_PAUSE: Final = 1.0  # seconds without claims, so that a worker does not claim and give back all the time
_FORGOTTEN: Final = 30.0  # seconds without a fault after which the machine counts as sound


class LocalFaults:
    """The faults of this machine that attempts have met."""

    def __init__(self) -> None:
        self._last: str | None = None
        self._met_at = float("-inf")
        self._reminders = Reminders()

    def note(self, fault: str) -> timedelta:
        """Note the fault of an attempt, and return the wait until the next one."""
        if self.current is None:
            self._reminders.clear()
        if self._reminders.is_due(fault):
            _log.error("deliveries are given back unsent, because this machine cannot send them: %s", fault)
        self._last, self._met_at = fault, time.monotonic()
        return _WAIT * random.uniform(0.8, 1.2)  # noqa: S311 - only so that they do not come back in step

    @property
    def current(self) -> str | None:
        """The last fault, if there was one within the last 30 s."""
        return self._last if time.monotonic() - self._met_at < _FORGOTTEN else None

    @property
    def pause(self) -> float:
        """The seconds to wait before the next claim."""
        return max(self._met_at + _PAUSE - time.monotonic(), 0.0)

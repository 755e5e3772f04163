"""The interface for monitoring deliverers: a worker, or several worker processes."""

from typing import Protocol

from svc_pg.webhooks.worker.statistics import Statistics


class Observed(Protocol):
    """One worker, or several."""

    @property
    def statistics(self) -> Statistics:
        """Its counters."""

    @property
    def is_delivering(self) -> bool:
        """True if it delivers, false if it only maintains."""

    @property
    def is_alive(self) -> bool:
        """True if it runs; it may be waiting for its database."""

    @property
    def problem(self) -> str | None:
        """The reason why it cannot deliver now; None if it can."""

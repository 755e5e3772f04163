"""The advisory locks of svc-pg, all of them: the first number is svc's, the second says what is locked."""

from enum import IntEnum
from typing import Final

CLASS: Final = 1937138032  # "svc0"


class Lock(IntEnum):
    """The locks by name. SQL writes ``{{ "claim" | lock }}``."""

    INSTALL = 0
    """An install: one at a time."""
    WAKEUP = 1
    """A worker that sleeps holds it, and whoever sends shares it: who is refused notifies."""
    CLAIM = 2
    """A claim of deliveries: one at a time."""
    MAINTENANCE = 4
    """Maintenance: one at a time."""
    SLEEPER = 5
    """The worker that sleeps, to tell it from a sender."""
    SEALS = 6
    """The seals of the audit log: each follows the last."""
    LISTENER = 7
    """A worker that begins to listen, to see whether it claims in the same database."""

    @property
    def key(self) -> tuple[int, int]:
        """The two numbers that PostgreSQL's functions take."""
        return CLASS, self.value

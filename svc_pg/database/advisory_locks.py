"""The advisory locks of svc-pg, all of them: the first number is svc's, the second says what is locked.

Whoever may connect to a database can take any of them, for ever. So none of them guards anything: if one is refused,
its holder counts only if it has rights on schema svc, or the wait has an end. What must not happen twice at a time is
guarded by the lock of a table or a view of svc.
"""

from enum import IntEnum
from typing import Final

CLASS: Final = 1937138032  # "svc0"


class Lock(IntEnum):
    """The locks by name. SQL writes ``{{ "install" | lock }}``. A number is never used again."""

    INSTALL = 0
    """An install: the first, which finds no table to lock, and those of before, which lock none."""
    WAKEUP = 1
    """A worker that sleeps holds it, and whoever sends shares it: who is refused notifies."""
    MAINTENANCE = 4
    """Maintenance: one at a time, to save work."""
    SLEEPER = 5
    """The worker that sleeps, to tell it from a sender."""

    @property
    def key(self) -> tuple[int, int]:
        """The two numbers that PostgreSQL's functions take."""
        return CLASS, self.value

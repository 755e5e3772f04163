"""The advisory locks of svc-pg: the first key is the same for all, the second is the number of a Lock.

Any role that may connect can take any of them, and keep it. So correctness rests on none of them: a refusal counts only
if the holder has rights on schema svc, or the wait is limited. Work that must not run twice at a time is guarded by a
lock on a table or view of svc.
"""

from enum import IntEnum
from typing import Final

CLASS: Final = 1937138032  # "svc0"


class Lock(IntEnum):
    """The locks by name. SQL writes ``{{ "install" | lock }}``. A number is never used again."""

    INSTALL = 0
    """Held by a first install, which finds no table to lock, and by installs of older versions, which lock none."""
    WAKEUP = 1
    """Held by a sleeping worker. Senders try it shared, and notify if refused."""
    MAINTENANCE = 4
    """Held by maintenance, so that one runs at a time, to save work."""
    SLEEPER = 5
    """Held by the sleeping worker too, to tell it from a sender."""

    @property
    def key(self) -> tuple[int, int]:
        """The two arguments of PostgreSQL's functions for advisory locks."""
        return CLASS, self.value

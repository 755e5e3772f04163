"""The longest waits of an install, and how often it tries."""

from datetime import timedelta
from typing import Final

FOR_INSTALL: Final = timedelta(seconds=60)
"""The longest wait for another install."""
FOR_TABLE: Final = timedelta(seconds=5)
"""The longest wait for the lock of a table, each time."""
TRIES: Final = 3
"""The number of tries to get the lock of a table."""

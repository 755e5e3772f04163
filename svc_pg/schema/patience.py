"""The longest waits of an install, and how often it tries."""

from datetime import timedelta
from typing import Final

FOR_INSTALL: Final = timedelta(seconds=60)
"""For another install."""
FOR_TABLE: Final = timedelta(seconds=5)
"""Each time, for the lock of a table."""
TRIES: Final = 3
"""To get the lock of a table."""

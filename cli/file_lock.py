"""The lock of a file that one export at a time writes. It ends with the descriptor, also by a kill."""

import fcntl
from pathlib import Path

from svc_pg.errors import SvcError


def lock(descriptor: int, path: Path) -> None:
    """Lock an open file for this process. Raises SvcError if another export has locked it."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise SvcError(f"{path} is used by another export", hint="Give each export a file of its own.") from error

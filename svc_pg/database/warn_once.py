"""Warnings about the use of the library, each once in a process."""

import logging
from typing import Final

_log = logging.getLogger("svc_pg")
_MOST: Final = 100
_given: Final[set[str]] = set()


def warn_once(message: str) -> None:
    """Log a warning, unless it has been logged before. At most 100 different ones are logged."""
    if message not in _given and len(_given) < _MOST:
        _given.add(message)
        _log.warning(message)

"""Durations as people write them: ``30s``, ``15m``, ``1h``, ``7d``, ``2w``, or ISO 8601 such as ``PT15M``."""

import re
from datetime import timedelta
from typing import Annotated

from pydantic import BeforeValidator, TypeAdapter, ValidationError

_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_SHORT = re.compile(r"([0-9]{1,9})([smhdw])")
_ISO_8601 = TypeAdapter(timedelta)


def parse(value: object) -> timedelta:
    """Read a positive duration. Raises ValueError with the accepted forms where it is none."""
    try:
        duration = _read(value)
    except (ValidationError, OverflowError):
        duration = None
    if duration is None or duration <= timedelta(0):
        raise ValueError(f"{value!r} is not a duration; write 30s, 15m, 1h, 7d, 2w or ISO 8601 such as PT15M")
    return duration


def _read(value: object) -> timedelta | None:
    if isinstance(value, timedelta):
        return value
    if not isinstance(value, str):
        return None
    if match := _SHORT.fullmatch(value):
        return timedelta(**{_UNITS[match[2]]: int(match[1])})
    return _ISO_8601.validate_python(value) if value.startswith("P") else None


Duration = Annotated[timedelta, BeforeValidator(parse)]
"""A pydantic field that reads any of these forms."""

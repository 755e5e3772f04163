"""Numbers for people."""

from typing import Final

_GREAT: Final = 999.5
_WHOLE: Final = 0.9995  # seconds, which rounded to three digits are one
_UNITS: Final = ("bytes", "kB", "MB", "GB", "TB")


def figure(value: float) -> str:
    """A number with the three digits that count, or, if it is greater, without a fraction."""
    return f"{value:,.0f}" if value >= _GREAT else f"{value:.3g}"


def duration(seconds: float) -> str:
    """A duration, for example ``1.2 s``, or ``95.5 ms`` if it is shorter than a second."""
    return f"{figure(seconds)} s" if seconds >= _WHOLE else f"{figure(1000 * seconds)} ms"


def size(count: int) -> str:
    """An amount of bytes, for example ``2.11 GB``."""
    amount = float(count)
    for unit in _UNITS[:-1]:
        if amount < _GREAT:
            return f"{figure(amount)} {unit}"
        amount /= 1000
    return f"{figure(amount)} {_UNITS[-1]}"

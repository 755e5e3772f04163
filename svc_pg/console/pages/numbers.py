"""Numbers for people."""

from typing import Final

_GREAT: Final = 999.5
_UNITS: Final = ("bytes", "kB", "MB", "GB", "TB")


def figure(value: float) -> str:
    """A number with the three digits that count, or, if it is greater, without a fraction."""
    return f"{value:,.0f}" if value >= _GREAT else f"{value:.3g}"


def size(count: int) -> str:
    """An amount of bytes, for example ``2.11 GB``."""
    amount = float(count)
    for unit in _UNITS[:-1]:
        if amount < _GREAT:
            return f"{figure(amount)} {unit}"
        amount /= 1000
    return f"{figure(amount)} {_UNITS[-1]}"

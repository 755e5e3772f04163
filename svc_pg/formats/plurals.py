"""Counts with their nouns."""

from typing import Final

_IRREGULAR: Final = {
    "delivery": "deliveries",
    "later delivery": "later deliveries",
    "entry": "entries",
    "newer entry": "newer entries",
    "index": "indexes",
}


def plural(noun: str) -> str:
    """The plural of a noun."""
    return _IRREGULAR.get(noun, f"{noun}s")


def counted(number: int, noun: str) -> str:
    """``1 entry``, ``2,000 entries``."""
    return f"{number:,} {noun if number == 1 else plural(noun)}"

"""Rows that a connection remembers for a minute."""

import time
from collections.abc import Sequence
from typing import Any, Final
from weakref import WeakKeyDictionary

SECONDS: Final = 60

Rows = Sequence[Sequence[Any]]


class Memory:
    """The rows of statements, by their texts."""

    def __init__(self) -> None:
        self._found: dict[str, tuple[float, Rows]] = {}

    def get(self, text: str) -> Rows | None:
        """The rows, if they are remembered."""
        kept_until, found = self._found.get(text, (0.0, []))
        return found if time.monotonic() < kept_until else None

    def keep(self, text: str, found: Rows) -> Rows:
        """Remember the rows, and return them."""
        self._found[text] = (time.monotonic() + SECONDS, found)
        return found


_memories: "WeakKeyDictionary[Any, Memory]" = WeakKeyDictionary()


def memory_of(conn: Any) -> Memory:
    """The memory of a connection; an empty one of a driver whose connections cannot be told apart."""
    try:
        return _memories.setdefault(conn, Memory())
    except TypeError:
        return Memory()

"""A snapshot of an entry, or its context: a mapping that keeps the JSON text that the database wrote."""

import json
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any, Final

from svc_pg.exact_json import Verbatim
from svc_pg.query import RawJson

_UNREAD: Final = object()


class Snapshot(Mapping[str, Any], Verbatim):
    """For example ``entry.after_data["email"]``; numbers with a fraction are Decimal.

    ``text`` is the JSON text unchanged, and what passes it on, as exports and the console do, parses nothing; the first
    look at a member parses it, once. Snapshots are equal if their values are, also to a dict. One that is no object, as
    ``capture_log`` takes too, has no members; its value is ``value``.
    """

    __slots__ = ("_text", "_value")

    def __init__(self, text: str) -> None:
        self._text = str(text)
        self._value: Any = _UNREAD

    @property
    def text(self) -> str:
        """The JSON text, as the database wrote it."""
        return self._text

    @property
    def value(self) -> Any:
        """The parsed text. Raises ValueError or RecursionError for one that Python does not read."""
        if self._value is _UNREAD:
            self._value = json.loads(self._text, parse_float=Decimal)
        return self._value

    def __getitem__(self, name: str) -> Any:
        return self._members()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._members())

    def __len__(self) -> int:
        return len(self._members())

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Snapshot):
            return self._text == other._text or bool(self.value == other.value)
        return bool(self.value == dict(other)) if isinstance(other, Mapping) else NotImplemented

    __hash__ = None  # type: ignore[assignment] # as a dict: equal texts may be written in two ways

    def __repr__(self) -> str:
        return f"Snapshot({self._text!r})"

    def __str__(self) -> str:
        return self._text

    def __reduce__(self) -> tuple[type["Snapshot"], tuple[str]]:
        return Snapshot, (self._text,)

    def _members(self) -> dict[str, Any]:
        value = self.value
        return value if isinstance(value, dict) else {}


def read_snapshots(row: Any) -> None:
    """Make Snapshots of the JSON texts of an entry or a state, in place; fields that it does not have stay away."""
    for name in ("before_data", "after_data", "context"):
        text = getattr(row, name, None)
        if isinstance(text, RawJson):
            object.__setattr__(row, name, Snapshot(text))

"""A snapshot of an entry, its context, or a value of one: it keeps the JSON text that the database wrote."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from svc_pg.database.query import RawJson
from svc_pg.formats.json_writer import Verbatim

_UNREAD: Final = object()
_SNAPSHOTS: Final = ("before_data", "after_data", "context", "value", "other_data")


class Snapshot(Mapping[str, Any], Verbatim):
    """For example ``entry.after_data["email"]``; numbers with a fraction are Decimal.

    ``text`` is the JSON text unchanged, so exports and the console pass it on without parsing; the first access to a
    member parses it, once. Snapshots are equal if their values are, also to a dict, and true if their values are. A
    snapshot that is no object, for example a single field or an argument of ``capture_log``, has no members; its value
    is ``value``. Payloads of webhooks and contexts of actors take it as JSON.
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
        """The parsed text. Raises ValueError or RecursionError if Python cannot parse it."""
        if self._value is _UNREAD:
            self._value = RawJson(self._text).value
        return self._value

    def __getitem__(self, name: str) -> Any:
        return self._members()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._members())

    def __len__(self) -> int:
        return len(self._members())

    def __bool__(self) -> bool:
        return bool(self.value)

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
    """Replace the JSON texts of a row of the log by Snapshots, in place; missing fields stay missing."""
    for name in _SNAPSHOTS:
        text = getattr(row, name, None)
        if isinstance(text, RawJson):
            object.__setattr__(row, name, Snapshot(text))

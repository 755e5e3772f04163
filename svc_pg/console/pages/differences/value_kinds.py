"""Values that stand for others: unrecorded ones, redacted ones, and the bytes of a ``bytea``."""

import re
from collections.abc import Sequence
from typing import Any, Final

from svc_pg.formats.look_alikes import common_ends
from svc_pg.formats.plurals import counted

_BYTES: Final = re.compile(r"\\x(?:[0-9a-f]{2})+")
_HASH: Final = re.compile("[0-9a-f]{64}")
_MARKERS: Final = frozenset({"oversized", "unsupported"})
_DIGITS: Final = 12


def unrecorded(value: Any) -> str:
    """The words for a value of which the log has only the size and the SHA-256; empty for any other."""
    if not isinstance(value, dict) or not {"bytes", "sha256"} <= value.keys() or _MARKERS.isdisjoint(value):
        return ""
    reason = "too large to be recorded" if "oversized" in value else "of a type that is not recorded"
    size = value["bytes"]
    told = counted(size, "byte") if isinstance(size, int) else "a value"
    return f"{told}, {reason}: SHA-256 {str(value['sha256'])[:_DIGITS]}…"


def disguise(value: Any) -> str:
    """The words for what redaction has left of a value."""
    if value == "[masked]":
        return "masked"
    if isinstance(value, str) and value.startswith("****"):
        return "only its end is recorded"
    return "hash of the value" if isinstance(value, str) and _HASH.fullmatch(value) else "redacted"


def bytes_note(values: Sequence[Any]) -> str:
    """The lengths of one or two values of ``bytea``, and the first byte that differs; empty for others."""
    if not all(isinstance(value, str) and value.startswith("\\x") and _BYTES.fullmatch(value) for value in values):
        return ""
    sizes = [counted(len(value) // 2 - 1, "byte") for value in values]
    if len(set(values)) == 1:
        return sizes[0]
    first = common_ends(values[0], values[-1])[0] // 2
    words = f"{sizes[0]} before, {sizes[-1]} after" if sizes[0] != sizes[-1] else f"{sizes[0]} each"
    return f"{words}; byte {first:,} is the first that differs"

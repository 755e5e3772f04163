"""A difference between the log and its seals, named in words."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

_Stamp = Literal["timestamp_forged", "timestamp_exchanged", "timestamp_early", "timestamp_late", "timestamp_missing"]
FindingKind = Literal[
    "changed",
    "deleted",
    "inserted",
    "redated",
    "renumbered",
    "swapped",
    "erased",
    "removal_claimed",
    "seal_changed",
    "seal_missing",
    "seal_replaced",
    "seals_swapped",
    "seal_of_unknown_key",
    "copy_changed",
    "timestamp_foreign",
    _Stamp,
    "leaves_changed",
    "entries_differ",
]


@dataclass(frozen=True, slots=True)
class Finding:
    """One difference, in a sentence: of the entry with this id, or else of the seal itself.

    The ``seal`` of a claimed removal, and of an entry that is erased no more, is the last one. ``timestamp`` is the
    time that the entry had when it was sealed; of an inserted entry, the time that it has.
    """

    kind: FindingKind
    message: str
    seal: int
    entry: str | None = None
    timestamp: datetime | None = None

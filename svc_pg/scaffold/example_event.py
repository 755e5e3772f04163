"""An event that a proposal shows as an example, of a table that looks like one whose changes others want to know."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

from svc_pg.database.table_names import TableName
from svc_pg.scaffold.candidates import Candidate
from svc_pg.scaffold.column_names import words_of
from svc_pg.scaffold.keys import key_of

_NOUNS: Final = (
    *("order", "invoice", "payment", "subscription", "shipment", "booking", "reservation", "refund", "purchase"),
    *("appointment", "ticket", "contract", "quote", "delivery", "claim", "customer", "account"),
)
"""The nouns at the end of a table's name, those that are wanted most first."""
_STATES: Final = ("status", "state")
_PLURALS: Final = {"deliveries": "delivery", "purchases": "purchase"}


@dataclass(frozen=True, slots=True)
class ExampleEvent:
    """The event ``NOUN.created``, or, of a table with a ``state``, ``NOUN.changed`` if that column changes."""

    table: TableName
    noun: str
    key: Sequence[str]
    state: str | None = None

    @property
    def name(self) -> str:
        """The name of the event."""
        return f"{self.noun}.{'changed' if self.state else 'created'}"


def example_event(
    candidates: Collection[Candidate], redacted: Collection[tuple[TableName, str]]
) -> ExampleEvent | None:
    """An event of the table whose noun is wanted most; None if no table looks like one. No column is ``redacted``."""
    found = [(_NOUNS.index(noun), each.name, each, noun) for each in candidates if (noun := _noun(each)) is not None]
    if not found:
        return None
    _, name, candidate, noun = min(found, key=lambda each: each[:2])
    state = next((each for each in _STATES if each in candidate.table.columns and (name, each) not in redacted), None)
    return ExampleEvent(name, noun, key_of(candidate), state)


def _noun(candidate: Candidate) -> str | None:
    words = words_of(candidate.name.table)
    last = words[-1] if words else ""
    noun = _PLURALS.get(last) or last.removesuffix("s")
    return noun if noun in _NOUNS else None

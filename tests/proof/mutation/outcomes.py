"""Count what became of mutants, by room."""

from collections.abc import Mapping
from typing import Any, Final, Literal

from tests.proof.mutation.mutants import Mutant, room_of

NAME: Final = "mutation"
"""The name of the saved file: its figures are the last run of each room."""
ENOUGH: Final = 0.95
"""The share of the faults that tests have to notice."""

Outcome = Literal["noticed", "survived", "unfinished"]
"""``unfinished``: no test failed in the time that was given, and some were left."""


class Outcomes:
    """The outcomes of a run so far."""

    def __init__(self) -> None:
        self._of: dict[Mutant, Outcome] = {}

    def note(self, mutant: Mutant, outcome: Outcome) -> None:
        """Count a mutant."""
        self._of[mutant] = outcome

    @property
    def is_enough(self) -> bool:
        """True if tests noticed what they have to."""
        return bool(self._of) and self._counts(self._of)["noticed"] >= ENOUGH * len(self._of)

    def words(self) -> str:
        """Each mutant that was not noticed, and the counts."""
        lines = [f"{outcome}: {mutant}" for mutant, outcome in self._of.items() if outcome != "noticed"]
        lines += [f"{room}: {each['noticed']} of {each['mutants']}" for room, each in self._rooms().items()]
        whole = self._counts(self._of)
        lines.append(f"{whole['noticed']} of {whole['mutants']} noticed, {whole['unfinished']} not in time")
        return "\n".join(lines)

    def figures(self) -> Mapping[str, Mapping[str, Any]]:
        """The counts of each room, and its mutants that were not noticed."""
        left: dict[str, list[str]] = {}
        for mutant, outcome in self._of.items():
            if outcome != "noticed":
                left.setdefault(room_of(mutant.file), []).append(f"{outcome}: {mutant}")
        return {room: {**counts, "left": sorted(left.get(room, []))} for room, counts in self._rooms().items()}

    def _rooms(self) -> Mapping[str, Mapping[str, int]]:
        rooms: dict[str, dict[Mutant, Outcome]] = {}
        for mutant, outcome in self._of.items():
            rooms.setdefault(room_of(mutant.file), {})[mutant] = outcome
        return {room: self._counts(rooms[room]) for room in sorted(rooms)}

    @staticmethod
    def _counts(outcomes: Mapping[Mutant, Outcome]) -> Mapping[str, int]:
        found = list(outcomes.values())
        return {
            "mutants": len(found),
            "noticed": found.count("noticed"),
            "survived": found.count("survived"),
            "unfinished": found.count("unfinished"),
        }

"""Compare figures of two parts of a run that had the same load, to find those that grow."""

from collections.abc import Mapping
from typing import Final

MARGIN: Final = 1.25
"""The most that a figure may differ, for instance by what falls between two runs of autovacuum."""


def grown(before: Mapping[str, float], after: Mapping[str, float], *, slack: float) -> list[str]:
    """The names whose largest figure ``after`` is more than ``MARGIN`` times the one ``before``, and ``slack`` more."""
    return sorted(name for name in after if after[name] > MARGIN * before.get(name, 0.0) + slack)

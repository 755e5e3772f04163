"""Chances of tests, the same in each usual run."""

import os
from random import Random
from typing import Final

SEED: Final = "SVC_TEST_SEED"
"""The variable that gives the chances of a run another seed, as ``python -m tests.proof`` does."""


def chance(usual: int) -> Random:
    """Chances with this seed, to which that of the run is added."""
    return Random(usual + int(os.environ.get(SEED, "0")))

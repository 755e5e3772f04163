"""The work that one page may spend on comparisons: counted, not timed, so that a page shows the same each time."""

from typing import Final

STEPS: Final = 200_000
"""Of a page: a step compares two elements, or handles one of a list."""
STEPS_AT_ONCE: Final = 20_000
"""Of one comparison of two sequences."""
ROWS: Final = 300
"""The paths and lines that a page shows of values that have several."""
MOST_OF_A_VALUE: Final = 60
"""Those of one value; the others are counted."""
MOST_IN_A_LIST: Final = 12
"""Those of one value on a page of several entries."""
_READ_IN_A_STEP: Final = 8
"""Elements that are only read, without a loop of ours."""


class Work:
    """The rest that a page may use: steps of comparisons, and rows to show, of one value at ``most`` so many."""

    def __init__(self, *, steps: int = STEPS, rows: int = ROWS, most: int = MOST_OF_A_VALUE) -> None:
        self.steps, self.rows, self._most = steps, rows, most

    @property
    def allowance(self) -> int:
        """The steps that the next comparison may take."""
        return max(0, min(self.steps, STEPS_AT_ONCE))

    def spend(self, steps: int) -> None:
        """Note steps that were taken."""
        self.steps -= steps

    def can_handle(self, elements: int) -> bool:
        """Spend a step for each of some elements; False, and nothing is spent, if fewer are left."""
        if elements > self.steps:
            return False
        self.steps -= elements
        return True

    def can_read(self, elements: int) -> bool:
        """As ``can_handle``, for elements that are only read."""
        return self.can_handle(1 + elements // _READ_IN_A_STEP)

    def show(self, rows: int) -> int:
        """The number of ``rows`` of one value that may be shown, which are then shown."""
        shown = max(0, min(rows, self.rows, self._most))
        self.rows -= shown
        return shown

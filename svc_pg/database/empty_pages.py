"""The words about a page of a list that has no rows, while others may follow."""

from typing import Final

NOTHING_YET: Final = "Nothing found up to here"


def looked_at(who: str, most: int, things: str, *, is_backward: bool = False) -> str:
    """Sentences that say how far somebody looked: ``A page`` looks at up to 10,000 ``deliveries``."""
    others = "Newer" if is_backward else "Older"
    return f"{who} looks at up to {most:,} {things} at a time. {others} ones may match too."

"""The ids that the log of SQLite, MySQL and MariaDB gives to entries."""

from typing import Final

HIGHEST_ID: Final = 2**53
"""The highest id that JSON's numbers hold. No log counts that far: a million entries a second take 285 years."""


def beyond(highest: int) -> str:
    """The reason to renumber a log with this next or highest id."""
    return (
        f"somebody chose an id, and the log counts on from {highest}: at the end of its counter, every write of audited"
        " tables fails; install gives such entries new ids"
    )

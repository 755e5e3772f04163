"""The words of the command ``verify`` about the timestamps of seals: what they prove, and what they do not."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from svc_pg.audit import Verification
from svc_pg.formats import durations
from svc_pg.formats.plurals import counted
from svc_pg.seals.database.timestamp_coverage import StampDelay

from . import records


def stamp_words(found: Verification, within: timedelta) -> Iterator[str]:
    """The sentences about the timestamps that were verified, or that were not."""
    if found.unverified_timestamps:
        were = "was" if found.unverified_timestamps == 1 else "were"
        yield (
            f"{counted(found.unverified_timestamps, 'timestamp')} {were} not verified: SVC_SEAL_TIMESTAMP_CA names the"
            " authority's certificates."
        )
    if found.stamped_seal is None or found.stamped_at is None or found.first_delay is None:
        return
    yield (
        f"{counted(found.timestamps or 0, 'timestamp')}; by the last one, the seals up to"
        f" {found.stamped_seal.number} were there at {records.minute(found.stamped_at)}."
    )
    yield from _delays(found, found.first_delay, found.later_delay, within)


def _delays(found: Verification, first: StampDelay, later: StampDelay | None, within: timedelta) -> Iterator[str]:
    number = found.first_stamped.number if found.first_stamped else 0
    if first.delay <= within:
        longest = first if later is None or later.delay < first.delay else later
        yield f"Each of them got its timestamp within {_text(longest)} of the time that it says."
        return
    yield (
        f"The first timestamp came {_text(first)} after the time that seal {first.seal.number} says: nothing proves"
        f" when the seals up to {number} were made before that."
    )
    if later is not None:
        yield f"The seals after {number} got theirs within {_text(later)} of the time that they say."


def delay_json(delay: StampDelay | None) -> dict[str, Any] | None:
    """The member of the JSON document."""
    return None if delay is None else {"seal": delay.seal.number, "delay": delay.delay}


def _text(delay: StampDelay) -> str:
    return durations.rounded(delay.delay.total_seconds())

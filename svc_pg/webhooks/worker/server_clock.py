"""Follow the clock of the database's server if it was set back, so that nothing waits until it has caught up."""

import logging
from typing import Final, LiteralString

from svc_pg.database.effects import Effects, Statement
from svc_pg.formats.plurals import counted

_log = logging.getLogger(__name__)

_BATCH: Final = 1000
_TOLERANCE: Final = 5.0  # seconds, as the database has it
_FOLLOW: Final[LiteralString] = """
select mended, lane::text, endpoint_id, next_attempt_at::text, delivery_id
  from svc.webhook_follow_clock(%s, %s, %s, %s, %s)
"""


def follow() -> Effects[int]:
    """Let deliveries, leases and breakers of the future wait again from now; the number of deliveries, which it logs.

    Each statement looks at 1000 deliveries at most, so run it in autocommit.
    """
    mended: int = 0
    position: tuple[object, ...] = (None, None, None, None)
    while True:
        [(rows, *reached)] = yield Statement(_FOLLOW, (_BATCH, *position))
        mended += rows
        position = tuple(reached)
        if position[-1] is None:
            break
    if mended:
        _log.warning(
            "the clock of the database's server was set back; wait again from now: %s", counted(mended, "delivery")
        )
    return mended


def may_be_set_back(before: float | None, now: float | None) -> bool:
    """True if the server's time ``now`` is earlier than ``before`` by more than 5 s, both in unix seconds.

    If there is none ``before``, it may have been set back before the worker began.
    """
    return now is not None and (before is None or now < before - _TOLERANCE)

"""The transactions that hold back readers of the log, or vacuum, for the command ``status``."""

from collections.abc import Sequence
from typing import Any, assert_never

from svc_pg.database.query import fetch
from svc_pg.formats import durations
from svc_pg.status.horizon_holders import HorizonHolder, horizon_holders

from .. import output
from ..optional_read import optional_read


def read_holders(conn: Any) -> list[HorizonHolder]:
    """The holders: none if they cannot be read."""
    return optional_read(conn, lambda conn: fetch(conn, horizon_holders()), [])


def tell(holders: Sequence[HorizonHolder]) -> None:
    """Print a line for each long-lasting one."""
    for holder in holders:
        if holder.is_long:
            waiting = "Exports, seals and followers of the log wait" if holder.holds_log else "Vacuum waits"
            output.words(f"{waiting} for {described(holder)}; {holder.transactions:,} transactions have begun since.")


def described(holder: HorizonHolder) -> str:
    """The holder in words."""
    match holder.kind:
        case "hidden":
            return "a session that this role may not see (grant it pg_read_all_stats)"
        case "slot":
            return f"replication slot {holder.name}, which is {holder.state}"
        case "prepared":
            return _whose(f'prepared transaction "{holder.name}"', holder)
        case "session":
            name = f' of "{holder.name}"' if holder.name else ""
            return _whose(f"session {holder.pid}{name}", holder)
        case _:
            assert_never(holder.kind)


def _whose(name: str, holder: HorizonHolder) -> str:
    whose = ", ".join(
        f"{word} {value}" for word, value in (("user", holder.user), ("database", holder.database)) if value
    )
    opened = "" if holder.seconds is None else f", open for {durations.rounded(holder.seconds)}"
    return f"{name}{f' ({whose})' if whose else ''}{f', {holder.state}' if holder.state else ''}{opened}"

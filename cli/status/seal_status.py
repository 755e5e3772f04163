"""The lag of the seals, their copies and the last verification, for the command ``status``."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any, Final

import psycopg

from svc_pg import audit
from svc_pg.audit import LastVerification, SealLag
from svc_pg.database.query import fetch, fetch_one
from svc_pg.formats import durations
from svc_pg.formats.plurals import counted
from svc_pg.status.seal_destinations import SealDestination, seal_destinations
from svc_pg.status.webhooks_installed import webhooks_installed

from .. import output, records
from ..optional_read import optional_read


@dataclass(frozen=True, slots=True)
class SealStatus:
    """The known facts about the seals: None if there are no seals, or if the role may not read them."""

    lag: SealLag | None
    verification: LastVerification | None
    destinations: Sequence[SealDestination] = ()


NONE: Final = SealStatus(None, None)


def read_seals(conn: Any) -> SealStatus:
    """Read all of them."""
    return SealStatus(
        optional_read(conn, audit.seal_lag, None),
        optional_read(conn, audit.last_verification, None),
        _read_destinations(conn),
    )


def _read_destinations(conn: Any) -> Sequence[SealDestination]:
    try:
        return optional_read(conn, _destinations, [])
    except psycopg.Error as error:
        output.words(f"The destinations of copies cannot be read: {records.text(str(error))}.")
        return []


def _destinations(conn: Any) -> list[SealDestination]:
    return fetch(conn, seal_destinations(has_webhooks=fetch_one(conn, webhooks_installed())))


def as_json(status: SealStatus) -> dict[str, Any]:
    """The members of the JSON document of status."""
    lag, last = status.lag, status.verification
    return {
        "seals": lag and {"last": lag.number, "sealedAt": lag.sealed_at, "lag": lag.lag},
        "sealDestinations": status.destinations,
        "verification": last
        and {
            "verifiedAt": last.verified_at,
            "secondsAgo": last.age,
            "firstSeal": last.first_seal,
            "lastSeal": last.last_seal,
            "entries": last.entries,
            "unsealed": last.unsealed,
            "findings": last.findings,
            "isComplete": last.is_complete,
            "hasCopies": last.has_copies,
            "timestamps": last.timestamps,
            "unverifiedTimestamps": last.unverified_timestamps,
            "keys": last.keys,
            "verifiedBy": last.verified_by,
        },
    }


def tell(status: SealStatus) -> None:
    """Print a line for each."""
    lag, last = status.lag, status.verification
    if lag is not None:
        seconds = ceil(lag.lag.total_seconds())
        age = f"; the oldest entry without one is {durations.rounded(seconds)} old" if seconds else ""
        output.words(f"The last seal of the audit log is {lag.number}, of {records.minute(lag.sealed_at)}{age}.")
    for each in status.destinations:
        problem = f": {records.text(each.problem)}" if each.problem else ""
        output.words(f"{records.text(each.name)} ({each.kind}) {_behind(each)}{problem}.")
    if last is not None:
        output.words(
            f"{_seals(last)} verified at {records.minute(last.verified_at)} by {records.text(last.verified_by)}"
            f"{', with copies' if last.has_copies else ''}{_timestamps(last)}: {_result(last)}."
        )
    elif lag is not None:
        output.words("No verification of it is recorded: svc-pg verify.")


def _behind(each: SealDestination) -> str:
    if each.kind != "timestamps":
        return f"lacks {counted(each.waiting, 'seal')}" if each.waiting else "has all seals"
    covered = "has stamped no seal" if each.last_seal is None else f"has stamped the seals up to {each.last_seal}"
    return f"{covered}; {counted(each.waiting, 'newer one')} to come" if each.waiting else covered


def _seals(last: LastVerification) -> str:
    return "It was" if last.first_seal is None else f"Seals {last.first_seal} to {last.last_seal} were"


def _timestamps(last: LastVerification) -> str:
    if last.unverified_timestamps:
        return f", without {counted(last.unverified_timestamps, 'timestamp')}"
    return f", with {counted(last.timestamps, 'timestamp')}" if last.timestamps else ""


def _result(last: LastVerification) -> str:
    if not last.findings:
        return "all was as it was sealed"
    return counted(last.findings, "finding") if last.is_complete else f"{last.findings:,} or more findings"

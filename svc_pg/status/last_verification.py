"""The last verification of the audit log that was recorded, for status, metrics and pages."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, Final

from svc_pg.database.query import Query
from svc_pg.formats.doc import Doc

_READ: Final = """
select verified_at, clock_timestamp() - verified_at as age, first_seal, last_seal, entries, unsealed, findings,
       is_complete, has_copies, keys, verified_by,
       timestamps, unverified_timestamps
  from svc.audit_verifications order by id desc limit 1
"""


@dataclass(frozen=True, slots=True)
class LastVerification:
    """The last recorded verification, with the result that its program reported."""

    verified_at: Annotated[datetime, Doc("The time at which it ended.")]
    age: Annotated[timedelta, Doc("The time since then.", 3600.0)]
    first_seal: Annotated[int | None, Doc("The first seal that it compared; null if there was none.", 1)]
    last_seal: Annotated[int | None, Doc("The last one; null if there was none.", 9)]
    entries: Annotated[int, Doc("The number of entries that were as they were sealed.", 15000)]
    unsealed: Annotated[int, Doc("The number of entries without a seal.", 12)]
    findings: Annotated[int, Doc("The number of differences; 0 if all was as it was sealed.", 0)]
    is_complete: Annotated[bool, Doc("False if many findings ended it early.")]
    has_copies: Annotated[bool, Doc("True if it also compared copies that were kept outside.")]
    keys: Annotated[list[str], Doc("The ids of the public keys with which it verified.", ["2026-01"])]
    verified_by: Annotated[str, Doc("The actor who verified, or else the role.", "ann@corp.example")]
    timestamps: Annotated[int | None, Doc("The number of good timestamps of seals; null if it verified none.", 24)] = (
        None
    )
    unverified_timestamps: Annotated[
        int, Doc("The number of timestamps that it left unverified, for lack of the authority's certificates.", 0)
    ] = 0


LAST_VERIFICATION: Final = Query(_READ, (), LastVerification)
"""The query of it: no row if there is none."""

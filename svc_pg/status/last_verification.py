"""The last verification of the audit log that was recorded, for status, metrics and pages."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from svc_pg.database.query import Query

_READ: Final = """
select verified_at, clock_timestamp() - verified_at as age, first_seal, last_seal, entries, unsealed, findings,
       is_complete, has_copies, keys, verified_by
  from svc.audit_verifications order by id desc limit 1
"""


@dataclass(frozen=True, slots=True)
class LastVerification:
    """The last recorded verification, with the result that its program reported.

    It compared the seals from ``first_seal`` to ``last_seal``, which are None if there were none, with the public
    ``keys`` of these ids, and with copies if it ``has_copies``. ``findings`` counts the differences.
    """

    verified_at: datetime
    age: timedelta
    first_seal: int | None
    last_seal: int | None
    entries: int
    unsealed: int
    findings: int
    is_complete: bool
    has_copies: bool
    keys: list[str]
    verified_by: str


LAST_VERIFICATION: Final = Query(_READ, (), LastVerification)
"""The query of it: no row if there is none."""

"""An entry that an application writes itself, about an event that no trigger sees."""

from collections.abc import Sequence
from dataclasses import dataclass

from svc_pg.database.query import RawJson


@dataclass(frozen=True, slots=True)
class ManualEntry:
    """The fields that its writer gives; the time, actor, tenant and context are those of the transaction.

    ``before`` and ``after`` are JSON objects.
    """

    table_name: str
    operation: str
    record_id: str | None = None
    before: RawJson | None = None
    after: RawJson | None = None
    label: str | None = None
    severity: str | None = None
    compliance: Sequence[str] = ()
    description: str | None = None

"""A row of a table as it was at a time."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any

from svc_pg.audit.log.entry import (
    ACTOR,
    DB_USER,
    ENTRY_ID,
    ERASED,
    OPERATION,
    RECORD,
    REDACTED,
    TENANT,
    XACT,
    Operation,
)
from svc_pg.audit.log.snapshot import Snapshot, read_snapshots
from svc_pg.formats.doc import Doc


@dataclass(frozen=True, slots=True)
class PastRow:
    """A row as it was. The change that left it so is None if it was before the first entry of the row."""

    record_id: Annotated[str, RECORD]
    valid_from: Annotated[
        datetime | None, Doc("The time from which the row was so; null if it was before the first entry of the row.")
    ]
    operation: Annotated[Operation | None, OPERATION]
    actor_id: Annotated[str | None, ACTOR]
    tenant_id: Annotated[str | None, TENANT]
    db_user: Annotated[str | None, DB_USER]
    entry_id: Annotated[str | None, ENTRY_ID]
    xact_id: Annotated[str | None, XACT]
    redacted_fields: Annotated[list[str] | None, REDACTED]
    unknown_fields: Annotated[
        list[str] | None,
        Doc(
            "The columns whose value then is unknown, because the column is newer, was redacted, or has changed its"
            " type; their value is null.",
            ["loyalty"],
        ),
    ]
    other_data: Annotated[
        Snapshot | None,
        Doc(
            "Recorded values without a column: of renamed or dropped columns, values that do not fit the present"
            " type, and the markers of redacted ones.",
            {"fax": "+49 30 1"},
        ),
    ]
    values: Annotated[
        dict[str, Any],
        Doc("The columns that the table has now, each with a value of its type.", {"id": 42, "name": "Ann"}),
    ]

    def __post_init__(self) -> None:
        read_snapshots(self)

    @property
    def is_erased(self) -> bool:
        """True if ``svc_pg.audit.erase`` erased the row's values."""
        return self.redacted_fields == ["*"] and str(self.other_data) == ERASED

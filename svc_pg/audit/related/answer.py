"""The answer: tables and how far they were looked at, records, changes, and states at chosen times."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Literal

from svc_pg.audit.log.entry import ENTRY_ID, OPERATION, RECORD, TABLE, XACT, Operation
from svc_pg.audit.past.tracks import TrackActor, TrackValue
from svc_pg.formats.doc import Doc

Reach = Literal["whole", "newest", "not_audited", "not_looked_at"]
Presence = Literal["there", "not_there", "not_known"]


@dataclass(frozen=True, slots=True)
class RelatedTable:
    """A foreign key by which rows refer to the record, or to rows that do."""

    table: Annotated[str, TABLE]
    columns: Annotated[list[str], Doc("The columns that refer.", ["customer_id"])]
    refers_to: Annotated[str, Doc("The table to which they refer.", "public.customer")]
    step: Annotated[int, Doc("1 if its rows refer to the record, 2 if they refer to rows that do.", 1)]
    reach: Annotated[
        Reach,
        Doc(
            "`whole` if all of its entries were looked at, or found by an index; `newest` if only those since"
            " `backTo`; `not_audited`; `not_looked_at` if it is one table too many, has too many columns, or if nothing"
            " that it could refer to was found."
        ),
    ]
    looked_at: Annotated[int | None, Doc("The number of entries looked at; null if that is not told.", 10000)]
    back_to: Annotated[
        datetime | None, Doc("The time of the oldest entry looked at; null if all were, or that is not told.")
    ]
    unnamed: Annotated[
        int | None,
        Doc(
            "The number of entries among them that do not tell the columns: redacted, not recorded, or of another name"
            " then; null if that is not told.",
            0,
        ),
    ]
    has_more: Annotated[bool, Doc("True if it may refer to more records than were looked for, or has more entries.")]


@dataclass(frozen=True, slots=True)
class RelatedRecord:
    """The record itself, or one that referred to it."""

    table: Annotated[str, TABLE]
    record_id: Annotated[str, RECORD]
    step: Annotated[int, Doc("0 for the record itself, 1 if it referred to that, 2 if it referred to one of those.", 1)]
    changes: Annotated[int, Doc("The number of its changes in this answer.", 2)]


@dataclass(frozen=True, slots=True)
class RelatedField:
    """A field that a change set."""

    field: Annotated[str, Doc("The name of the field.", "status")]
    before: Annotated[TrackValue, Doc("The value before it.")]
    after: Annotated[TrackValue, Doc("The value after it.")]


@dataclass(frozen=True, slots=True)
class RelatedChange:
    """A change of one of the records, or of a row without a key."""

    entry_id: Annotated[str, ENTRY_ID]
    xact_id: Annotated[str, XACT]
    time: Annotated[datetime, Doc("The time of the change; of one that was found, the time of the comparison.")]
    table: Annotated[str, TABLE]
    record_id: Annotated[str | None, RECORD]
    step: Annotated[int, Doc("The step of its record.", 1)]
    operation: Annotated[Operation, OPERATION]
    actor: Annotated[int, Doc("The position of its actor in `actors`, from 0.", 0)]
    fields: Annotated[list[RelatedField], Doc("The first fields that it changed.")]
    field_count: Annotated[int, Doc("The number of all of them.", 2)]
    joins: Annotated[bool, Doc("True if its row began to refer to the record, or to one that does, by this change.")]
    leaves: Annotated[bool, Doc("True if its row no longer referred to it after this change, and was still there.")]
    is_erased: Annotated[bool, Doc("True if the values of the entry were erased.")]


@dataclass(frozen=True, slots=True)
class StateField:
    """A field of a record at a time."""

    field: Annotated[str, Doc("The name of the field.", "status")]
    value: Annotated[TrackValue, Doc("Its value.")]


@dataclass(frozen=True, slots=True)
class RelatedState:
    """A record at a time."""

    record: Annotated[int, Doc("The position of the record in `records`, from 0.", 1)]
    state: Annotated[
        Presence, Doc("`there`; `not_there`; `not_known` if the log does not know its table then, or has no states.")
    ]
    belongs: Annotated[bool, Doc("True of the record itself, and of one that then referred to it, or to one that did.")]
    fields: Annotated[list[StateField], Doc("Its first fields.")]
    field_count: Annotated[int, Doc("The number of all of them.", 7)]


@dataclass(frozen=True, slots=True)
class RelatedStates:
    """The records at one time."""

    time: Annotated[datetime, Doc("The time.")]
    states: Annotated[list[RelatedState], Doc("The state of each record.")]


@dataclass(frozen=True, slots=True)
class RelatedHistory:
    """The changes of a record and of the rows that referred to it then, newest first."""

    tables: Annotated[list[RelatedTable], Doc("The foreign keys, and how far the entries of each were looked at.")]
    actors: Annotated[list[TrackActor], Doc("Those who made the changes.")]
    records: Annotated[
        list[RelatedRecord], Doc("The records, the one asked about first, then those with the newest changes.")
    ]
    record_count: Annotated[int, Doc("The number of all records that were found.", 4)]
    changes: Annotated[list[RelatedChange], Doc("The changes, the newest first.")]
    states: Annotated[list[RelatedStates], Doc("The states of the records at the times asked for.")]
    next_cursor: Annotated[
        str | None,
        Doc(
            "The cursor for what is further back; null if there is nothing. Changes of tables that were looked at"
            " further than others come again.",
            "eyJpIjo3fQ",
        ),
    ]

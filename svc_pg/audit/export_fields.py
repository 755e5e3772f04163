"""An export of the audit log: its formats, its fields and its report, for every database."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, LiteralString, get_args

Format = Literal["json", "ndjson", "csv"]

FORMATS: Final[Sequence[Format]] = get_args(Format)
PROGRESS_EVERY: Final = 10_000  # entries
HEADS: Final[dict[Format, bytes]] = {"json": b"[", "ndjson": b"", "csv": b""}
TAILS: Final[dict[Format, bytes]] = {"json": b"]\n", "ndjson": b"", "csv": b""}

# The fields of Entry under the names of the API, each with its expression
FIELDS: Final[dict[LiteralString, LiteralString]] = {
    "id": "id::text",
    "timestamp": """to_char("timestamp" at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')""",
    "tableName": "table_name",
    "operation": "operation",
    "recordId": "record_id",
    "actorId": "actor_id",
    "tenantId": "tenant_id",
    "dbUser": "db_user",
    "dbRole": "db_role",
    "beforeData": "before_data",
    "afterData": "after_data",
    "changedFields": "changed_fields",
    "label": "label",
    "severity": "severity",
    "compliance": "compliance",
    "description": "description",
    "redactedFields": "redacted_fields",
    "context": "context",
    "xactId": "xact_id::text",
}
ARRAYS: Final = frozenset({"changedFields", "compliance", "redactedFields"})
FREE_TEXTS: Final = frozenset(
    {"tableName", "recordId", "actorId", "tenantId", "dbUser", "dbRole", "label", "description"}
)


@dataclass(frozen=True, slots=True)
class ExportReport:
    """The number of entries written, and of those ``held_back`` because older ones may still appear before them.

    An export with ``after=horizon`` continues exactly at the end of this one: without a gap and without a duplicate,
    also in a copy of the database that was restored from a dump since.
    """

    entries: int
    held_back: int
    horizon: str

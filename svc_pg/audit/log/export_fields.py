"""An export of the audit log: its formats, its fields and its report, for every database."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, LiteralString, NamedTuple, get_args

TextFormat = Literal["json", "ndjson", "csv"]
Format = Literal["json", "ndjson", "csv", "parquet"]

FORMATS: Final[Sequence[Format]] = get_args(Format)

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
    "partition": "partition",
}
ARRAYS: Final = frozenset({"changedFields", "compliance", "redactedFields"})
FREE_TEXTS: Final = frozenset(
    {"tableName", "recordId", "actorId", "tenantId", "dbUser", "dbRole", "label", "description", "partition"}
)


class Shape(NamedTuple):
    """The bytes around the records of a file: each has an ``end``, and the first a ``head`` or ``first`` before it."""

    head: bytes = b""
    first: bytes = b""
    separator: bytes = b""
    end: bytes = b"\n"
    tail: bytes = b""

    def part(self, records: Sequence[bytes], *, is_first: bool) -> bytes:
        """Some records as they stand in the file, after its head if ``is_first``."""
        before = self.head if is_first else b""
        if not records:
            return before
        before += self.first if is_first else self.separator
        return before + (self.end + self.separator).join(records) + self.end


SHAPES: Final[dict[TextFormat, Shape]] = {
    "json": Shape(head=b"[", first=b"\n", separator=b",", tail=b"]\n"),
    "ndjson": Shape(),
    "csv": Shape(head=",".join(FIELDS).encode() + b"\r\n", end=b"\r\n"),
}


@dataclass(frozen=True, slots=True)
class ExportReport:
    """The number of entries written, and of those ``held_back`` because older ones may still appear before them.

    An export with ``after=horizon`` continues exactly at the end of this one: without a gap and without a duplicate,
    also in a copy of the database that was restored from a dump since.
    """

    entries: int
    held_back: int
    horizon: str


@dataclass(frozen=True, slots=True)
class Lines:
    """Some complete lines, perhaps none, and the cursor after them; ``is_end`` if there are no more at the moment."""

    text: bytes
    entries: int
    cursor: str
    is_end: bool

    @classmethod
    def of(cls, records: Sequence[bytes], cursor: str, *, is_end: bool) -> "Lines":
        """Records of NDJSON as lines."""
        return cls(SHAPES["ndjson"].part(records, is_first=True), len(records), cursor, is_end)

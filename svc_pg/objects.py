"""Functions and triggers as values: what the installer makes of them is in svc_pg.schema."""

from dataclasses import dataclass
from hashlib import sha256
from typing import Literal

ObjectKind = Literal["function", "trigger"]


@dataclass(frozen=True, slots=True)
class SchemaObject:
    """One function or trigger and the SQL that creates or replaces it.

    ``identity`` is ``svc.name`` for a function and ``name on schema.table`` for a trigger. ``audited_table`` is set for
    those that record the changes of an application's table.
    """

    kind: ObjectKind
    identity: str
    sql: str
    audited_table: str | None = None

    @property
    def source_sha256(self) -> str:
        """The fingerprint of the SQL."""
        return sha256(self.sql.encode()).hexdigest()

"""A database's side of a comparison: what the loop over pieces asks of it."""

from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, LiteralString, Protocol

from svc_pg.capture.rules import TableRules
from svc_pg.config import Config
from svc_pg.database.effects import Effects, Statement
from svc_pg.errors import ConflictError
from svc_pg.other_databases.log.log_dialects import LogDialect

RowKey = Sequence[Any]
"""The place of a row in the order of its table, as values of JSON."""


@dataclass(frozen=True, slots=True)
class State:
    """The last entry of a record, and the image with which it ends; None if the record ended."""

    id: int
    at: datetime
    image: str | None
    redacted: str | None


@dataclass(frozen=True, slots=True)
class Kept:
    """The image of an entry without the fields that are redacted since, and all that are redacted then or now."""

    image: str | None
    redacted: str
    left_out: Sequence[str]


@dataclass(frozen=True, slots=True)
class Row:
    """A row: ``is_wanted`` if the rules record it, ``is_suspect`` if its last entry does not say the same."""

    key: RowKey
    record: str | None
    is_wanted: bool
    is_suspect: bool


class TableSide(Protocol):
    """One table. The statements of one call of the loop share a transaction."""

    @property
    def rules(self) -> TableRules:
        """The table and its rules."""

    def begin(self, *, locks: bool) -> Effects[None]:
        """The first step of each transaction: what was read in others counts no longer.

        Unless it ``locks`` rows, the table is not emptied from now on until the transaction ends.
        """

    def unkeyed(self) -> Effects[int | None]:
        """The number of rows that ``rows`` never gives, because their key is null; None if it takes too long."""

    def last(self) -> Effects[RowKey | None]:
        """The last row in the order of their keys; None if there is none."""

    def rows(self, after: RowKey | None, upto: RowKey, limit: int) -> Effects[list[Row]]:
        """The next rows in that order."""

    def lock(self, keys: Sequence[RowKey]) -> Effects[None]:
        """Keep writers off these rows until the transaction ends, if its beginning does not do so."""

    def row(self, key: RowKey) -> Effects[tuple[Row, str] | None]:
        """One row and its image, if it is still there."""

    def live(self, records: Collection[str], *, locks: bool) -> Effects[set[str]]:
        """Those of the records that the table has; ``locks`` keeps them, or their absence, until the end.

        A record of which nothing tells if a row has it, because of a null in its key, is among them.
        """

    def states(self, record: str) -> Effects[Sequence[State]]:
        """The last states of a record; more than one if a clock that was set back makes that ambiguous."""

    def image_of(self, known: int) -> Effects[tuple[str | None, str | None]]:
        """The image with which an entry ends, and its redacted fields."""

    def snapshot(
        self, key: RowKey, kind: str, known: int | None, fields: Sequence[str] | None, kept: Kept | None
    ) -> Statement:
        """Write a SNAPSHOT of a row; ``known`` is the id of the entry with its image before, unless ``kept`` has it."""

    def gone(self, known: int, kept: Kept | None) -> Statement:
        """Write that a record is gone."""


def no_unique_index(rules: TableRules) -> str:
    """The problem of a table two of whose rows may have the same record."""
    columns = ", ".join(rules.key)
    return f"nothing tells its rows apart: no unique index of whole columns lies within the key ({columns})"


def too_large(record: str) -> ConflictError:
    """The problem of a table with a row whose image the server cannot make, so that it can be neither same nor not."""
    hint = "raise max_allowed_packet of the server, or set max_value_bytes"
    return ConflictError(f"the row {record[:100]} has an image above max_allowed_packet", hint=hint)


@dataclass(frozen=True, slots=True)
class AuditedSide:
    """A table that is compared, or the ``problem`` that forbids it; and its ``triggers``, each with its digest."""

    side: TableSide
    problem: str | None
    triggers: Mapping[str, str]

    def check(self, installed_objects: LiteralString) -> Effects[None]:
        """Raise ConflictError if these are not its triggers: it records otherwise than its configuration says."""
        marks: LiteralString = ", ".join(["%s"] * len(self.triggers))
        text: LiteralString = "select identity, source_sha256 from " + installed_objects  # noqa: S608
        found = yield Statement(text + " where kind = 'trigger' and identity in (" + marks + ")", (*self.triggers,))
        if dict(found) != self.triggers:
            raise ConflictError(
                "its triggers were not made for the configuration and the table as they are now",
                hint="run svc-pg install, or name the configuration that is installed",
            )


class Side(Protocol):
    """One database."""

    @property
    def dialect(self) -> LogDialect:
        """The SQL of the log."""

    @property
    def looks(self) -> Sequence[LiteralString]:
        """The beginning of a transaction that sees one state."""

    @property
    def writes(self) -> Sequence[LiteralString]:
        """The beginning of a transaction that writes."""

    @property
    def sizes(self) -> str:
        """The words for what is compared of large values."""

    @property
    def hash_key(self) -> LiteralString:
        """The table with the key of hashes."""

    @property
    def installed_objects(self) -> LiteralString:
        """The table with the triggers that an install made."""

    @property
    def entries_by_time(self) -> LiteralString:
        """The log, to be read by table and time."""

    def session(self) -> AbstractContextManager[None]:
        """Enter to have the settings with which triggers write, on a connection outside a transaction."""

    def tables(self, config: Config) -> dict[str, AuditedSide]:
        """The audited tables by name. Raises as an install."""

    def default_schema(self) -> str:
        """The schema of tables without one."""

    def omissions(self, table: str) -> Effects[tuple[bool, Sequence[str]]]:
        """If rules once left changes of the table out, and the columns that they once ignored."""

    def purged_before(self, table: str) -> Effects[datetime | None]:
        """The time before which entries of the table were purged."""

    def repairing(self) -> AbstractContextManager[bool]:
        """Enter to keep other repairs off; false if one is at work."""

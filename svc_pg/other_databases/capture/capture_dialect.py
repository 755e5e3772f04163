"""The SQL expressions that turn rules into triggers, as an interface for databases other than PostgreSQL."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, Protocol

from svc_pg.config.audited_table import Redaction
from svc_pg.config.condition import Scalar, ValueTest
from svc_pg.rendering.sql_text import Sql, sql

Kind = Literal[
    "any", "number", "text", "boolean", "json", "bytes", "bits", "date", "datetime", "timestamp", "time", "shape"
]
RowName = Literal["old", "new"]
Operation = Literal["INSERT", "UPDATE", "DELETE"]

Variable = Literal["actor_id", "tenant_id", "rule"]
"""A named fact in the templates of triggers."""

OPERATIONS: Final[tuple[Operation, ...]] = ("INSERT", "UPDATE", "DELETE")
VERBS: Final[dict[Operation, Sql]] = {"INSERT": sql("insert"), "UPDATE": sql("update"), "DELETE": sql("delete")}


@dataclass(frozen=True, slots=True)
class Column:
    """A column that triggers can see. ``digits`` is the number of bits, or of digits of a second's fraction.

    On SQLite a column is of kind ``any`` unless it is boolean or JSON: it holds values of every type.
    """

    name: str
    kind: Kind
    digits: int = 0


class CaptureDialect(Protocol):
    """The SQL of one database. A ``row`` is the trigger's old or new one. Tests are true or false, never null."""

    def ident(self, name: str) -> Sql:
        """Quote one identifier."""

    def literal(self, value: Scalar | None) -> Sql:
        """Quote a value."""

    def variable(self, name: Variable) -> Sql:
        """The name of a fact in the templates, which cannot be confused with a column."""

    def json(self, row: RowName, column: Column) -> Sql:
        """The value as ``json_object`` takes it."""

    def text(self, row: RowName, column: Column) -> Sql:
        """The value as text for a description or a record_id; null if it is null."""

    def redacted(self, row: RowName, column: Column, how: Redaction) -> Sql:
        """The value in the column's place, as ``json_object`` takes it; not called for ``remove``."""

    def capped_json(self, row: RowName, column: Column, limit: int) -> Sql:
        """As ``json``, or an object in place of a value whose JSON has more than ``limit`` bytes."""

    def capped_text(self, row: RowName, column: Column, limit: int) -> Sql:
        """As ``text``, or the text of that object."""

    def differs(self, column: Column) -> Sql:
        """True if the column changed, compared byte by byte, not by its collation."""

    def test(self, row: RowName, column: Column, test: ValueTest) -> Sql:
        """True if the value satisfies all tests of ``test``."""

    def object(self, members: Sequence[tuple[str, Sql]]) -> Sql:
        """A JSON object of these names and values."""

    def concat(self, parts: Sequence[Sql]) -> Sql:
        """A text of these, in which null is empty."""

    def if_else(self, condition: Sql, then: Sql, otherwise: Sql) -> Sql:
        """One of two values."""

    def composite_key(self, row: RowName, columns: Sequence[Column]) -> Sql:
        """The record_id of several columns: a JSON array, written as PostgreSQL writes it: ``[7, 2]``."""

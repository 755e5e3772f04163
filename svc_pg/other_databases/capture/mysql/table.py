"""A table of MySQL or MariaDB, as its triggers see it."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from svc_pg.capture.table import Table
from svc_pg.other_databases.capture.capture_dialect import Column


@dataclass(frozen=True, slots=True)
class MySqlColumn(Column):
    """A column, with the facts that its expressions depend on.

    It ``is_utf8`` if its texts need no conversion, ``is_float`` if it has single precision, ``is_padded`` if it prints
    leading zeros, ``is_large`` if a value may be too long for the functions that write JSON, and ``is_listed`` if its
    values are of an enum or a set. ``labels`` are those of an enum in the order of their numbers, which begin at 1;
    none if they are very many, odd or empty. ``charset`` and ``collation`` are those of a text.
    """

    is_utf8: bool = False
    is_float: bool = False
    is_padded: bool = False
    is_large: bool = False
    is_listed: bool = False
    labels: Sequence[str] = ()
    charset: str | None = None
    collation: str | None = None


@dataclass(frozen=True, slots=True)
class MySqlTable:
    """The facts of one table. ``constrained`` are the columns of its unique indexes and of its foreign keys.

    ``unique`` are the columns of each unique index of whole columns, the best first; a row with NULL in one of them is
    not unique, and ``nullable`` are those that may be NULL.
    """

    table: Table
    columns: Sequence[MySqlColumn]
    constrained: Sequence[str] = ()
    unique: Sequence[Sequence[str]] = ()
    nullable: Collection[str] = ()

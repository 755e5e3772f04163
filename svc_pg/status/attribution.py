"""The entries of the last day that have no actor, table by table: a sign that an actor never reaches a connection."""

from dataclasses import dataclass
from typing import Final

from svc_pg.database.query import Query
from svc_pg.database.statements import statement

_READ: Final = statement("queries/status/attribution.sql")


@dataclass(frozen=True, slots=True)
class Attribution:
    """The entries of a table among the newest 20,000 of the last day: all, and those without an actor.

    Entries of a backfill never have an actor, and do not count.
    """

    table_name: str
    entries: int
    without_actor: int

    @property
    def share(self) -> float:
        """The part of the entries that has no actor, from 0 to 1."""
        return self.without_actor / self.entries


def attribution() -> Query[Attribution]:
    """The first 200 tables, by name, that have entries. Run ``BY_INDEXES`` before it, in the same transaction."""
    return Query(_READ, (), Attribution)

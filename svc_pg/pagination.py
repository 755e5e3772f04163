"""Keyset pages: the rows after a cursor, which is the sort key of the last row seen."""

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final, LiteralString, TypeVar

from svc_pg import durations
from svc_pg.errors import QueryError

MAX_SIZE: Final = 1000

Row = TypeVar("Row")


@dataclass(frozen=True, slots=True)
class Selection:
    """The conditions of a query and the size of its page; every method returns a new one."""

    conditions: tuple[LiteralString, ...] = ()
    params: tuple[object, ...] = ()
    size: int = 100

    def where(self, condition: LiteralString, *params: object) -> "Selection":
        """One more condition, and its parameters."""
        return replace(self, conditions=(*self.conditions, condition), params=(*self.params, *params))

    def when(
        self, comparison: LiteralString, moment: str | timedelta | datetime, *, end: LiteralString = ""
    ) -> "Selection":
        """Compare with an aware datetime, or with a duration before the database's now such as ``1h``."""
        if isinstance(moment, datetime):
            if moment.tzinfo is None:
                raise QueryError(f"{moment} has no time zone", hint="Pass an aware datetime.")
            return self.where(comparison + " %s" + end, moment)
        try:
            return self.where(comparison + " now() - %s" + end, durations.parse(moment))
        except ValueError as error:
            raise QueryError(str(error)) from error

    def limit(self, size: int) -> "Selection":
        """At most so many rows."""
        if not 1 <= size <= MAX_SIZE:
            raise QueryError(f"a page cannot have {size} rows", hint=f"Ask for 1 to {MAX_SIZE}.")
        return replace(self, size=size)

    def statement(self, select: LiteralString, order: LiteralString) -> tuple[LiteralString, tuple[object, ...]]:
        """The statement and its parameters: one row more than the page, which tells whether there is another."""
        where: LiteralString = " where " + " and ".join(self.conditions) if self.conditions else ""
        return select + where + order + " limit %s", (*self.params, self.size + 1)

    def cut(self, rows: Sequence[Row], key: Callable[[Row], tuple[str, ...]]) -> tuple[list[Row], str | None]:
        """The rows of the page, and the cursor of the next one, or None on the last."""
        page = list(rows[: self.size])
        return page, _encode(key(page[-1])) if len(rows) > self.size else None


EVERYTHING: Final = Selection()
"""No conditions, and a page of 100 rows."""


def _encode(key: tuple[str, ...]) -> str:
    return urlsafe_b64encode(json.dumps(key).encode()).decode().rstrip("=")


def decode(cursor: str, *readers: Callable[[str], Row]) -> list[Row]:
    """The sort key in a cursor, each part read by its reader. Raises QueryError for anything that is not a cursor."""
    try:
        key = json.loads(urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
        if isinstance(key, list) and all(isinstance(part, str) for part in key):
            return [read(part) for read, part in zip(readers, key, strict=True)]
    except (ValueError, RecursionError):
        pass
    raise QueryError(f"{cursor!r} is not a cursor", hint="Pass the cursor that came with the page before, unchanged.")

"""Lists of sessions and tokens: newest first, live or ended."""

from collections.abc import Callable, Mapping
from typing import Annotated, Final, Literal, LiteralString, TypedDict, TypeVar
from uuid import UUID

from svc_pg.database.filters import Selects
from svc_pg.database.pagination import Keyset, aware_time, decode
from svc_pg.errors import QueryError
from svc_pg.formats.doc import Doc

PERMISSION: Final = Doc("The greatest permission of it; each includes those before it.")
TENANT: Final = Doc("The only tenant that it reaches; null if it reaches all.", "acme")
MADE_AT: Final = Doc("The time at which it was made.")
MADE_BY: Final = Doc("The actor who made it.", "ann@corp.example")
LAST_USED_AT: Final = Doc("The time of its last use, to the minute; null if it was not used.")
ENDS_AT: Final = Doc("The time of its end, unless it is revoked before.")
REVOKED_AT: Final = Doc("The time at which somebody revoked it; null if nobody did.")
REVOKED_BY: Final = Doc("The actor who revoked it; null if nobody did.", "ann@corp.example")
IS_NEW_TENANT: Final = Doc("True if nothing else in the database is of the tenant, whose name may be misspelt.")

Row = TypeVar("Row")

State = Literal["live", "ended"]


class LifeFilter(TypedDict, total=False):
    """Conditions on sessions and tokens."""

    state: Annotated[State | None, Selects(words="those that are live, or those that have ended")]


def conditions(alias: LiteralString, ends_at: LiteralString) -> Mapping[str, LiteralString]:
    """The condition of each state, for rows that end at ``ends_at`` or are revoked before."""
    revoked = alias + ".revoked_at is "
    return {
        "live": "(" + revoked + "null and " + ends_at + " > now())",
        "ended": "(" + revoked + "not null or " + ends_at + " <= now())",
    }


def condition(state: str, states: Mapping[str, LiteralString]) -> LiteralString:
    """The condition of a state. Raises QueryError if it is none."""
    if state not in states:
        raise QueryError(f"{state!r} is not a state", hint=f"Write one of {', '.join(states)}.")
    return states[state]


def newest(
    alias: LiteralString, select: LiteralString, row: Callable[..., Row], key: Callable[[Row], tuple[str, ...]]
) -> Keyset[Row]:
    """The list by the time of creation; ``key`` makes that time and the id of a row."""
    position: LiteralString = "(" + alias + ".created_at, " + alias + ".id)"
    return Keyset(
        select=select,
        row=row,
        order=" order by " + alias + ".created_at desc, " + alias + ".id desc",
        beyond=position + " < (%s, %s)",
        reverse_order=" order by " + alias + ".created_at, " + alias + ".id",
        before=position + " > (%s, %s)",
        key=key,
        read=lambda cursor: decode(cursor, aware_time, UUID),
    )

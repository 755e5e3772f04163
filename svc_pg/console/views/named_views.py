"""Named views: questions to the lists of the console that are kept under a name, by a person or for the team."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Final, Literal, Self, TypedDict, get_args
from uuid import UUID, uuid4

from psycopg import AsyncConnection, Connection, errors
from psycopg.rows import scalar_row

from svc_pg.console.http.tokens import Session
from svc_pg.console.sessions.token_sessions import ACTOR_PREFIX
from svc_pg.database.filters import Selects
from svc_pg.database.pagination import Keyset, Listing, decode
from svc_pg.database.query import Query, afetch, scalar
from svc_pg.errors import ConflictError, QueryError
from svc_pg.formats.doc import Doc

ViewedList = Literal["audit", "deliveries", "messages", "endpoints"]
LISTS: Final[tuple[ViewedList, ...]] = get_args(ViewedList)
"""The lists that have views; each is the path of its page too."""
LONGEST_NAME: Final = 60
"""The characters of a name."""
MOST_OF_ONE: Final = 50
"""The views of a person, and those of the team, of all lists together."""

_OF: Final = """
select v.id::text, v.list as "of", v.name, v.question, v.owner is null as is_of_team, v.created_at, v.created_by,
       v.updated_at, v.updated_by
  from {views} v
"""
_SELECT: Final = _OF.replace("{views}", "svc.console_views")
_ADD: Final = _OF.replace("{views}", "svc.console_add_view(%s, %s, %s, %s, %s)")
_CHANGE: Final = _OF.replace("{views}", "svc.console_change_view(%s, %s, %s, %s)")
_LOCK: Final = _SELECT + " where v.id = %s and v.owner is not distinct from %s for update"
_DELETE: Final = "select svc.console_delete_view(%s, %s)"
_DELETE_ANY: Final = "select svc.console_delete_view(v.id, v.owner) from svc.console_views v where v.id = %s"

VIEW_ID: Final = Doc("The id of the view.", "0198d3f1-6a5e-7c40-9f5b-2c1d7e8a9b10")


@dataclass(frozen=True, slots=True)
class NamedView:
    """A question under a name."""

    id: Annotated[str, VIEW_ID]
    of: Annotated[ViewedList, Doc("The list of which it is a question.")]
    name: Annotated[str, Doc("Its name.", "Failed payments")]
    question: Annotated[str, Doc("The question, as the bar of the list takes it.", "status:failed event:order.paid")]
    is_of_team: Annotated[bool, Doc("True if it is the team's; else it is the person's own, and nobody else sees it.")]
    created_at: Annotated[datetime, Doc("The time at which it was made.")]
    created_by: Annotated[str, Doc("The actor who made it.", "ann@corp.example")]
    updated_at: Annotated[datetime, Doc("The time of its last change.")]
    updated_by: Annotated[str, Doc("The actor who made the last change.", "ann@corp.example")]
    problem: Annotated[
        str | None,
        Doc("A sentence on why the question can be read no longer; null if it can.", "There is no key tabel."),
    ] = None


class ViewFilter(TypedDict, total=False):
    """Conditions on views; a view must meet all."""

    of: Annotated[ViewedList | None, Selects(words="views of this list", word="List")]
    text: Annotated[str | None, Selects(words="views with these letters in their name", example="failed")]


@dataclass(frozen=True, slots=True)
class ViewQuery(Listing[NamedView]):
    """A query of views. Every method returns a new one; ``list`` or ``alist`` runs it."""

    def of(self, name: str) -> Self:
        """Views of one list."""
        if name not in LISTS:
            raise QueryError(f"{name!r} has no views", hint=f"Write one of {', '.join(LISTS)}.")
        return self._where("v.list = %s", name)

    def text(self, letters: str) -> Self:
        """Views with these letters in their name, in whatever case."""
        return self._where("strpos(lower(v.name), lower(%s)) > 0", letters)

    def called(self, name: str, owner: str | None) -> Self:
        """The view of a person, or of the team, with this name."""
        return self._where("v.name = %s and v.owner is not distinct from %s", name, owner)

    def id(self, view_id: UUID) -> Self:
        """The view with this id."""
        return self._where("v.id = %s", view_id)

    def visible(self, owner: str | None) -> Self:
        """The views of the team, and those of this person if there is one."""
        return self._where("coalesce(v.owner, '') = any(%s)", [""] if owner is None else ["", owner])


_BY_NAME: Final = Keyset(
    select=_SELECT,
    row=NamedView,
    order=" order by v.name, v.id",
    beyond="(v.name, v.id) > (%s, %s)",
    reverse_order=" order by v.name desc, v.id desc",
    before="(v.name, v.id) < (%s, %s)",
    key=lambda view: (view.name, view.id),
    read=lambda cursor: decode(cursor, str, UUID),
)


def query() -> ViewQuery:
    """A query of all views, of everybody, by name."""
    return ViewQuery(_BY_NAME)


async def ais_taken(conn: AsyncConnection[Any], of: ViewedList, name: str, *, owner: str | None) -> bool:
    """True if a view of the list has the name already: one of ``owner``, or of the team."""
    return bool((await query().of(of).called(name, owner).limit(1).alist(conn)).data)


def owner_of(session: Session) -> str | None:
    """The person who may have views of their own; None for a program, whose name another one may get."""
    return None if session.email.startswith(ACTOR_PREFIX) else session.email


async def aadd(conn: AsyncConnection[Any], of: ViewedList, name: str, question: str, *, owner: str | None) -> NamedView:
    """Keep a question as a view of ``owner``, or of the team, by the actor of the transaction. Never commits.

    Raises ConflictError if there is one of this name, and QueryError if there are too many.
    """
    with _explained(name):
        found = await afetch(conn, Query(_ADD, (uuid4(), of, owner, name, question), NamedView))
    if not found:
        whose = "the team" if owner is None else "you"
        raise QueryError(f"{whose} may have {MOST_OF_ONE} views", hint="Delete one first.")
    return found[0]


async def alock(conn: AsyncConnection[Any], view_id: UUID, *, owner: str | None) -> NamedView | None:
    """The view of ``owner``, or of the team, locked against other changes; None if there is none."""
    found = await afetch(conn, Query(_LOCK, (view_id, owner), NamedView))
    return found[0] if found else None


async def achange(
    conn: AsyncConnection[Any], view_id: UUID, *, owner: str | None, name: str | None, question: str | None
) -> NamedView | None:
    """Change a view of ``owner``, or of the team; None stays as it is. Returns None if there is no such view.

    Raises ConflictError if another has the name. Never commits.
    """
    with _explained(name or ""):
        found = await afetch(conn, Query(_CHANGE, (view_id, owner, name, question), NamedView))
    return found[0] if found else None


async def adelete(conn: AsyncConnection[Any], view_id: UUID, *, owner: str | None) -> bool:
    """Delete a view of ``owner``, or of the team; return whether there was one. Never commits."""
    cursor = await conn.cursor(row_factory=scalar_row).execute(_DELETE, (view_id, owner))
    return bool(await cursor.fetchone())


def delete_any(conn: Connection[Any], view_id: UUID) -> bool:
    """Delete a view, whoever has it; return whether there was one. Never commits."""
    return bool(scalar(conn, _DELETE_ANY, (view_id,)))


@contextmanager
def _explained(name: str) -> Iterator[None]:
    try:
        yield
    except errors.UniqueViolation as error:
        raise ConflictError(f"a view of this list has the name {name!r}", hint="Take another name.") from error

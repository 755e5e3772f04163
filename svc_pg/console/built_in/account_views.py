"""Routes of the product ``account`` for named views: those of the team, and those of the person."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, Literal

from psycopg import AsyncConnection

from svc_pg.console.audit_log import ConsoleLog
from svc_pg.console.built_in.view_bodies import CreateViewRequest, UpdateViewRequest
from svc_pg.console.database.pool import Database
from svc_pg.console.http.body import read_body
from svc_pg.console.http.body_problems import BodyProblems
from svc_pg.console.http.documentation import in_path
from svc_pg.console.http.parameters import PAGE, PAGE_BYTES, declared, documented, filtered
from svc_pg.console.http.preconditions import IF_MATCH, OUTDATED, check, tag
from svc_pg.console.http.products import ProductEndpoint
from svc_pg.console.http.requests import AuthenticatedRequest, ConsoleResponse, Problem, sentences
from svc_pg.console.views import named_views
from svc_pg.console.views.list_questions import keys_of, problem_of
from svc_pg.console.views.named_views import LISTS, VIEW_ID, NamedView, ViewedList, ViewFilter, owner_of
from svc_pg.database.pagination import Page
from svc_pg.errors import ConflictError, QueryError
from svc_pg.settings import Permission

_FILTERS: Final = {**declared(ViewFilter), **PAGE}
_OF_VIEW: Final = (in_path(VIEW_ID),)
_UNKNOWN: Final = {"unknown_view": 404}
_TAKEN: Final = {"view_exists": 409}
_UNREADABLE: Final = {"invalid_question": 422}

Whose = Literal["own", "team"]
_CHANGES: Final[Sequence[tuple[Whose, str, str, str, Permission]]] = (
    ("team", "/views", "views", "a view of the team", "write"),
    ("own", "/own-views", "own_views", "a view of one's own", "read"),
)
"""Whose a view is, with the path, the operation, the words and the permission of its changes."""


@dataclass(frozen=True, slots=True)
class ViewRoutes:
    """The handlers, the database with the views, and the log, which may have no search."""

    database: Database
    log: ConsoleLog

    def endpoints(self) -> Sequence[ProductEndpoint]:
        """The routes. No session of one tenant reaches them: a view of the team may name other tenants."""
        return [
            ProductEndpoint(
                method="GET",
                path="/views",
                operation_id="views.list",
                handler=self._list,
                is_compressed=True,
                summary="The views of the team and one's own, by name",
                query=documented(_FILTERS),
                response=Page[NamedView],
            ),
            ProductEndpoint(
                method="GET",
                path="/views/:id",
                operation_id="views.get",
                path_parameters=_OF_VIEW,
                handler=self._get,
                summary="A view of the team, or one's own",
                response=NamedView,
                errors=_UNKNOWN,
            ),
            *(each for change in _CHANGES for each in self._changes(*change)),
        ]

    def _changes(
        self, whose: Whose, path: str, operation: str, words: str, permission: Permission
    ) -> Sequence[ProductEndpoint]:
        """The routes that change the views of somebody."""
        people_only = {"people_only": 403} if whose == "own" else {}
        return [
            ProductEndpoint(
                method="POST",
                path=path,
                operation_id=f"{operation}.create",
                keeps_answer=True,
                handler=partial(self._add, whose),
                required_permission=permission,
                summary=f"Keep a question as {words}",
                body=CreateViewRequest,
                body_example={"of": "deliveries", "name": "Failed today", "question": "status:failed today"},
                response=NamedView,
                status=201,
                errors={**_TAKEN, **_UNREADABLE, **people_only, "too_many_views": 409},
            ),
            ProductEndpoint(
                method="PATCH",
                path=f"{path}/:id",
                operation_id=f"{operation}.update",
                path_parameters=_OF_VIEW,
                handler=partial(self._change, whose),
                required_permission=permission,
                summary=f"Rename {words}, or give it another question; with If-Match only if nobody else changed it",
                headers=[IF_MATCH],
                body=UpdateViewRequest,
                body_example={"name": "Failed lately"},
                response=NamedView,
                errors={**_UNKNOWN, **_TAKEN, **_UNREADABLE, **OUTDATED},
            ),
            ProductEndpoint(
                method="DELETE",
                path=f"{path}/:id",
                operation_id=f"{operation}.delete",
                path_parameters=_OF_VIEW,
                handler=partial(self._delete, whose),
                required_permission=permission,
                summary=f"Delete {words}",
                status=204,
                errors=_UNKNOWN,
            ),
        ]

    async def _list(self, request: AuthenticatedRequest) -> ConsoleResponse:
        wanted = filtered(named_views.query(), request.query, _FILTERS).visible(owner_of(request.session))
        async with self.database.connection() as conn:
            found = await wanted.alist(conn, max_bytes=PAGE_BYTES)
        return ConsoleResponse(200, replace(found, data=[self._with_problem(view) for view in found]))

    async def _get(self, request: AuthenticatedRequest) -> ConsoleResponse:
        wanted = named_views.query().visible(owner_of(request.session)).id(request.uuid(unknown=_unknown()))
        async with self.database.connection() as conn:
            for view in await wanted.alist(conn):
                return self._answer(view)
        raise _unknown()

    async def _add(self, whose: Whose, request: AuthenticatedRequest) -> ConsoleResponse:
        owner = owner_of(request.session) if whose == "own" else None
        if whose == "own" and owner is None:
            raise Problem(403, "people_only", "A program has no views of its own.")
        problems = BodyProblems()
        with problems.kept():
            body = read_body(request, CreateViewRequest)
        of = next((each for each in LISTS if each == problems.text(request, "of")), None)
        if of is not None and (question := problems.text(request, "question")) is not None:
            with problems.kept("question"):
                self._check(of, question)
        async with self.database.acting(request) as conn:
            if of is not None and (name := problems.text(request, "name")) is not None:
                async with problems.of(conn, "name"):
                    await _refuse_taken(conn, of, name, owner)
            problems.refuse()
            with _explaining():
                view = await named_views.aadd(conn, body.of, body.name, body.question, owner=owner)
        location = f"{request.base_path}/account/views/{view.id}"  # where one's own are read too
        return ConsoleResponse(201, view, {"Location": location})

    async def _change(self, whose: Whose, request: AuthenticatedRequest) -> ConsoleResponse:
        view_id, owner = request.uuid(unknown=_unknown()), _owner(whose, request)
        problems = BodyProblems()
        with problems.kept():
            body = read_body(request, UpdateViewRequest)
        name, question = (problems.text(request, each) for each in ("name", "question"))
        async with self.database.acting(request) as conn:
            view = await named_views.alock(conn, view_id, owner=owner)
            if view is None:
                raise _unknown()
            if question:
                with problems.kept("question"):
                    self._check(view.of, question)
            async with problems.of(conn, "name"):
                if name and name != view.name:
                    await _refuse_taken(conn, view.of, name, owner)
            problems.refuse()
            check(request, _state(view))
            if body.name or body.question:
                given = {"name": body.name or None, "question": body.question or None}
                with _explaining():
                    view = await named_views.achange(conn, view_id, owner=owner, **given) or view
            return self._answer(view)

    async def _delete(self, whose: Whose, request: AuthenticatedRequest) -> ConsoleResponse:
        view_id, owner = request.uuid(unknown=_unknown()), _owner(whose, request)
        async with self.database.acting(request) as conn:
            if not await named_views.adelete(conn, view_id, owner=owner):
                raise _unknown()
        return ConsoleResponse(204)

    def _check(self, of: ViewedList, question: str) -> None:
        """Raise Problem 422 for a question that the list cannot read."""
        if problem := problem_of(question, keys_of(of, has_past=self.log.has_past)):
            raise Problem(422, "invalid_question", problem)

    def _answer(self, view: NamedView) -> ConsoleResponse:
        return ConsoleResponse(200, self._with_problem(view), {"ETag": tag(_state(view))})

    def _with_problem(self, view: NamedView) -> NamedView:
        return replace(view, problem=problem_of(view.question, keys_of(view.of, has_past=self.log.has_past)))


def _state(view: NamedView) -> object:
    return [view.name, view.question, view.updated_at]


def _owner(whose: Whose, request: AuthenticatedRequest) -> str | None:
    """The owner of the views that a route changes; None for the team. Raises Problem 404 for a program's own."""
    if whose == "team":
        return None
    owner = owner_of(request.session)
    if owner is None:
        raise _unknown()
    return owner


def _unknown() -> Problem:
    return Problem(404, "unknown_view", "There is no view with this id.")


async def _refuse_taken(conn: AsyncConnection[Any], of: ViewedList, name: str, owner: str | None) -> None:
    if await named_views.ais_taken(conn, of, name, owner=owner):
        raise Problem(409, "view_exists", f"A view of this list has the name {name!r}. Take another name.")


@contextmanager
def _explaining() -> Iterator[None]:
    try:
        yield
    except ConflictError as error:
        raise Problem(409, "view_exists", sentences(error)) from error
    except QueryError as error:
        raise Problem(409, "too_many_views", sentences(error)) from error

"""Tell all that is wrong with a body at once, also what only the database knows of some of its fields."""

from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Final, TypeVar

from psycopg import AsyncConnection
from pydantic import BaseModel, JsonValue, ValidationError
from pydantic.alias_generators import to_camel

from svc_pg.console.http.body import MAX_ERRORS, pointer, read_body
from svc_pg.console.http.requests import ConsoleRequest, Problem
from svc_pg.formats.json_writer import encode

Body = TypeVar("Body", bound=BaseModel)

_WHOLE: Final = ""


class BodyProblems:
    """The problems of one body, of which each check finds its own."""

    def __init__(self) -> None:
        self._found: list[tuple[str, Problem]] = []

    def __bool__(self) -> bool:
        """True if a problem was found."""
        return bool(self._found)

    @contextmanager
    def kept(self, field: str = _WHOLE) -> Iterator[None]:
        """Keep the problem that a check raises: of a field in snake_case, or of the body as a whole."""
        try:
            yield
        except Problem as problem:
            self._found.append((field, problem))

    @asynccontextmanager
    async def of(self, conn: AsyncConnection[Any], field: str) -> AsyncIterator[None]:
        """As ``kept``, for a check in a transaction, which goes on."""
        with self.kept(field):
            async with conn.transaction():
                yield

    def read(self, request: ConsoleRequest, model: type[Body]) -> Body | None:
        """As ``read_body``, but without the fields that have a problem; None if one of them must be there."""
        with self.kept():
            return read_body(request, model)
        try:
            return model.model_validate_json(encode(self._without_problem(request)))
        except ValidationError:
            return None

    def text(self, request: ConsoleRequest, field: str) -> str | None:
        """The text that a field was sent with; None if it has none, or has a problem already."""
        value = self._without_problem(request).get(to_camel(field))
        return value if isinstance(value, str) else None

    def _without_problem(self, request: ConsoleRequest) -> Mapping[str, JsonValue]:
        sent = request.body if isinstance(request.body, dict) else {}
        wrong = {each["pointer"].split("/")[1] for each in self._errors() if each["pointer"]}
        return {name: value for name, value in sent.items() if pointer([name])[1:] not in wrong}

    def refuse(self) -> None:
        """Raise a Problem if there is any: a single one as it is, with its field, several as 422 ``invalid_body``."""
        if len(self._found) == 1:
            [(field, problem)] = self._found
            if field and "errors" not in problem.members:
                problem.members["errors"] = self._errors()
            raise problem
        if self._found:
            detail, errors = "The body is not valid; see errors.", self._errors()[:MAX_ERRORS]
            raise Problem(422, "invalid_body", detail, errors=errors) from self._found[0][1]

    def _errors(self) -> list[dict[str, str]]:
        found: list[dict[str, str]] = []
        for field, problem in self._found:
            pointed = problem.members.get("errors")
            if isinstance(pointed, list):
                found += pointed
            else:
                steps = [to_camel(field)] if field else []
                found.append({"pointer": pointer(steps), "detail": problem.detail or problem.code})
        return found

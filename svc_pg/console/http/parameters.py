"""Query parameters of a list become filters of a query; an unknown or unreadable one is a 422 that names it."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Generic, NoReturn, TypeVar, assert_never

from starlette.datastructures import QueryParams

from svc_pg.console.http.documentation import TEXT, JsonSchema, Parameter, one_of, text
from svc_pg.console.http.requests import Problem
from svc_pg.database.filters import MAX_VALUES, ListFilter, applied, filters_of
from svc_pg.database.pagination import DEFAULT_SIZE, MAX_SIZE
from svc_pg.errors import SvcError
from svc_pg.formats import durations

Builder = TypeVar("Builder")
Choice = TypeVar("Choice", bound=str)

NUMBER: Final = "^[0-9]{1,18}$"
MOST_CHARACTERS: Final = 200
"""The most letters by which values of a filter are looked for."""


@dataclass(frozen=True, slots=True)
class FilterParameter(Generic[Builder]):
    """A filter of a list and its documentation: ``FilterParameter(AuditQuery.actor, "entries of one actor")``.

    A parameter with ``max_values`` may occur that often: ``apply`` gets all its values. That one ``is_required`` is for
    the documentation: the route refuses its absence.
    """

    apply: Callable[..., Builder]
    description: str
    schema: JsonSchema = field(default_factory=lambda: TEXT)
    max_values: int = 1
    is_required: bool = False

    def __call__(self, builder: Builder, *texts: str) -> Builder:
        """``builder`` with this filter."""
        return self.apply(builder, *texts)


def filtered(start: Builder, query: QueryParams, filters: Mapping[str, FilterParameter[Builder]]) -> Builder:
    """``start`` with the filter of every parameter applied. Raises Problem 422."""
    builder = start
    for name in sorted(query, key=PAGE.__contains__):  # a cursor is read by the order that the filters have chosen
        values = query.getlist(name)
        if name not in filters:
            refuse(name, f"is unknown; known are {', '.join(filters)}")
        if len(values) > filters[name].max_values:
            refuse(
                name,
                "may occur once" if filters[name].max_values == 1 else f"may occur {filters[name].max_values} times",
            )
        if any("\0" in value for value in values):
            refuse(name, "contains the character NUL")
        try:
            builder = filters[name](builder, *values)
        except SvcError as error:
            raise _problem(name, f"is not acceptable: {error.message}", hint=error.hint) from error
        except ValueError as error:
            raise _problem(name, f"is not acceptable: {error}") from error
    return builder


def documented(filters: Mapping[str, FilterParameter[Any]]) -> list[Parameter]:
    """The same filters as ``query`` of a ProductEndpoint."""
    return [
        Parameter(name=name, description=wanted.description, schema=_schema(wanted), is_required=wanted.is_required)
        for name, wanted in filters.items()
    ]


def declared(declaration: type, *, without: Collection[str] = ()) -> dict[str, FilterParameter[Any]]:
    """The parameters of the filters that a TypedDict declares, by their names in the API."""
    return {
        each.api: _declared(declaration, each) for name, each in filters_of(declaration).items() if name not in without
    }


def _declared(declaration: type, wanted: ListFilter) -> FilterParameter[Any]:
    def apply(builder: Any, *texts: str) -> Any:
        value = list(texts) if wanted.kind == "texts" else wanted.read(texts[0])
        return applied(builder, declaration, {wanted.name: value})

    most = min(MAX_VALUES, len(wanted.choices) or MAX_VALUES) if wanted.kind == "texts" else 1
    return FilterParameter(apply, wanted.words + _written(wanted), schema_of(wanted), most)


def _written(wanted: ListFilter) -> str:
    """The way to write a value, as the description of its parameter ends."""
    match wanted.kind:
        case "ids":
            return ", with commas between their ids"
        case "time":
            return ": RFC 3339, or a duration before now such as 1h"
        case "texts":
            return "; repeat it for several"
        case "text" | "id" | "number" | "choice" | "flag":
            return ""
        case _:
            assert_never(wanted.kind)


def schema_of(wanted: ListFilter) -> JsonSchema:
    """The schema of one value of a filter, as an address has it."""
    if wanted.choices:
        return one_of(wanted.choices)
    match wanted.kind:
        case "id":
            return {**text(wanted.example), "format": "uuid"}
        case "number":
            return {**text(wanted.example), "pattern": NUMBER}
        case "flag":
            return {"type": "boolean", "default": False}
        case "text" | "texts" | "ids" | "time" | "choice":
            return text(wanted.example)
        case _:
            assert_never(wanted.kind)


def _schema(wanted: FilterParameter[Any]) -> JsonSchema:
    if wanted.max_values == 1:
        return wanted.schema
    return {"type": "array", "items": dict(wanted.schema), "minItems": 1, "maxItems": wanted.max_values}


def whole_number(text: str) -> int:
    """Read a number from a query. Raises ValueError."""
    if not text.isascii() or not text.isdecimal():
        raise ValueError("write a whole number")
    return int(text)


def truth(text: str) -> bool:
    """Read ``true`` or ``false`` from a query. Raises ValueError."""
    if text not in ("true", "false"):
        raise ValueError("write true or false")
    return text == "true"


def bounded(text: str, most: int) -> str:
    """The text of a query. Raises ValueError if it has more than ``most`` characters."""
    if len(text) > most:
        raise ValueError(f"it has more than {most:,} characters")
    return text


def one_among(texts: Sequence[Choice]) -> Callable[[str], Choice]:
    """Reads one of these texts from a query. Raises ValueError."""

    def read(text: str) -> Choice:
        for known in texts:
            if text == known:
                return known
        raise ValueError(f"write one of {', '.join(texts)}")

    return read


@dataclass(frozen=True, slots=True)
class _Wanted(Generic[Choice]):
    name: Choice | None = None
    text: str = ""


class ValueQuestion(Generic[Choice]):
    """The parameters of a route that completes the values of filters: ``of``, one of ``names``, and ``text``.

    ``letters`` says in the documentation what of a value has the text, ``example`` is one.
    """

    def __init__(self, names: Sequence[Choice], *, letters: str, example: str) -> None:
        self._names: Final = names
        choice = one_among(names)
        self._filters: Final[Mapping[str, FilterParameter[_Wanted[Choice]]]] = {
            "of": FilterParameter(
                lambda wanted, given: replace(wanted, name=choice(given)),
                "the filter whose values are wanted",
                one_of(names),
                is_required=True,
            ),
            "text": FilterParameter(
                lambda wanted, given: replace(wanted, text=bounded(given, MOST_CHARACTERS)), letters, text(example)
            ),
        }

    def documented(self) -> list[Parameter]:
        """The same as ``query`` of a ProductEndpoint."""
        return documented(self._filters)

    def read(self, query: QueryParams) -> tuple[Choice, str]:
        """The name of the filter, and the letters that its values have. Raises Problem 422."""
        nothing: _Wanted[Choice] = _Wanted()
        wanted = filtered(nothing, query, self._filters)
        if wanted.name is None:
            refuse("of", f"is missing; write one of {', '.join(self._names)}")
        return wanted.name, wanted.text


point_in_time: Final = durations.point_in_time
"""Read the value of ``since`` or ``until``, as the command line does. Raises ValueError."""

PAGE_BYTES: Final = 4 * 1024 * 1024
"""The most that the rows of a page have together in the database, unless its first row has more."""

PAGE: Final[Mapping[str, FilterParameter[Any]]] = {
    "limit": FilterParameter(
        lambda builder, text: builder.limit(whole_number(text)),
        "the size of a page",
        {"type": "integer", "examples": [20], "minimum": 1, "maximum": MAX_SIZE, "default": DEFAULT_SIZE},
    ),
    "cursor": FilterParameter(
        lambda builder, cursor: _without_cursor(builder).after(cursor), "nextCursor of a page", text("eyJpIjo3fQ")
    ),
    "before": FilterParameter(
        lambda builder, cursor: _without_cursor(builder).before(cursor),
        "prevCursor of a page, for the page before it",
        text("eyJpIjo5fQ"),
    ),
}
"""The filters of every list: those of a builder with the methods ``limit``, ``after`` and ``before``."""


def _without_cursor(builder: Any) -> Any:
    if builder.position is not None:
        raise ValueError("write cursor or before, not both")
    return builder


def refuse(name: str, reason: str) -> NoReturn:
    """Raise Problem 422 for a parameter; ``reason`` goes on after its name."""
    raise _problem(name, reason)


def _problem(name: str, reason: str, *, hint: str | None = None) -> Problem:
    detail = f"The query parameter {name} {reason}."
    return Problem(422, "invalid_parameter", detail if hint is None else f"{detail} {hint}", parameter=name)

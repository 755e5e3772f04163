"""Query parameters of a list become filters of a query; an unknown or unreadable one is a 422 that names it."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import NoReturn, TypeVar

from starlette.datastructures import QueryParams

from svc_pg.console.requests import Problem
from svc_pg.errors import SvcError

Builder = TypeVar("Builder")


def filtered(start: Builder, query: QueryParams, filters: Mapping[str, Callable[[Builder, str], Builder]]) -> Builder:
    """``start`` with the filter of every parameter applied. Raises Problem 422."""
    builder = start
    for name, value in query.multi_items():
        if name not in filters:
            _refuse(name, f"is unknown; known are {', '.join(filters)}")
        if len(query.getlist(name)) > 1:
            _refuse(name, "may occur once")
        if "\0" in value:
            _refuse(name, "contains the character NUL")
        try:
            builder = filters[name](builder, value)
        except SvcError as error:
            raise _problem(name, f"is not acceptable: {error.message}", hint=error.hint) from error
        except ValueError as error:
            raise _problem(name, f"is not acceptable: {error}") from error
    return builder


def whole_number(text: str) -> int:
    """Read a number from a query. Raises ValueError."""
    if not text.isascii() or not text.isdecimal():
        raise ValueError("write a whole number")
    return int(text)


def moment(text: str) -> str | datetime:
    """Read a time in RFC 3339; anything else is left to the query, which reads durations. Raises ValueError."""
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        return text
    if time.tzinfo is None:
        raise ValueError("a time needs its zone, such as 2026-01-31T12:00:00Z")
    return time


def _refuse(name: str, reason: str) -> NoReturn:
    raise _problem(name, reason)


def _problem(name: str, reason: str, *, hint: str | None = None) -> Problem:
    detail = f"The query parameter {name} {reason}."
    return Problem(422, "invalid_parameter", detail if hint is None else f"{detail} {hint}", parameter=name)

"""The form of a page that was refused: what was typed, and the reasons beside the fields that they are about."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Final, TypeVar

from pydantic.alias_generators import to_camel, to_snake
from starlette.datastructures import QueryParams

from svc_pg.console.http.requests import Problem

Answered = TypeVar("Answered")

_FIELDS: Final = {
    "unknown_tenant": "tenant",
    "name_differs": "name",
    "invalid_question": "question",
}
"""The fields of which some problems tell by their code."""
_NEVER: Final = "aFieldThatNoBodyHas"


@dataclass(frozen=True, slots=True)
class RefusedForm:
    """One form of a page: the typed values, and the reason for each field that is refused; empty unless it was sent."""

    typed: QueryParams = field(default_factory=QueryParams)
    wrong: Mapping[str, str] = field(default_factory=dict)

    def value(self, name: str, otherwise: object = "") -> object:
        """The typed value of a field, or that which the page has for it."""
        return self.typed.get(name, otherwise)

    def without(self, name: str) -> "RefusedForm":
        """The form as if a field had not been typed."""
        kept = [(other, text) for other, text in self.typed.multi_items() if other != name]
        return RefusedForm(QueryParams(kept), self.wrong)


def mark_of(address: str) -> str:
    """A short mark of the address of a form, which would fill a cookie."""
    return sha256(address.encode()).hexdigest()[:16]


def wrong_fields(problem: Problem | None) -> dict[str, str]:
    """The fields of a form that its refusal is about, with the reason of each; none if it does not tell."""
    if problem is None:
        return {}
    pointed = problem.members.get("errors")
    if isinstance(pointed, list):
        named = ((str(each["pointer"]).strip("/").partition("/")[0], str(each["detail"])) for each in pointed)
        return {to_snake(name): detail for name, detail in named}
    if problem.code in _FIELDS:
        return {_FIELDS[problem.code]: problem.detail or "It cannot be this."}
    return {}


def invalid_form(errors: Mapping[str, str]) -> Problem:
    """The problem of a form with these fields in snake_case, each with its reason."""
    pointed = [{"pointer": f"/{to_camel(name)}", "detail": detail} for name, detail in errors.items()]
    return Problem(422, "invalid_form", "The form has fields that are not valid.", errors=pointed)


async def sent(
    call: Callable[[dict[str, Any]], Awaitable[Answered]], body: Mapping[str, Any], own: Mapping[str, str]
) -> Answered:
    """The answer of a call with this body; ``own`` are the fields that the page itself finds wrong, with the reasons.

    If there are any, the call never succeeds: it tells what else is wrong. Raises Problem.
    """
    if not own:
        return await call({**body})
    try:
        await call({**body, _NEVER: True})
    except Problem as problem:
        found = wrong_fields(problem)
        if not found:
            raise
        found.pop(to_snake(_NEVER), None)
        raise invalid_form({**found, **own}) from problem
    raise TypeError("a call took a field that no body has")

"""The documentation of a route: for people, for generated clients and for the OpenAPI document."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, cast

from pydantic import BaseModel, JsonValue

from svc_pg.formats.doc import Doc

JsonSchema = Mapping[str, JsonValue]

TEXT: Final[JsonSchema] = {"type": "string"}


def text(example: object) -> JsonSchema:
    """The schema of a text, with an example."""
    return {**TEXT, "examples": [cast(JsonValue, example)]}


def one_of(words: Sequence[str]) -> Mapping[str, JsonValue]:
    """The schema of a text that is one of these."""
    return {"type": "string", "enum": list(words)}


@dataclass(frozen=True, kw_only=True)
class Parameter:
    """One parameter of the query or of the path, or one header. ``schema`` is the JSON Schema of its value."""

    name: str
    description: str
    schema: JsonSchema = field(default_factory=lambda: TEXT)
    is_required: bool = False


def in_path(doc: Doc, *, name: str = "id") -> Parameter:
    """The parameter of a path that has the value of a field."""
    return Parameter(name=name, description=doc.words, schema=text(doc.example), is_required=True)


@dataclass(frozen=True, kw_only=True)
class Documentation:
    """The description of a route. All of it is optional, and none of it changes what a route does.

    ``operation_id`` is the name by which clients call it, such as ``orders.list``; by default it comes from the method
    and the path. ``description`` says more than the summary. ``path_parameters`` describe those of the path.
    ``needs_device_token`` says that ``Authorization: Bearer`` carries the device token of a sign-in, not a session.
    ``body`` is the model that the handler reads with ``read_body``. ``response`` is the type of the value that the
    handler answers with: a dataclass, a scalar, or collections of them, ``list[Tenant]`` or ``Page[Tenant]``; None
    means no body. ``status`` is that of success. ``errors`` are the codes of problems that only this route gives, with
    their status, such as ``{"unknown_tenant": 404}``; the codes of every route are added.
    """

    operation_id: str = ""
    summary: str = ""
    description: str = ""
    path_parameters: Sequence[Parameter] = ()
    needs_device_token: bool = False
    query: Sequence[Parameter] = ()
    headers: Sequence[Parameter] = ()
    body: type[BaseModel] | None = None
    body_example: object = None
    response: object = None
    response_example: object = None
    status: int = 200
    media_types: Sequence[str] = ("application/json",)
    errors: Mapping[str, int] = field(default_factory=dict)


UNDOCUMENTED: Final = Documentation()

"""The JSON Schemas of the values that ``json_writer`` writes and of the bodies that handlers read."""

import inspect
import json
import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import fields, is_dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints
from uuid import UUID

from pydantic import BaseModel, JsonValue
from pydantic.alias_generators import to_camel
from pydantic.json_schema import models_json_schema

from svc_pg.audit.log.snapshot import Snapshot
from svc_pg.database.query import RawJson
from svc_pg.errors import ConfigError
from svc_pg.formats.doc import Doc

REF_TEMPLATE = "#/components/schemas/{model}"

Schema = dict[str, JsonValue]


class Partial:
    """Marks a dataclass of which only the named members always come: ``Annotated[Entry, Partial("id")]``."""

    def __init__(self, *names: str) -> None:
        self.names = names


_SCALARS: Mapping[object, Schema] = {
    None: {"type": "null"},
    NoneType: {"type": "null"},
    Any: {},
    object: {},
    RawJson: {},
    Snapshot: {},
    bool: {"type": "boolean"},
    int: {"type": "integer", "format": "int64"},
    float: {"type": "number"},
    Decimal: {"type": "number"},
    str: {"type": "string"},
    datetime: {"type": "string", "format": "date-time"},
    date: {"type": "string", "format": "date"},
    timedelta: {"type": "number", "description": "In seconds."},
    UUID: {"type": "string", "format": "uuid"},
}
_EXAMPLES: Mapping[JsonValue, JsonValue] = {
    "uuid": "0198d3f1-6a5e-7c40-9f5b-2c1d7e8a9b10",
    "date-time": "2026-03-14T09:26:53.589793Z",
    "date": "2026-03-14",
}
"""Examples of the formats whose values all look alike."""
_CODE = re.compile(r"``(\w+)``")


class Schemas:
    """Schemas that refer to each other: those of classes are ``components``, by name."""

    def __init__(self, bodies: Sequence[type[BaseModel]] = ()) -> None:
        self._bodies, document = models_json_schema(
            [(model, "validation") for model in bodies], by_alias=True, ref_template=REF_TEMPLATE
        )
        self.components: dict[str, Schema] = {
            name: _in_words(schema) for name, schema in document.get("$defs", {}).items()
        }
        self._names: dict[type, str] = {}

    def of_body(self, model: type[BaseModel]) -> Schema:
        """The schema of a model that was among ``bodies``."""
        return self._bodies[model, "validation"]

    def of(self, annotation: object) -> Schema:
        """The schema of values of this type. Raises ConfigError if ``json_writer`` cannot write them."""
        return self._of(annotation, {})

    def _of(self, annotation: object, bound: Mapping[object, object]) -> Schema:
        origin, arguments = get_origin(annotation), get_args(annotation)
        if origin is Annotated:
            partial = next((mark for mark in arguments[1:] if isinstance(mark, Partial)), None)
            if partial is not None:
                return {**self._members(arguments[0], {}), "required": [to_camel(name) for name in partial.names]}
            schema = self._of(arguments[0], bound)
            return next((documented(schema, mark) for mark in arguments[1:] if isinstance(mark, Doc)), schema)
        if origin is Literal:
            return _open(arguments)
        if origin in (Union, UnionType):
            return _any_of([self._of(option, bound) for option in arguments])
        if isinstance(annotation, TypeVar):
            return self._of(bound[annotation], {})
        if annotation in _SCALARS:
            return dict(_SCALARS[annotation])
        kind = origin or annotation
        if isinstance(kind, type) and is_dataclass(kind):
            return self._of_dataclass(kind, arguments)
        if isinstance(kind, type) and issubclass(kind, Mapping) and arguments:
            return {"type": "object", "additionalProperties": self._of(arguments[1], bound)}
        if isinstance(kind, type) and issubclass(kind, Sequence | Set) and arguments:
            return {"type": "array", "items": self._of(arguments[0], bound)}
        raise ConfigError(
            f"a response of type {annotation!r} cannot be described",
            hint="Write a dataclass, a scalar, or a collection with the type of its items such as list[str].",
        )

    def _of_dataclass(self, kind: type[Any], arguments: Sequence[object]) -> Schema:
        if arguments:  # a generic one has as many schemas as uses
            return self._members(kind, dict(zip(kind.__parameters__, arguments, strict=True)))
        if kind not in self._names:
            qualified = f"{kind.__module__}.{kind.__qualname__}".replace("<locals>.", "")
            self._names[kind] = qualified if kind.__name__ in self.components else kind.__name__
            self.components[self._names[kind]] = {}  # it may refer to itself
            self.components[self._names[kind]] = self._members(kind, {})
        return {"$ref": REF_TEMPLATE.format(model=self._names[kind])}

    def _members(self, kind: type[Any], bound: Mapping[object, object]) -> Schema:
        types = get_type_hints(kind, include_extras=True)
        members: Schema = {to_camel(field.name): self._of(types[field.name], bound) for field in fields(kind)}
        described: Schema = {"description": words} if (words := described_class(kind)) else {}
        return {"type": "object", **described, "required": list(members), "properties": members}


def described_class(kind: type[Any]) -> str:
    """The docstring of a dataclass in the words of the wire; empty if it has none of its own."""
    words = inspect.cleandoc(kind.__doc__ or "")
    if words.startswith(f"{kind.__name__}("):  # as dataclasses write it
        return ""
    return _in_json(words)


def _in_json(words: str) -> str:
    return _CODE.sub(lambda found: f"`{to_camel(found[1])}`", words).replace("None", "null")


def documented(schema: Schema, doc: Doc) -> Schema:
    """The schema with a description, and an example of its values if one is needed beside their format."""
    words = " ".join([doc.words, *([str(schema["description"])] if "description" in schema else [])])
    example = doc.example if doc.example is not None else _example(schema)
    return {**schema, "description": words, **({} if example is None else {"examples": [cast(JsonValue, example)]})}


def _example(schema: Schema) -> JsonValue:
    options = cast(list[Schema], schema.get("anyOf", [schema]))
    return next((_EXAMPLES[option["format"]] for option in options if option.get("format") in _EXAMPLES), None)


def _in_words(schema: Schema) -> Schema:
    """The schema of a body, whose defaults are told in words: clients that are generated would send each of them."""
    if "description" in schema:
        schema = {**schema, "description": _in_json(str(schema["description"]))}
    properties = schema.get("properties")
    if not isinstance(properties, dict):
        return schema
    return {**schema, "properties": {name: _told(field) for name, field in properties.items()}}


def _told(field: JsonValue) -> JsonValue:
    if not isinstance(field, dict) or "default" not in field:
        return field
    kept = {name: value for name, value in field.items() if name != "default"}
    if field["default"] in (None, "", {}, []):  # as everybody expects
        return kept
    told = f"Default: {json.dumps(field['default'])}."
    return {**kept, "description": f"{field['description']} {told}" if "description" in field else told}


def _open(words: Sequence[object]) -> Schema:
    """The schema of one of these texts, which is open: old clients must be able to read what is added.

    It is the rule 112 of Zalando's guidelines. With ``anyOf`` of an enum and a text, a value that becomes known would
    change its type in a client that is generated anew.
    """
    if not all(isinstance(word, str) for word in words):
        return {**_SCALARS[type(words[0])], "enum": cast(list[JsonValue], list(words))}
    listed = cast(list[JsonValue], list(words))
    description = f"One of {', '.join(map(str, words))}; later versions may have others."
    return {"type": "string", "description": description, "x-extensible-enum": listed}


def _any_of(options: list[Schema]) -> Schema:
    if {} in options:
        return {}
    types = [option["type"] for option in options if option.keys() == {"type"}]
    return {"type": types} if len(types) == len(options) else {"anyOf": list[JsonValue](options)}

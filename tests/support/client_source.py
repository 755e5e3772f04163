"""The modules of ``svc_pg.client.generated``, made of the OpenAPI document. A test compares them, and renews them."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from tests.support.client_heads import CALLS, MADE, MODELS, OPERATIONS, REQUESTS
from tests.support.client_operations import Described, described
from tests.support.client_words import (
    WIDTH,
    Schema,
    answer_type,
    call,
    class_of,
    docstring,
    given_type,
    reference,
    snake,
)
from tests.support.documents import ROOT

FOLDER: Final = ROOT / "svc_pg" / "client" / "generated"
DOCUMENT: Final = ROOT / "docs" / "openapi.json"
_SHADOWED: Final = frozenset({"schema"})
"""Names of members that pydantic's models have for themselves."""
_SECRET: Final = frozenset({"token", "secret", "portalToken", "deviceToken", "sessionToken"})
_SECRET_LINKS: Final = frozenset({"CreatedPortalLink.url", "CreatedPortalLink.path", "DeliveryPost.headers"})


def modules(document: Mapping[str, Any]) -> dict[Path, str]:
    """Each module with its text."""
    operations = described(document)
    made = {
        "__init__": [f'"""The operations and answers of the API, {MADE}"""'],
        "models": _models(document, operations),
        "requests": _requests(document, operations),
        "operations": _operations(document, operations),
        "calls": _calls(operations, is_async=False),
        "async_calls": _calls(operations, is_async=True),
    }
    return {FOLDER / f"{name}.py": "\n".join(lines).rstrip("\n") + "\n" for name, lines in made.items()}


def committed_document() -> Any:
    return json.loads(DOCUMENT.read_text(encoding="utf-8"))


def _models(document: Mapping[str, Any], operations: Sequence[Described]) -> Iterator[str]:
    schemas = document["components"]["schemas"]
    sometimes = {name: left_out for each in operations for name, left_out in each.sometimes.items()}
    names = _reachable(schemas, [each.model for each in operations if each.model in schemas])
    yield MODELS
    yield from _public(names)
    for name in names:
        schema = schemas[name]
        yield from ["", "", f"class {name}(Answer):", *docstring(schema["description"], 4), ""]
        for member, of_member in schema["properties"].items():
            is_always = member in schema["required"] and member not in sometimes.get(name, ())
            yield f"    {_member(name, member, of_member, is_always=is_always)}"
            if words := of_member.get("description"):
                yield from docstring(words, 4)


def _public(names: Iterable[str]) -> Iterator[str]:
    yield "__all__ = ["
    yield from (f'    "{name}",' for name in sorted(names))
    yield "]"


def _member(model: str, name: str, schema: Schema, *, is_always: bool) -> str:
    kind = answer_type(schema)
    if not is_always and kind != "Any" and not kind.endswith("None"):
        kind += " | None"
    options = [] if is_always else ["default=None"]
    options += [f'alias="{name}"'] if name in _SHADOWED else []
    options += ["repr=False"] if name in _SECRET or f"{model}.{name}" in _SECRET_LINKS else []
    python = f"{name}_" if name in _SHADOWED else snake(name)
    if options == ["default=None"]:
        return f"{python}: {kind} = None"
    return f"{python}: {kind}" + (f" = Field({', '.join(options)})" if options else "")


def _reachable(schemas: Mapping[str, Schema], names: Sequence[str]) -> list[str]:
    """These schemas and those within them, each after those that it has."""
    found: list[str] = []

    def add(name: str) -> None:
        if name not in found:
            for inner in _references(schemas[name]):
                add(inner)
            found.append(name)

    for name in schemas:
        if name in names:
            add(name)
    return found


def _references(schema: object) -> Iterator[str]:
    if isinstance(schema, Mapping):
        if "$ref" in schema:
            yield reference(schema)
        for each in schema.values():
            yield from _references(each)
    elif isinstance(schema, list):
        for each in schema:
            yield from _references(each)


def _requests(document: Mapping[str, Any], operations: Sequence[Described]) -> Iterator[str]:
    classes = list(_typed_dicts(document, operations))
    yield REQUESTS
    yield from _public(["Duration", "OneOrMore", "PointInTime", "Seconds", *(name for name, _, _, _ in classes)])
    for name, parent, words, members in classes:
        yield from ["", "", f"class {name}({parent}, total=False):", *docstring(words, 4), ""]
        for member in members:
            kind = _given(member)
            yield from _annotated(snake(member["name"]), f"Required[{kind}]" if member.get("required") else kind)
            yield from docstring(_sentence(member["description"]), 4)


def _typed_dicts(
    document: Mapping[str, Any], operations: Sequence[Described]
) -> Iterator[tuple[str, str, str, Sequence[Schema]]]:
    """Each class with its parent, its description and its members."""
    for each in operations:
        if each.query:
            yield each.query_name, "TypedDict", f"The parameters of ``{each.id}``.", each.query
        if more := [*each.paging, *each.formats]:
            words = f"Those of a {'page' if each.paging else 'file'} of ``{each.id}``."
            yield str(each.whole_query), each.query_name if each.query else "TypedDict", words, more
    schemas = document["components"]["schemas"]
    for name in _reachable(schemas, [reference(each.body) for each in operations if each.body]):
        schema = schemas[name]
        members = [
            {
                "name": member,
                "schema": of_member,
                "required": member in schema.get("required", ()),
                "description": of_member.get("description", ""),
            }
            for member, of_member in schema["properties"].items()
        ]
        yield name, "TypedDict", schema["description"], members


def _annotated(name: str, kind: str) -> Iterator[str]:
    """A member with its type, as the formatter lays out a long choice."""
    if len(line := f"    {name}: {kind}") <= WIDTH:
        yield line
        return
    if len(inner := f"        {kind}") <= WIDTH:
        yield from [f"    {name}: (", inner, "    )"]
        return
    choices = kind.removeprefix("Literal[").removesuffix("] | None").split(", ")
    yield from [f"    {name}: (", "        Literal["]
    yield from (f"            {each}," for each in choices)
    yield from ["        ]", "        | None", "    )"]


def _given(member: Schema) -> str:
    kind = given_type(member["schema"], member["name"])
    if member.get("in") != "query":
        return kind
    if _has_commas(member):
        kind = "OneOrMore[str]"
    elif kind.startswith("Sequence["):
        kind = f"OneOrMore[{kind.removeprefix('Sequence[')}"
    return kind if member["required"] else f"{kind} | None"


def _has_commas(parameter: Schema) -> bool:
    return "commas" in parameter["description"]


def _sentence(words: str) -> str:
    return f"{words[0].upper()}{words[1:].rstrip('.')}."


def _operations(document: Mapping[str, Any], operations: Sequence[Described]) -> Iterator[str]:
    yield OPERATIONS
    yield f'PREFIX: Final = "{document["servers"][0]["url"]}"'
    for each in operations:
        arguments = [f'"{each.method}"', f'"{each.path}"', each.answer]
        arguments += [f"query=requests.{each.whole_query}"] if each.whole_query else []
        arguments += [f"body=requests.{reference(each.body)}"] if each.body else []
        commas = [f'"{snake(one["name"])}",' for one in each.query if _has_commas(one)]
        arguments += [f"with_commas=({' '.join(commas)})"] if commas else []
        arguments += ["with_key=True"] if each.has_key else []
        arguments += [f'signed_by="{each.signed_by}"'] if each.signed_by != "session" else []
        yield from call(f"{each.constant}: Final = Operation", arguments, "", 0)


def _calls(operations: Sequence[Described], *, is_async: bool) -> Iterator[str]:
    prefix = "Async" if is_async else ""
    streams = ", ".join(sorted([f"{prefix}Stream", "Lines", "Parts", "ServerEvent", "ServerEvents"]))
    yield CALLS.format(prefix=prefix, streams=streams)
    resources: dict[str, list[Described]] = {}
    for each in operations:
        resources.setdefault(each.resource, []).append(each)
    yield from _public(f"{prefix}{class_of(name)}" for name in resources)
    for resource, members in resources.items():
        yield from ["", "", f"class {prefix}{class_of(resource)}:", f'    """The operations ``{resource}``."""', ""]
        yield from [f"    def __init__(self, api: {prefix}Api) -> None:", "        self._api = api"]
        for each in members:
            for method in each.methods(is_async=is_async):
                yield from ["", *method]
    yield from ["", "", f"class {prefix}Resources:"]
    yield from [f'    """The operations of {prefix}Client, by what they are about."""', ""]
    yield f"    def __init__(self, api: {prefix}Api) -> None:"
    yield from (f"        self.{name} = {prefix}{class_of(name)}(api)" for name in resources)

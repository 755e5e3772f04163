"""Make an example of a payload from the JSON Schema of its event."""

from collections.abc import Mapping
from typing import Any, Final

_DEEPEST: Final = 8
_MOST_MEMBERS: Final = 50
_STRINGS: Final[Mapping[str, str]] = {
    "date-time": "2026-01-31T12:00:00Z",
    "date": "2026-01-31",
    "time": "12:00:00Z",
    "duration": "PT15M",
    "email": "ann@example.com",
    "hostname": "example.com",
    "ipv4": "192.0.2.1",
    "ipv6": "2001:db8::1",
    "uri": "https://example.com/",
    "uuid": "01890a5d-ac96-774b-bcce-b302099a8057",
}


def example(schema: object) -> object:
    """An example of a schema: its own, if it has one, else a value made from its types.

    It need not fulfil every rule of the schema, for example a pattern.
    """
    return _example(schema, schema, _DEEPEST)


def _example(schema: object, root: object, depth: int) -> object:
    if not isinstance(schema, dict) or depth == 0:
        return None
    for given in (schema.get("examples"), schema.get("enum")):
        if isinstance(given, list) and given:
            return given[0]
    for name in ("example", "const", "default"):
        if name in schema:
            return schema[name]
    if isinstance(schema.get("$ref"), str):
        return _example(_referred(schema["$ref"], root), root, depth - 1)
    for name in ("oneOf", "anyOf", "allOf"):
        options = schema.get(name)
        if isinstance(options, list) and options and "properties" not in schema:
            return _example(options[0], root, depth - 1)
    return _of_type(schema, root, depth)


def _of_type(schema: Mapping[str, Any], root: object, depth: int) -> object:
    implied = "object" if "properties" in schema else "string" if "format" in schema else None
    kind = schema.get("type", implied)
    named = kind[0] if isinstance(kind, list) and kind else kind
    if named == "object":
        given = schema.get("properties")
        members = list(given.items())[:_MOST_MEMBERS] if isinstance(given, dict) else []
        return {name: _example(member, root, depth - 1) for name, member in members}
    if named == "array":
        return [_example(schema["items"], root, depth - 1)] if isinstance(schema.get("items"), dict) else []
    if named in ("integer", "number"):
        least = schema.get("minimum")
        return least if isinstance(least, int | float) and least > 0 else 7
    if named == "boolean":
        return True
    return _STRINGS.get(str(schema.get("format")), "text") if named == "string" else None


def _referred(reference: str, root: object) -> object:
    """The part of ``root`` that a reference such as ``#/$defs/money`` names, or None."""
    found = root if reference.startswith("#") else None
    for name in reference.removeprefix("#").split("/")[1:]:
        found = found.get(name.replace("~1", "/").replace("~0", "~")) if isinstance(found, dict) else None
    return found

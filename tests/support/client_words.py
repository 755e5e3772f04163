"""Names, texts and types of Python that are made of those of an OpenAPI document."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from textwrap import wrap
from typing import Any, Final

from pydantic.alias_generators import to_camel, to_snake

WIDTH: Final = 120
TIMES: Final = frozenset({"since", "until", "time"})
"""Members that are a point in time: a text, a time, or a duration before now."""
DURATIONS: Final = frozenset({"window", "olderThan"})
"""Members that are a duration, as a text."""
SECONDS: Final = frozenset({"delay", "expiresIn", "overlap", "timeout"})
"""Members that are a duration, as a number of seconds."""

Schema = Mapping[str, Any]


def snake(name: str) -> str:
    """The name of a member in Python, from which the client makes the one of the API again."""
    made = to_snake(name)
    assert to_camel(made) == name, name
    return made


def class_of(operation: str) -> str:
    """``endpoints.list_health`` as the beginning of a name of a class."""
    return "".join(part.capitalize() for part in re.split(r"[._]", operation))


def reference(schema: Schema) -> str:
    return str(schema["$ref"]).rpartition("/")[2]


def docstring(words: str, indent: int) -> Iterator[str]:
    """A text as a docstring, in lines of at most 120 characters."""
    margin = " " * indent
    words = _in_python(words)
    assert '"""' not in words
    assert "\\" not in words
    if "\n\n" not in words and len(line := f'{margin}"""{" ".join(words.split())}"""') <= WIDTH and words[-1] != '"':
        yield line
        return
    for index, paragraph in enumerate(words.split("\n\n")):
        yield from [""] if index else []
        quotes = "" if index else '"""'
        text = quotes + " ".join(paragraph.split())
        yield from (f"{margin}{each}" for each in wrap(text, WIDTH - indent, break_long_words=False))
    yield f'{margin}"""'


def _in_python(words: str) -> str:
    """Words about the wire in those of Python, and of Sphinx: members in snake case, None, no bare stars."""
    words = re.sub(
        r"(?<!`)`([^`]+)`(?!`)", lambda code: f"``{to_snake(code[1]) if code[1].isidentifier() else code[1]}``", words
    )
    words = re.sub(r'"([^"`\s]+)"', r"``\1``", words)
    words = re.sub(r"(?<![`\w.])\*(?![`\w])", "``*``", words)
    words = re.sub(r"\bnull\b", "None", words)
    return re.sub(r"(?<!`)\b[a-z]+[A-Z]\w*\b(?!`)", lambda name: f"``{to_snake(name[0])}``", words)


def answer_type(schema: Schema) -> str:
    """The type of a value of an answer: texts are open, and ids are texts."""
    if not {"type", "anyOf", "$ref"} & schema.keys():
        return "Any"
    if "$ref" in schema:
        return reference(schema)
    if "anyOf" in schema:
        return _union(answer_type(each) for each in schema["anyOf"])
    if isinstance(schema["type"], list):
        return _union(answer_type({"type": each}) for each in schema["type"])
    match schema["type"]:
        case "array":
            return f"Sequence[{answer_type(schema['items'])}]"
        case "object":
            return f"Mapping[str, {answer_type(schema.get('additionalProperties', {}))}]"
        case "string":
            return "datetime" if schema.get("format") == "date-time" else "str"
    return _SCALARS[schema["type"]]


def given_type(schema: Schema, name: str = "") -> str:
    """The type of a value that a caller gives: a closed choice is one of literals."""
    if not {"type", "anyOf", "$ref"} & schema.keys():
        return "object"
    if "$ref" in schema:
        return reference(schema)
    if "anyOf" in schema:
        return _union(given_type(each, name) for each in schema["anyOf"])
    if "enum" in schema:
        return f"Literal[{', '.join(json.dumps(each) for each in schema['enum'])}]"
    match schema["type"]:
        case "array":
            return f"Sequence[{given_type(schema['items'])}]"
        case "object":
            return f"Mapping[str, {given_type(schema.get('additionalProperties', {}))}]"
        case "string" if name in TIMES:
            return "PointInTime"
        case "string" if name in DURATIONS:
            return "Duration"
        case "number" | "integer" if name in SECONDS:
            return "Seconds"
    return _SCALARS[schema["type"]]


_SCALARS: Final = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}


def _union(types: Iterator[str]) -> str:
    return " | ".join(dict.fromkeys(types))


def call(head: str, arguments: Sequence[str], tail: str, indent: int) -> list[str]:
    """``head(arguments)tail`` as the formatter lays it out: in a line, in an indented line, or in a line for each."""
    margin = " " * indent
    line = f"{margin}{head}({', '.join(arguments)}){tail}"
    if len(line) <= WIDTH:
        return [line]
    inner = f"{margin}    {', '.join(arguments)}"
    if len(inner) <= WIDTH:
        return [f"{margin}{head}(", inner, f"{margin}){tail}"]
    return [f"{margin}{head}(", *(f"{margin}    {each}," for each in arguments), f"{margin}){tail}"]

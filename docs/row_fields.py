"""The fields of dataclasses in the references of Python, with the descriptions from their annotations."""

import re
from dataclasses import fields, is_dataclass
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from pydantic.alias_generators import to_snake
from sphinx.application import Sphinx

from svc_pg.formats.doc import Doc


def without_docs(_app: Sphinx, described: Any, _is_bound: bool) -> None:  # noqa: FBT001 - Sphinx calls it
    """Leave the descriptions out of the signature of a dataclass: they follow it."""
    annotations = getattr(described, "__annotations__", {})
    if annotations and getattr(described, "__name__", "") == "__init__":
        described.__annotations__ = {name: _plain(hint) for name, hint in annotations.items()}


def _plain(hint: Any) -> Any:
    return get_args(hint)[0] if get_origin(hint) is Annotated else hint


def add_fields(_app: Sphinx, what: str, _name: str, described: Any, _options: object, lines: list[str]) -> None:
    """Append the description of each field to the docstring of a dataclass."""
    if what != "class" or not is_dataclass(described):
        return
    hints = get_type_hints(described, include_extras=True)
    found = {
        field.name: doc.words
        for field in fields(described)
        for doc in get_args(hints[field.name])[1:]
        if isinstance(doc, Doc)
    }
    lines += [f":ivar {name}: {_in_python(words)}" for name, words in found.items()]


def _in_python(words: str) -> str:
    """Words about the wire in those of Python."""
    named = re.sub(r"`(\w+)`", lambda name: f"``{to_snake(name[1])}``", words)
    return re.sub(r"\bnull\b", "None", named)

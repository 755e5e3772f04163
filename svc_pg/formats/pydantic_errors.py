"""Put the errors of pydantic into plain words."""

from collections.abc import Mapping
from typing import Any, Final

_WORDS: Final = {
    "bool_parsing": "write true or false",
    "bool_type": "write true or false",
    "dict_type": "write names with values",
    "extra_forbidden": "unknown",
    "int_from_float": "write a whole number",
    "int_parsing": "write a whole number",
    "int_type": "write a whole number",
    "greater_than_equal": "write {ge} or more",
    "less_than_equal": "write {le} or less",
    "list_type": "write a list",
    "literal_error": "write {expected}",
    "mapping_type": "write names with values",
    "missing": "missing",
    "model_type": "write names with values",
    "string_pattern_mismatch": "write it as {pattern}",
    "string_too_long": "write at most {max_length} characters",
    "string_too_short": "write a text of at least {min_length}",
    "string_type": "write a text",
    "too_short": "write a list of at least {min_length}",
    "tuple_type": "write a list",
    "uuid_parsing": "not an id: ids are UUIDs",
}


def reason(details: Mapping[str, Any]) -> str:
    """The reason in one entry of ``ValidationError.errors()``. It repeats the value only if our own validator does."""
    context = details.get("ctx", {})
    if details["type"] in _WORDS:
        return _WORDS[details["type"]].format_map({name: _whole(value) for name, value in context.items()})
    return str(context.get("error", details["msg"]))


def _whole(value: object) -> object:
    """A limit as people write it: 60, not 60.0."""
    return int(value) if isinstance(value, float) and value.is_integer() else value

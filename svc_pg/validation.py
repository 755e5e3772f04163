"""Say in plain words what pydantic finds wrong with a value."""

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
    "string_type": "write a text",
    "too_short": "write a list of at least {min_length}",
    "tuple_type": "write a list",
    "uuid_parsing": "not an id: ids are UUIDs",
}


def reason(details: Mapping[str, Any]) -> str:
    """What is wrong, of one entry of ``ValidationError.errors()``. It does not repeat the value, unless we did so."""
    context = details.get("ctx", {})
    if details["type"] in _WORDS:
        return _WORDS[details["type"]].format_map(context)
    return str(context.get("error", details["msg"]))

"""The base of the models of a configuration, and the wording of their errors."""

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from types import NoneType, UnionType
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin

from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationError

from svc_pg.database.table_names import TableName
from svc_pg.errors import ConfigError
from svc_pg.formats.pydantic_errors import reason

Model = TypeVar("Model", bound=BaseModel)


class StrictModel(BaseModel):
    """A model that refuses unknown keys."""

    model_config = ConfigDict(extra="forbid", validate_assignment=True, populate_by_name=True)


def _canonical_table(text: str) -> str:
    try:
        return str(TableName.parse(text))
    except ConfigError as error:
        raise ValueError(error.message) from error


TableText = Annotated[str, AfterValidator(_canonical_table)]
"""A table's name in its one spelling."""


def validated(model: type[Model], values: Mapping[str, Any], *, source: str) -> Model:
    """Make the model of these values. Raises ConfigError with a line for each problem, which begins with ``source``."""
    try:
        return model.model_validate(values)
    except ValidationError as error:
        problems = [f"{source}: {_problem(model, details)}" for details in error.errors()]
        raise ConfigError("\n".join(problems)) from error


def _problem(model: type[BaseModel], details: Mapping[str, Any]) -> str:
    """One problem in a line that begins with its key path; an unknown key comes with the nearest valid name."""
    path: tuple[int | str, ...] = details["loc"]
    if details["type"] == "extra_forbidden":
        known = _keys_at(model, path[:-1])
        near = get_close_matches(str(path[-1]), known, n=1, cutoff=0.5)
        advice = f'did you mean "{near[0]}"?' if near else f"known keys: {', '.join(known)}"
        return f"{_key_path(path)}: unknown key; {advice}"
    if details["type"] == "missing":
        return f"{_key_path(path)}: missing"
    if details["type"] == "string_pattern_mismatch":
        return f"{_key_path(path)}: not an event name; write lower-case words with dots, such as order.created"
    return f"{_key_path(path)}: {reason(details)}"


def _key_path(path: Sequence[int | str]) -> str:
    """("audit", "tables", 0, "name") -> audit.tables[0].name"""
    text = ""
    for step in path:
        if step == "[key]":
            continue
        if isinstance(step, int):
            text += f"[{step}]"
        else:
            text += f'."{step}"' if "." in step else f".{step}"
    return text.removeprefix(".") or "(top level)"


def _keys_at(model: type[BaseModel], path: Sequence[int | str]) -> list[str]:
    kind: Any = model
    for step in path:
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            kind = {field.alias or name: field for name, field in kind.model_fields.items()}[str(step)].annotation
        else:
            kind = get_args(kind)[-1]  # list[X] and dict[str, X] hold an X
        kind = _plain(kind)
    return [field.alias or name for name, field in kind.model_fields.items()]


def _plain(kind: Any) -> Any:
    """The X of X | None and of Annotated[X, ...]."""
    if get_origin(kind) in (Annotated, Union, UnionType):
        return _plain(next(part for part in get_args(kind) if part is not NoneType))
    return kind

"""The filters of a list as options of a command."""

from collections.abc import Callable, Mapping
from functools import wraps
from inspect import Parameter
from typing import Annotated, Any, Final, assert_never

import typer

from svc_pg.database.filters import ListFilter, filters_of

from .completion import events, one_of, search_keys
from .named_ids import endpoint_id, tenant_id
from .options import Between, period_of
from .shared_options import Command, parameters_of, with_parameters

_BETWEEN: Final = Parameter("between", Parameter.KEYWORD_ONLY, default=None, annotation=Between)
_TIME: Final = ": 1h, 7d, or 2026-01-31T12:00:00Z"


def filter_options(declaration: type) -> Callable[[Command], Command]:
    """Give a command an option for each filter of a TypedDict; the given options become its keywords.

    If it has since and until, ``--between`` gives both.
    """
    wanted = filters_of(declaration).values()
    has_period = {each.name for each in wanted} >= {"since", "until"}

    def decorated(command: Command) -> Command:
        @wraps(command)
        def called(**given: Any) -> None:
            values = {each: given.pop(each.name) for each in wanted}
            used = {each: value for each, value in values.items() if value not in (None, False, [])}
            read = {each.name: _read(each, value) for each, value in used.items()}
            if has_period:
                period = period_of(given.pop("between"), since=read.get("since"), until=read.get("until"))
                read |= period._asdict() if period else {}
            command(**given, **{name: _found(name, value, given["database_url"]) for name, value in read.items()})

        own = parameters_of(command)
        options = [*map(_option, wanted), *([_BETWEEN] if has_period else [])]
        arguments = [each for each in own if each.kind is not Parameter.KEYWORD_ONLY]
        return with_parameters(called, [*arguments, *options, *(each for each in own if each not in arguments)])

    return decorated


def names(declaration: type) -> str:
    """The options, as a list for an error."""
    return ", ".join("--" + each.option for each in filters_of(declaration).values())


def _option(wanted: ListFilter) -> Parameter:
    option = typer.Option(
        "--" + wanted.option,
        metavar=None if wanted.kind == "flag" else _metavar(wanted),
        help=f"Only {wanted.words}{_written(wanted)}.",
        autocompletion=one_of(*wanted.choices) if wanted.choices else _COMPLETIONS.get(wanted.name),
    )
    hint = bool if wanted.kind == "flag" else list[str] | None if wanted.kind == "texts" else str | None
    default = False if wanted.kind == "flag" else None
    return Parameter(wanted.name, Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[hint, option])


def _read(wanted: ListFilter, value: Any) -> object:
    if isinstance(value, list):
        return [_read(wanted, each) for each in value]
    if isinstance(value, bool):
        return value
    try:
        return wanted.read(next((each for each in wanted.choices if each.lower() == value.lower()), value))
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint=f"'--{wanted.option}'") from error


def _found(name: str, value: Any, database_url: str | None) -> object:
    """The value of a filter, with the ids of endpoints and tenants in place of their names."""
    find = _BY_NAME.get(name)
    if find is None:
        return value
    return [find(each, database_url) for each in value] if isinstance(value, list) else find(value, database_url)


def _metavar(wanted: ListFilter) -> str:
    match wanted.kind:
        case "time":
            return "DURATION|TIME"
        case "ids":
            return "ID,ID"
        case "text" | "texts" | "id" | "number" | "choice" | "flag":
            return wanted.option.rpartition("-")[2].upper()
        case _:
            assert_never(wanted.kind)


def _written(wanted: ListFilter) -> str:
    among = f": {', '.join(wanted.choices[:-1])} or {wanted.choices[-1]}" if wanted.choices else ""
    match wanted.kind:
        case "time":
            return _TIME
        case "ids":
            return ", with commas between their ids"
        case "texts":
            return among + "; repeat it for several"
        case "choice" | "text" | "id" | "number" | "flag":
            return among
        case _:
            assert_never(wanted.kind)


_BY_NAME: Final[Mapping[str, Callable[[str, str | None], str]]] = {
    "endpoint": endpoint_id,
    "tenant": tenant_id,
    "not_tenant": tenant_id,
}
_COMPLETIONS: Final[Mapping[str, Callable[..., Any]]] = {"event": events, "payload": search_keys}

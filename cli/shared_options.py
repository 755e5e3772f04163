"""Options that several commands have, declared once."""

from collections.abc import Callable, Sequence
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Any, get_type_hints

Command = Callable[..., None]


def shared_options(declaration: type) -> Callable[[Command], Command]:
    """Give a command the options of a TypedDict, above ``--database-url``; those that are given become its keywords."""
    hints = get_type_hints(declaration, include_extras=True)
    options = [Parameter(name, Parameter.KEYWORD_ONLY, default=None, annotation=hint) for name, hint in hints.items()]

    def decorated(command: Command) -> Command:
        @wraps(command)
        def called(**given: Any) -> None:
            command(**{name: value for name, value in given.items() if name not in hints or value is not None})

        own = parameters_of(command)
        place = [each.name for each in own].index("database_url")
        return with_parameters(called, [*own[:place], *options, *own[place:]])

    return decorated


def parameters_of(command: Command) -> Sequence[Parameter]:
    """The parameters of a command, without its ``**`` one."""
    return [each for each in signature(command).parameters.values() if each.kind is not Parameter.VAR_KEYWORD]


def with_parameters(called: Command, parameters: Sequence[Parameter]) -> Command:
    """A function of keywords that Typer takes for one of these parameters."""
    called.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    called.__annotations__ = {each.name: each.annotation for each in parameters}
    return called

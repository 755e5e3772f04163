"""Read what a revision of Alembic or Django changes from its file, without running it."""

import ast
from pathlib import Path
from typing import Any, Final

from svc_pg.errors import ConfigError
from svc_pg.schema.configuration_change import ConfigurationChange

_CALLS: Final = ("up", "InstallSvcPg")
_HINT: Final = "Name a file that svc-pg migrate wrote, without --sql: with it the file has its SQL to read."


def read_change(path: Path) -> ConfigurationChange:
    """The change of the revision in a file. Raises ConfigError if it has none that svc-pg wrote."""
    try:
        module = ast.parse(path.read_bytes(), filename=str(path))
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from error
    except (SyntaxError, ValueError) as error:
        raise ConfigError(f"{path}: not a Python file: {error}") from error
    constants = dict(_constants(module))
    calls = [node for node in ast.walk(module) if isinstance(node, ast.Call) and _is_ours(node)]
    if len(calls) != 1:
        raise ConfigError(f"{path}: {len(calls)} calls that install svc-pg, in place of one", hint=_HINT)
    try:
        options = {str(each.arg): _value(each.value, constants) for each in calls[0].keywords}
        return ConfigurationChange(**options)
    except (ValueError, TypeError, KeyError) as error:
        raise ConfigError(f"{path}: the call that installs svc-pg is not as svc-pg writes it", hint=_HINT) from error


def _constants(module: ast.Module) -> Any:
    """The module's names that are assigned once to an expression."""
    for node in module.body:
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            yield node.targets[0].id, node.value


def _value(node: ast.expr, constants: dict[str, ast.expr]) -> Any:
    return ast.literal_eval(constants[node.id] if isinstance(node, ast.Name) else node)


def _is_ours(call: ast.Call) -> bool:
    return _name(call.func) in _CALLS and {each.arg for each in call.keywords} >= {"version", "before", "after"}


def _name(function: ast.expr) -> str:
    match function:
        case ast.Attribute():
            return function.attr
        case ast.Name():
            return function.id
        case _:
            return ""

"""The references that the program itself tells: its commands, its configuration, its functions in Python."""

import importlib
import inspect
import json
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import typer
from typer.core import TyperGroup

from cli.app import COMMANDS, load
from svc_pg import Config
from svc_pg.config.installed_parts import reader_of
from svc_pg.formats import durations

NAMES: Final = {
    "svc_pg.integrations.asgi": ["ActorMiddleware"],
    "svc_pg.integrations.wsgi": ["WsgiActorMiddleware"],
    "svc_pg.integrations.django.admin": ["AuditHistoryMixin"],
    "svc_pg.integrations.django.models": ["Entry"],
    "svc_pg.integrations.extractors": ["from_bearer", "from_header", "from_cookie", "Request", "ACTOR_HEADER"],
    "svc_pg.integrations.fastapi": ["acting_as", "signed_webhook", "MAX_BYTES"],
    "svc_pg.integrations.flask": ["acting_as"],
    "svc_pg.integrations.litestar": ["acting_as"],
    "svc_pg.integrations.jinja": ["add_templates"],
    "svc_pg.integrations.psycopg": ["with_audit"],
    "svc_pg.integrations.sqlalchemy": ["with_audit"],
    "svc_pg.integrations.sqlite": ["with_audit"],
    "svc_pg.integrations.mysql": ["with_audit"],
    "svc_pg.maintenance": ["maintain", "Maintenance"],
}
"""The public names of modules without ``__all__``."""

PAGES: Final = ("limit", "cursor", "before")
"""The parameters of every list."""


UNFILLED: Final = "This page is empty until the site is built"
"""The beginning of the line that tells so to readers of the repository."""


def fill(text: str) -> str:
    """Replace each line ``<!-- generated: NAME ARGUMENT -->``, or ``.. generated: NAME ARGUMENT``.

    A paragraph that begins with UNFILLED goes.
    """

    def part(found: re.Match[str]) -> str:
        name, *arguments = found[1].split()
        return PARTS[name](*arguments)

    text = re.sub(rf"^{UNFILLED}.*?\n\n", "", text, flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"^(?:<!--|\.\.) generated: ([\w. ]+?)(?: -->)?$", part, text, flags=re.MULTILINE)


def command_line() -> str:
    """Every command with its arguments, options and defaults, as its ``--help`` has them."""
    lines: list[str] = []
    panel = ""
    for name, summary in COMMANDS.items():
        if summary.panel != panel:
            panel = summary.panel
            lines += [f"## {panel}", ""]
        for path, command in _commands(load(name), "svc-pg", name):
            lines += _command(path, command)
    return "\n".join(lines)


def _commands(command: Any, *path: str) -> Iterator[tuple[str, Any]]:
    if isinstance(command, TyperGroup):
        for name, member in command.commands.items():
            yield from _commands(member, *path, name)
    else:
        yield " ".join(path), command


def _command(path: str, command: Any) -> Iterator[str]:
    context = typer.Context(command, info_name=path)
    parameters = [each for each in command.params if not each.hidden]
    yield from [f"### {path}", "", "```text", " ".join([path, *command.collect_usage_pieces(context)]), "```", ""]
    yield from [inspect.cleandoc(command.help or ""), ""]
    if parameters:
        yield from ["| Argument or option | Meaning | Default |", "|---|---|---|"]
        yield from (_parameter(each, context) for each in parameters)
        yield ""


def _parameter(parameter: Any, context: Any) -> str:
    value = parameter.metavar or parameter.display_type(context).strip("<>")
    if parameter.param_type_name == "argument":
        names = [value]
    else:
        names = [*parameter.opts, *parameter.secondary_opts]
        names[-1] += f" {value}" if value and not parameter.is_flag else ""
    default = "required" if parameter.required else ""
    if not parameter.required and not callable(parameter.default):
        default = _default(parameter.default or None)
    meaning = [parameter.help or ""]
    meaning += ["Repeatable."] if parameter.multiple else []
    meaning += [f"Variable: `{parameter.envvar}`."] if parameter.envvar else []
    return _row(", ".join(f"`{name}`" for name in names), " ".join(meaning), default)


def configuration() -> str:
    """Every table and key of the configuration, with types and defaults, from the models that validate them."""
    schema = Config.model_json_schema()
    models: Mapping[str, Any] = schema["$defs"]
    lines: list[str] = []
    described: dict[str, str] = {}

    def describe(name: str, path: str) -> None:
        if name in described:
            lines.extend([f"## {path}", "", f"The keys of `{described[name]}`.", ""])
            return
        described[name] = path
        model = models[name]
        lines.extend([f"## {path}", "", model.get("description", ""), ""])
        lines.extend(["| Key | Value | Default | Read by |", "|---|---|---|---|"])
        inner: list[tuple[str, str]] = []
        for key, field in model["properties"].items():
            default = "required" if key in model.get("required", ()) else _default(_written(field))
            lines.append(_row(f"`{key}`", _type(field), default, reader_of(path.strip("[]"), key)))
            inner += [(member, _path(path, key, field)) for member in _models(field)]
        lines.append("")
        for member, section in inner:
            describe(member, section)

    for section, field in schema["properties"].items():
        for name in _models(field):
            describe(name, f"[{section}]")
    return "\n".join(lines)


def _models(field: Any) -> Iterator[str]:
    """The models that a field of a schema holds, also in lists and maps."""
    if isinstance(field, dict):
        if "$ref" in field:
            yield field["$ref"].rpartition("/")[2]
        for key in ("anyOf", "items", "additionalProperties"):
            yield from _models(field.get(key))
        yield from _models([*field.get("patternProperties", {}).values()])
    elif isinstance(field, list):
        for each in field:
            yield from _models(each)


def _path(path: str, key: str, field: Mapping[str, Any]) -> str:
    inner = f"{path.strip('[]')}.{key}"
    if field.get("type") == "array":
        return f"[[{inner}]]"
    return f'[{inner}."NAME"]' if field.get("type") == "object" else f"[{inner}]"


def _type(field: Any) -> str:
    if "anyOf" in field:
        return " or ".join(dict.fromkeys(_type(each) for each in field["anyOf"] if each.get("type") != "null"))
    if "$ref" in field:
        return "a table"
    if "enum" in field or "const" in field:
        return ", ".join(f'`"{value}"`' for value in field.get("enum", [field.get("const")]))
    match field.get("type"):
        case "array":
            return "tables" if "$ref" in field["items"] else f"a list of {_several(field['items'])}"
        case "object":
            values = next(iter(field.get("patternProperties", {}).values()), field.get("additionalProperties"))
            return f"a table of names, each with {_type(values)}" if isinstance(values, dict) else "a table"
        case "integer" | "number":
            bounds = [f"{word} {field[key]}" for key, word in (("minimum", "from"), ("maximum", "to")) if key in field]
            return " ".join(["a number", *bounds])
        case "boolean":
            return "`true` or `false`"
        case _:
            return "a duration" if field.get("format") == "duration" else "a text"


def _several(item: Any) -> str:
    one = _type(item)
    return f"{one.removeprefix('a ')}s" if one.startswith("a ") else one


def _written(field: Mapping[str, Any]) -> object:
    """The default of a field as people write it."""
    value = field.get("default")
    return durations.text(durations.parse(value)) if value and field.get("format") == "duration" else value


def _default(value: object) -> str:
    if value in (None, "", [], {}):
        return ""
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def python(module_name: str) -> str:
    """The public names of a module, in reStructuredText for Sphinx's autodoc."""
    module = importlib.import_module(module_name)
    lines = [module_name, "-" * len(module_name), "", inspect.cleandoc(module.__doc__ or "").split("\n\n")[0], ""]
    for name in NAMES.get(module_name) or module.__all__:
        value = getattr(module, name)
        if not inspect.ismodule(value) and not name.startswith("_"):
            lines += [f".. {_directive(value)}:: {module_name}.{name}", ""]
    return "\n".join(lines)


def _directive(value: object) -> str:
    if not inspect.isclass(value):
        return "autofunction" if inspect.isroutine(value) else "autodata"
    return "autoexception" if issubclass(value, BaseException) else "autoclass"


def errors() -> str:
    """The tree of errors, as its module draws it, and each with its meaning."""
    module = importlib.import_module("svc_pg.errors")
    found = [
        name for name, value in vars(module).items() if inspect.isclass(value) and issubclass(value, module.SvcError)
    ]
    summary, tree = inspect.cleandoc(module.__doc__ or "").split("\n\n", 1)
    lines = [f"{summary}", "", ".. code-block:: text", "", *(f"    {line}" for line in tree.splitlines()), ""]
    return "\n".join(lines + [f".. autoexception:: svc_pg.errors.{name}\n" for name in found])


def operations(*words: str) -> str:
    """The operations of one part of the HTTP API, as the OpenAPI document has them: ``operations Audit log``."""
    document = json.loads(Path(__file__).with_name("openapi.json").read_text(encoding="utf-8"))
    filters = _names(document["paths"]["/audit/facets"]["get"], "query")
    part = next(tag for tag in document["tags"] if tag["name"] == " ".join(words))
    lines = [part["description"], "", "| Request | Does | For |", "|---|---|---|"]
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            if part["name"] in operation["tags"] and method != "head":
                lines.append(_operation(f"{method.upper()} {path}", operation, filters, document))
    return "\n".join(lines)


def _operation(request: str, operation: Any, filters: list[str], document: Any) -> str:
    query, body = _names(operation, "query"), _members(operation, document)
    words = [f"{operation['summary']}."]
    if set(filters) <= set(query):
        query = ["filters", *(name for name in query if name not in filters)]
    if set(PAGES) <= set(query):
        query = [*(name for name in query if name not in PAGES), "pages"]
    words += [f"Query: {', '.join(query)}."] if query else []
    words += [f"Body: {', '.join(body)}."] if body else []
    words += [f"Header: {', '.join(headers)}."] if (headers := _names(operation, "header")) else []
    permissions = [name for scheme in operation.get("security", ()) for names in scheme.values() for name in names]
    if "session of one tenant" in operation["description"]:
        permissions.append("tenants")
    return _row(f"`{request}`", " ".join(words), ", ".join(permissions))


def _names(operation: Any, place: str) -> list[str]:
    return [each["name"] for each in operation["parameters"] if each["in"] == place]


def _members(operation: Any, document: Any) -> list[str]:
    """The members of the body of an operation, those that it needs first; the others have a question mark."""
    content = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
    schema = content.get("schema", {})
    schema = document["components"]["schemas"].get(schema.get("$ref", "").rpartition("/")[2], schema)
    needed = schema.get("required", [])
    return [*needed, *(f"{name}?" for name in schema.get("properties", {}) if name not in needed)]


def _row(*cells: str) -> str:
    return "| " + " | ".join(" ".join(cell.split()).replace("|", "\\|") for cell in cells) + " |"


PARTS: Final[Mapping[str, Callable[..., str]]] = {
    "command_line": command_line,
    "configuration": configuration,
    "errors": errors,
    "operations": operations,
    "python": python,
}

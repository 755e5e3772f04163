"""Every block of code in README and docs/ is right as far as it can be told without running it."""

import ast
import configparser
import importlib
import inspect
import json
import re
import shlex
import shutil
import subprocess
import tomllib
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, NamedTuple

import psycopg
import pytest
import typer
import yaml
from jinja2 import Environment

from cli.app import COMMANDS, load
from svc_pg import Config, SvcError, audit, schema, webhooks
from tests.support.documents import DOCUMENTS, FENCED, ROOT

INVENTED: Final = {"celery", "orders", "shop"}
"""The examples' own applications, and what tests do not install."""


class Block(NamedTuple):
    """A fenced block, and the file and line where it stands."""

    position: str
    language: str
    text: str


def blocks() -> Iterator[Block]:
    """Every fenced block of README and docs/, but for the navigation."""
    for document in DOCUMENTS:
        text = document.read_text(encoding="utf-8")
        for found in FENCED.finditer(text):
            position = f"{document.relative_to(ROOT)}:{text.count(chr(10), 0, found.start()) + 1}"
            if not found["language"].startswith("{"):
                yield Block(position, found["language"], found["text"])


BLOCKS: Final = list(blocks())


def wrong(language: str, problem: Callable[[str], object]) -> dict[str, object]:
    """The blocks of a language that have a problem, by their positions; there must be some without one."""
    texts = {block.position: block.text for block in BLOCKS if block.language == language}
    assert texts
    return {position: found for position, text in texts.items() if (found := problem(text))}


def test_every_block_says_its_language() -> None:
    checked = {"python", "sh", "sql", "toml", "json", "js", "yaml", "ini", "html+jinja", "html+django"}
    others = {"nginx", "css", "go", "ruby", "php", "java", "csharp", "rust", "elixir", "ts", "psql", "console", "text"}
    assert [block for block in BLOCKS if block.language not in checked | others] == []


def test_python_compiles_and_calls_what_there_is() -> None:
    assert wrong("python", _problems_of_python) == {}


def _problems_of_python(text: str) -> list[str]:
    try:
        tree = compile(text, "<example>", "exec", ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    except SyntaxError as error:
        return [str(error)]
    return [problem for node in ast.walk(tree) for problem in _problems_of_node(node)]


def _problems_of_node(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Import(names=names):
            yield from (f"no {each.name}" for each in names if not _is_there(each.name))
        case ast.ImportFrom(module=str(module), names=names) if module.startswith("svc_pg"):
            yield from (f"no {each.name} in {module}" for each in names if not _has(module, each.name))
        case ast.ImportFrom(module=str(module)) if not _is_there(module):
            yield f"no {module}"
        case ast.Call(func=ast.Attribute() as function, keywords=keywords) if called := _public(function):
            known = inspect.signature(called).parameters
            if not any(each.kind is each.VAR_KEYWORD for each in known.values()):
                yield from (f"{ast.unparse(function)} has no {each.arg}" for each in keywords if each.arg not in known)
        case ast.Attribute(value=ast.Name(id="audit" | "schema" | "webhooks")) if not _public(node):
            yield f"no {ast.unparse(node)}"


def _is_there(module: str) -> bool:
    top = module.partition(".")[0]
    return top in INVENTED or find_spec(top) is not None


def _has(module: str, name: str) -> bool:
    if "django" in module:  # Django's models cannot be imported without an application's settings
        spec = find_spec(module)
        assert spec
        assert spec.origin
        return bool(re.search(rf"\b{name}\b", Path(spec.origin).read_text(encoding="utf-8")))
    return hasattr(importlib.import_module(module), name) or find_spec(f"{module}.{name}") is not None


def _public(node: ast.Attribute) -> Any:
    """The function that ``audit.query`` or ``webhooks.endpoints.create`` means, if it means one of ours."""
    path = ast.unparse(node).split(".")
    found: Any = {"audit": audit, "schema": schema, "webhooks": webhooks}.get(path[0])
    for name in path[1:]:
        found = getattr(found, name, None)
    return found


def test_the_shell_can_read_its_blocks() -> None:
    text = "\n".join(block.text for block in BLOCKS if block.language == "sh")
    assert subprocess.run(["bash", "-n"], input=text, capture_output=True, text=True).stderr == ""


def test_every_command_has_the_options_that_are_shown() -> None:
    assert wrong("sh", _problems_of_commands) == {}


def _problems_of_commands(text: str) -> list[str]:
    problems = []
    for line in text.replace("\\\n", " ").splitlines():
        words = shlex.shlex(line, posix=True, punctuation_chars=True)
        words.whitespace_split = True
        called: list[str] = []
        for word in [*words, ";"]:
            if set(word) <= set("|&;<>()$"):
                problems += [problem for problem in [_problem_of_command(called)] if problem]
                called = []
            else:
                called.append(word)
    return problems


def _problem_of_command(words: list[str]) -> str:
    """The problem of one command, if it calls ours: an unknown command, option or too few arguments."""
    start = next((index for index, word in enumerate(words) if Path(word).name == "svc-pg"), None)
    if start is None or words[0] in {"docker", "pip"}:
        return ""
    rest = words[start + 1 :]
    if not rest or rest[0] not in COMMANDS:
        return "" if rest and rest[0].startswith("-") else f"no command {rest}"
    command = load(rest.pop(0))
    while hasattr(command, "commands"):
        name = rest.pop(0) if rest else ""
        if name not in command.commands:
            return f"no command {name} of {command.name}"
        command = command.commands[name]
    try:
        command.make_parser(typer.Context(command)).parse_args(rest)
    except Exception as error:  # noqa: BLE001 - Click's, which Typer has in a package of its own
        return f"{words}: {error}"
    return ""


def test_sql_parses_and_names_what_is_in_the_schema(conn: psycopg.Connection[Any]) -> None:
    names = {
        name
        for [name] in conn.execute(
            "select relname from pg_class where relnamespace = 'svc'::regnamespace"
            " union select proname from pg_proc where pronamespace = 'svc'::regnamespace"
        )
    }

    def problem(text: str) -> str:
        if text.startswith("svc.") or "@'%'" in text:  # the head of a function in docs/sql-api.md; MySQL's
            return ""
        plain = re.sub(r"--.*|'[^']*'", "", text)
        if unknown := set(re.findall(r"(?<!set local )\bsvc\.(\w+)\b(?! *=)", plain)) - names:
            made = {name for name in unknown if re.match(r"(as_of|history|record)_", name)}
            if unknown - made:
                return f"not in svc: {sorted(unknown - made)}"
        statements = re.sub(r"^(begin|commit|rollback);", "", text.rstrip().rstrip(";"), flags=re.MULTILINE)
        try:  # PL/pgSQL parses a statement before it looks up a table
            with conn.transaction(force_rollback=True):
                conn.execute(f"do $block$ begin return;\n{statements};\nend $block$".encode())
        except psycopg.Error as error:
            return str(error)
        return ""

    assert wrong("sql", problem) == {}


def test_toml_is_a_configuration() -> None:
    def problem(text: str) -> str:
        try:
            is_part = not text.startswith(("[", "#")) or text.startswith("[[audit.tables.enrich]]")
            table = "[[audit.tables]]\nname = 'customer'\n" if is_part else ""
            Config.model_validate(tomllib.loads(table + text))
        except (ValueError, SvcError) as error:
            return str(error)
        return ""

    assert wrong("toml", problem) == {}


@pytest.mark.parametrize(
    ("language", "parse"),
    [
        ("json", json.loads),
        ("yaml", yaml.safe_load),
        ("ini", lambda text: configparser.ConfigParser(strict=True).read_string(text)),
        ("html+jinja", Environment(autoescape=True).parse),
    ],
)
def test_other_languages_parse(language: str, parse: Callable[[str], object]) -> None:
    def problem(text: str) -> str:
        try:
            parse(text)
        except Exception as error:  # noqa: BLE001 - each parser has its own
            return repr(error)
        return ""

    assert wrong(language, problem) == {}


@pytest.mark.parametrize(
    ("language", "command", "suffix"),
    [("js", ["node", "--check"], ".mjs"), ("ruby", ["ruby", "-c"], ".rb"), ("php", ["php", "-l"], ".php")],
)
def test_other_interpreters_can_read_their_blocks(
    language: str, command: list[str], suffix: str, tmp_path: Path
) -> None:
    if not shutil.which(command[0]):
        pytest.skip(f"{command[0]} is not installed")

    def problem(text: str) -> str:
        kind = ".cjs" if suffix == ".mjs" and "require(" in text else suffix
        file = tmp_path / f"example{kind}"
        file.write_text(text, encoding="utf-8")
        done = subprocess.run([*command, file], capture_output=True, text=True)
        return done.stderr + done.stdout if done.returncode else ""

    assert wrong(language, problem) == {}

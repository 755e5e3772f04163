"""The documentation names every command and every option, and leads to no place that does not exist."""

import ast
import json
import re
import tomllib
from collections.abc import Iterator
from dataclasses import fields
from datetime import timedelta
from importlib.util import find_spec
from pathlib import Path
from typing import get_args

import pytest
import typer
from pydantic.alias_generators import to_camel
from typer.core import TyperCommand, TyperGroup, TyperOption

from cli.app import COMMANDS as SUMMARIES
from cli.app import app, load
from docs import generated
from svc_pg.config.audited_table import Redaction
from svc_pg.console.built_in.webhook_endpoints import RegisteredEndpoint
from svc_pg.database.sqlstates import BY_SQLSTATE
from svc_pg.settings import Settings
from tests.support.documents import DOCUMENTS, ROOT, examples

COMMANDS = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")


def commands(group: TyperGroup, *path: str) -> Iterator[tuple[str, TyperCommand]]:
    """Every command below the group, with its whole name."""
    for name, command in group.commands.items():
        if isinstance(command, TyperGroup):
            yield from commands(command, *path, name)
        else:
            assert isinstance(command, TyperCommand)
            yield " ".join(["svc-pg", *path, name]), command


PROGRAM = typer.main.get_command(app)
ALL = dict(commands(TyperGroup(commands={name: load(name) for name in SUMMARIES})))


def test_the_page_of_the_command_line_lists_every_command() -> None:
    listed: set[str] = set()
    for line in COMMANDS.partition("## The commands")[2].splitlines():
        own, *groups = re.split(r"`(\w+)` with ", line)
        listed |= {f"svc-pg {name}" for name in re.findall(r"`([^`]+)`", own)}
        for group, names in zip(groups[::2], groups[1::2], strict=True):
            listed |= {f"svc-pg {group} {name}" for name in re.findall(r"`([^`]+)`", names)}
    assert listed == ALL.keys()


def test_no_option_is_documented_that_no_command_has() -> None:
    options = {
        option
        for command in [PROGRAM, *ALL.values()]
        for parameter in command.params
        for option in [*parameter.opts, *parameter.secondary_opts]
    }
    assert set(re.findall(r"`[^`\n]*?(--[a-z-]+)", COMMANDS)) - options == {"--help"}


def test_what_the_program_prints_names_pages_by_their_titles() -> None:
    """Whoever has the package alone has no folder of documents."""
    titles = {path.read_text(encoding="utf-8").partition("\n")[0][2:] for path in (ROOT / "docs").rglob("*.md")}
    named = set[str]()
    for path in [*(ROOT / "cli").rglob("*.py"), *(ROOT / "svc_pg").rglob("*.py")]:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        documented = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documented:
                assert not re.search(r"\bdocs/[\w/-]+\.md", node.value), f"{path}:{node.lineno}"
                named |= set(re.findall(r"\(the page ([^,)]+)", node.value.replace("\n# ", " ")))
    assert named <= titles
    assert len(named) >= 5


def _is_number(option: TyperOption) -> bool:
    return option.type_descriptor.annotation in (int, float)


def test_help_names_each_value_and_leaves_lines_to_the_terminal() -> None:
    for name, command in ALL.items():
        assert "\n" not in (command.help or "").replace("\n\n", ""), name
        for parameter in command.params:
            if not parameter.opts[0].startswith("-"):
                assert re.fullmatch(r"[A-Z]+(\|-)?", parameter.metavar or ""), f"{name} {parameter.name}"
            elif isinstance(parameter, TyperOption) and not parameter.hidden and _is_number(parameter):
                assert parameter.metavar == "N", f"{name} {parameter.name}"


def test_help_shows_the_default_of_a_duration_as_people_write_it() -> None:
    durations = [
        (name, parameter.default)
        for name, command in ALL.items()
        for parameter in command.params
        if parameter.metavar == "DURATION"
    ]
    assert len(durations) > 5
    assert [each for each in durations if isinstance(each[1], timedelta)] == []


def test_the_generated_references_have_every_command_and_option_and_every_key() -> None:
    text = generated.fill("<!-- generated: command_line -->\n")
    sections = {part.splitlines()[0]: part for part in text.split("### ")}
    assert {name: name in sections for name in ALL} == dict.fromkeys(ALL, True)
    missing = {
        f"{name} {option}"
        for name, command in ALL.items()
        for parameter in command.params
        for option in parameter.opts
        if not getattr(parameter, "hidden", False) and option.startswith("-") and f"`{option}" not in sections[name]
    }
    assert missing == set()
    keys = generated.configuration()
    assert "## [[audit.tables.enrich]]" in keys
    assert '## [webhooks.events."NAME"]' in keys
    assert '| `level` | `"row"`, `"statement"` | `row` | install |' in keys


def test_the_operations_of_the_api_stand_on_their_page() -> None:
    text = generated.fill((ROOT / "docs" / "routes.md").read_text(encoding="utf-8"))
    document = json.loads((ROOT / "docs" / "openapi.json").read_text(encoding="utf-8"))
    paths = [(method, path) for path, methods in document["paths"].items() for method in methods if method != "head"]
    shown = re.findall(r"^\| `([A-Z]+) (\S+)` \|", text, flags=re.MULTILINE)
    assert sorted(shown) == sorted((method.upper(), path) for method, path in paths)
    assert re.search(r"^\| `GET /audit/facets` \| .* Query: filters\. \| read, tenants \|$", text, flags=re.MULTILINE)
    assert "Body: name, permission, tenant?, expiresIn?. Header: Idempotency-Key. | admin |" in text


def test_the_reference_of_python_has_every_public_name() -> None:
    sources = {name: Path(str(getattr(find_spec(name), "origin", None))) for name in generated.NAMES}
    assert [name for name, source in sources.items() if "__all__" in source.read_text(encoding="utf-8")] == []
    for name in ("acting_as", "actor_middleware", "audit_connections"):
        assert f":: svc_pg.integrations.django.{name}\n" in generated.python("svc_pg.integrations.django")
    assert ":: svc_pg.integrations.extractors.ACTOR_HEADER\n" in generated.python("svc_pg.integrations.extractors")


def test_the_documented_endpoint_has_every_member() -> None:
    [example] = examples("managing-webhooks.md", "HTTP", "json")
    assert list(json.loads(example)) == [to_camel(field.name) for field in fields(RegisteredEndpoint)]


def test_every_error_of_sql_is_documented_with_its_class() -> None:
    texts = [file.read_text(encoding="utf-8") for file in (ROOT / "sql").rglob("*.sql*")]
    raised = {code for text in texts for code in re.findall(r"\bSV\d{3}\b", text)}
    document = (ROOT / "docs" / "sql-api.md").read_text(encoding="utf-8")
    documented = dict(re.findall(r"^\| `(SV\d{3})` \|.*\| (.*) ?\|$", document, flags=re.MULTILINE))
    known = {code: f"`{kind.__name__}`" for code, kind in BY_SQLSTATE.items()}
    assert {code: kind.strip() for code, kind in documented.items()} == dict.fromkeys(raised, "") | known


@pytest.mark.parametrize("page", ["audit.md", "databases.md", "howto/personal-data.md"])
def test_each_redaction_is_documented(page: str) -> None:
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    named = set(re.findall(r'["`](\w+)["`]', text))
    assert set(get_args(Redaction)) - named == set()


def test_every_extra_of_users_is_documented() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    of_developers = {"bench", "docs", "lint", "release", "test"}
    section = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8").partition("\n## Choose packages\n")[2]
    rows = [line for line in section.splitlines() if line.startswith("| `")]
    named = {name for row in rows for name in re.findall(r"`(\w+)`", row.split("|")[1])}
    assert named == {*project["optional-dependencies"]} - of_developers


def test_docker_sets_no_variable_that_nothing_reads() -> None:
    text = "".join((ROOT / "docker" / name).read_text(encoding="utf-8") for name in ("Dockerfile", "compose.yaml"))
    options = {str(parameter.envvar) for command in ALL.values() for parameter in command.params if parameter.envvar}
    settings = {f"SVC_{name.upper()}" for name in Settings.model_fields}
    used = set(re.findall(r"\bSVC_[A-Z_]+", text))
    assert used - options - settings == {"SVC_SECRETS_DIR", "SVC_PG_IMAGE"}
    assert {name.upper() for name in re.findall(r"\bkeep (svc_[a-z_]+)", text)} <= settings


def leads_somewhere(document: Path, target: str) -> bool:
    """Tell if the target of a link is a file, and has the heading that it may name: ``audit.md#the-actor``."""
    path, _, anchor = target.partition("#")
    file = document.parent / path if path else document
    if not file.is_file() or file.suffix != ".md":
        return file.is_file() and not anchor
    headings = re.findall(r"^#+ (.*)$", file.read_text(encoding="utf-8"), flags=re.MULTILINE)
    anchors = {re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-") for heading in headings}
    return not anchor or anchor in anchors


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: str(document.relative_to(ROOT)))
def test_every_link_leads_to_a_document(document: Path) -> None:
    text = document.read_text(encoding="utf-8")
    targets = [target for target in re.findall(r"\]\s?\(([^)]+)\)", text) if "://" not in target]
    assert [target for target in targets if not leads_somewhere(document, target)] == []


def test_pictures_are_small() -> None:
    pictures = list((ROOT / "docs" / "images").iterdir())
    assert [(each.name, each.stat().st_size) for each in pictures if each.stat().st_size > 150_000] == []
    assert {each.suffix for each in pictures} == {".png", ".svg"}

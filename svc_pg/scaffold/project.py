"""The project in a folder: its framework, its application objects, and the tool of its migrations."""

import ast
import configparser
import re
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Literal

from svc_pg.config import DEFAULT_FILE
from svc_pg.formats import toml
from svc_pg.scaffold.applications import APPLICATIONS, Application, Connections, applications, connections
from svc_pg.scaffold.prepared import DjangoSetting, Prepared, is_among
from svc_pg.scaffold.source_files import SourceFiles, is_file, is_folder, read_text
from svc_pg.scaffold.syntax_trees import Place, assigned_at, is_tuple
from svc_pg.schema.export.orm_migrations import alembic_ini

Migrations = Literal["alembic", "flask-migrate", "django"]

_SETTINGS: Final = "DJANGO_SETTINGS_MODULE"
_EXTENDED: Final[Sequence[DjangoSetting]] = ("INSTALLED_APPS", "MIDDLEWARE")
_REQUIREMENT: Final = re.compile(r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)")
_FRAMEWORKS: Final = {each.lower(): each for each in (*dict.fromkeys(APPLICATIONS.values()), "Django")}


@dataclass(frozen=True, slots=True)
class Project:
    """The facts of a project.

    ``settings`` is the place after Django's MIDDLEWARE and INSTALLED_APPS, ``tuples`` are those that are tuples, and
    ``prepared`` are the settings that svc-pg has there already. ``required`` are the frameworks among the requirements.
    ``problems`` are sentences for people.
    """

    migrations: Sequence[Migrations]
    applications: Sequence[Application]
    connections: Sequence[Connections]
    settings: Place | None
    has_django: bool
    tuples: Set[DjangoSetting]
    prepared: Set[DjangoSetting]
    required: Sequence[str]
    problems: Sequence[str]


def read_project(folder: Path) -> Project:
    """Read the files of a folder. A file that is broken is a problem of the project, never an error."""
    sources = SourceFiles.read(folder)
    problems: list[str] = []
    of_alembic: list[str] = []
    pyproject = _pyproject(folder, problems)
    migrations: list[Migrations] = list(_alembic(folder, pyproject, of_alembic))
    problems += of_alembic if migrations or of_alembic else _alembic_below(folder, sources)
    settings, has_django = None, is_file(folder / "manage.py")
    if has_django:
        settings = _django_settings(sources, problems)
        migrations.append("django")
    tree = sources.trees.get(settings.file) if settings else None
    tuples = {name for name in _EXTENDED if tree and is_tuple(tree, name)}
    required = sorted(_required(folder, pyproject))
    prepared = Prepared.read(sources.own)
    found, engines = _with_prepared(applications(sources.trees), connections(sources.trees), prepared)
    problems += sources.problems
    if not found and not has_django and not sources.is_cut:
        problems += _without_application(required, sources)
    problems += _of_applications([each for each in found if not each.is_prepared])
    return Project(migrations, found, engines, settings, has_django, tuples, prepared.django, required, problems)


def _with_prepared(
    found: Sequence[Application], engines: Sequence[Connections], prepared: Prepared
) -> tuple[list[Application], list[Connections]]:
    """The applications and engines, those marked that have the lines of svc-pg."""
    made, pools = [each.place for each in found], [each.place for each in engines]
    return (
        [replace(each, is_prepared=is_among(each.place, prepared.actors, made)) for each in found],
        [replace(each, is_prepared=is_among(each.place, prepared.engines, pools)) for each in engines],
    )


def _of_applications(lacking: Sequence[Application]) -> Iterator[str]:
    alone = [each for each in lacking if not each.is_mounted]
    if len(alone) > 1:
        places = ", ".join(f"{each.place.file}:{each.place.line}" for each in alone)
        yield f"there are {len(alone)} applications ({places}): each that writes needs the lines below"
    for each in lacking:
        if each.is_mounted:
            at = f"{each.place.target} ({each.place.file}:{each.place.line})"
            yield f"{at} is mounted in another application, whose lines name its actors too"


def _without_application(required: Sequence[str], sources: SourceFiles) -> Iterator[str]:
    below = next((file for file in sources.trees if file.name == "manage.py"), None)
    if below is not None:
        yield f"{below} is below this folder: run svc-pg there to have the lines for Django"
    elif required:
        yield f"{required[0]} is among the requirements, and no application object was found here"


def _alembic(folder: Path, pyproject: Mapping[str, Any], problems: list[str]) -> Iterator[Migrations]:
    ini = alembic_ini(folder)
    if ini is None:
        return
    name = ini.relative_to(folder)
    text = read_text(ini)
    if text is None:
        problems.append(f"{name} cannot be read, so no migration is proposed")
        return
    reader = configparser.RawConfigParser()
    try:
        reader.read_string(text)
    except configparser.Error as error:
        problems.append(f"{name} is broken, so no migration is proposed: {error.message.splitlines()[0]}")
        return
    is_flask = ini.parent != folder
    location = reader.get("alembic", "script_location", fallback="").strip() or _toml_location(pyproject)
    if not location and is_file(ini.parent / "env.py") and is_flask:
        location = "%(here)s"
    if not location:
        problems.append(f"{name} has no script_location, so no migration is proposed: add it to have one")
        return
    place = Path(location.replace("%(here)s", str(ini.parent)).replace("%%", "%"))
    if ":" not in location and not is_folder(folder / place):
        problems.append(f"{name} names the folder {location}, which is not there, so no migration is proposed")
        return
    yield "flask-migrate" if is_flask else "alembic"


def _alembic_below(folder: Path, sources: SourceFiles) -> Iterator[str]:
    """Tell of the first migrations of Alembic that are not in this folder."""
    for file in sources.trees:
        places = [file.parent, file.parent.parent] if file.name == "env.py" else []
        ini = next((place / "alembic.ini" for place in places if is_file(folder / place / "alembic.ini")), None)
        if ini is not None:
            start = ini.parent.parent if ini.parent.name == "migrations" else ini.parent
            up = "../" * len(start.parts)
            yield f"{ini} is below this folder: svc-pg migrate finds it in {start}, with --config {up}{DEFAULT_FILE}"
            return


def _toml_location(pyproject: Mapping[str, Any]) -> str:
    tool = pyproject.get("tool")
    table = tool.get("alembic") if isinstance(tool, dict) else None
    location = table.get("script_location") if isinstance(table, dict) else None
    return location if isinstance(location, str) else ""


def _django_settings(sources: SourceFiles, problems: list[str]) -> Place | None:
    program = sources.trees.get(Path("manage.py"))
    named = _settings_module(program) if program else None
    if named is None:
        elsewhere = {found for each in sources.trees.values() if (found := _settings_module(each))}
        named = elsewhere.pop() if len(elsewhere) == 1 else None
    if named is None:
        problems.append(f"manage.py names no settings ({_SETTINGS}), so add the lines below to yours")
        return None
    path = Path(*named.split("."))
    candidates = [path.with_suffix(".py"), path / "__init__.py"]
    beside = [file for file in sources.trees if file.parent in (path, path.parent) and file.parent.name == "settings"]
    known = [file for file in (*candidates, *beside) if file in sources.trees]
    if not known:
        problems.append(f"the settings of manage.py are {named}, and there is no such file here")
        return None
    for file in known:
        tree = sources.trees[file]
        if line := assigned_at(tree, "MIDDLEWARE"):
            last = max(line, assigned_at(tree, "INSTALLED_APPS") or 0)
            return Place(file, last, "MIDDLEWARE")
    problems.append(f"{known[0]} sets no MIDDLEWARE, so add the lines below where it is set")
    return Place(known[0], 0)


def _settings_module(tree: ast.Module) -> str | None:
    """The second argument of ``os.environ.setdefault(DJANGO_SETTINGS_MODULE, ...)``."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and len(node.args) == 2:
            values = [arg.value for arg in node.args if isinstance(arg, ast.Constant) and isinstance(arg.value, str)]
            if values[:1] == [_SETTINGS] and len(values) == 2 and all(map(str.isidentifier, values[1].split("."))):
                return values[1]
    return None


def _required(folder: Path, pyproject: Mapping[str, Any]) -> set[str]:
    """The frameworks among the requirements of the project."""
    lines = [line for file in sorted(folder.glob("requirements*.txt")) for line in (read_text(file) or "").splitlines()]
    project, tool = pyproject.get("project"), pyproject.get("tool")
    if isinstance(project, dict) and isinstance(project.get("dependencies"), list):
        lines += [each for each in project["dependencies"] if isinstance(each, str)]
    poetry = tool.get("poetry") if isinstance(tool, dict) else None
    if isinstance(poetry, dict) and isinstance(poetry.get("dependencies"), dict):
        lines += poetry["dependencies"]
    names = {match[1].lower() for line in lines if (match := _REQUIREMENT.match(line))}
    return {framework for name, framework in _FRAMEWORKS.items() if name in names}


def _pyproject(folder: Path, problems: list[str]) -> Mapping[str, Any]:
    file = folder / "pyproject.toml"
    text = read_text(file)
    if text is None and is_file(file):
        problems.append("pyproject.toml cannot be read, or is too large, so its requirements are unknown")
    try:
        return toml.parse(text or "")
    except ValueError as error:
        problems.append(f"pyproject.toml is not valid TOML, so its requirements are unknown: {error}")
        return {}

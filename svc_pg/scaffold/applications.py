"""Find the application objects of frameworks, and the connections of a project, in its syntax trees."""

import ast
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal

from svc_pg.scaffold.syntax_trees import Place, calls, dotted, imported, module_of, statements, whole_name

Framework = Literal["FastAPI", "Starlette", "Litestar", "Flask", "Django"]
Library = Literal["sqlalchemy", "psycopg"]
Maker = Literal["engine", "flask", "config"]
"""An engine or pool itself; Flask-SQLAlchemy, whose engine comes with the application; Advanced Alchemy's config."""

APPLICATIONS: Final[Mapping[str, Framework]] = {
    "fastapi.FastAPI": "FastAPI",
    "fastapi.applications.FastAPI": "FastAPI",
    "starlette.applications.Starlette": "Starlette",
    "litestar.Litestar": "Litestar",
    "litestar.app.Litestar": "Litestar",
    "flask.Flask": "Flask",
    "flask.app.Flask": "Flask",
}
"""The classes of applications, by their whole names."""
_CONNECTIONS: Final[Mapping[str, tuple[Library, Maker]]] = {
    "sqlalchemy.create_engine": ("sqlalchemy", "engine"),
    "sqlalchemy.ext.asyncio.create_async_engine": ("sqlalchemy", "engine"),
    "sqlmodel.create_engine": ("sqlalchemy", "engine"),
    "psycopg_pool.ConnectionPool": ("psycopg", "engine"),
    "psycopg_pool.AsyncConnectionPool": ("psycopg", "engine"),
    "flask_sqlalchemy.SQLAlchemy": ("sqlalchemy", "flask"),
    "flask_sqlalchemy.extension.SQLAlchemy": ("sqlalchemy", "flask"),
}
_CONFIGS: Final = ("SQLAlchemyAsyncConfig", "SQLAlchemySyncConfig")
_OF_CONFIGS: Final = ("advanced_alchemy", "litestar")
"""The packages of which some modules have those classes."""
PACKAGES: Final = frozenset(name.partition(".")[0] for name in (*APPLICATIONS, *_CONNECTIONS, *_OF_CONFIGS))
"""The packages that have them."""
_MOUNTS: Final = ("starlette.routing.Mount", "starlette.routing.Host")
_DEEPEST_BASE: Final = 5


@dataclass(frozen=True, slots=True)
class Application:
    """The application object of a framework; ``is_prepared`` if it has the middleware of svc-pg.

    ``is_mounted`` if another application of the project passes requests on to it.
    """

    framework: Framework
    place: Place
    is_prepared: bool = False
    is_mounted: bool = False


@dataclass(frozen=True, slots=True)
class Connections:
    """An engine or a pool; ``is_prepared`` if it tells the database its actor."""

    library: Library
    place: Place
    maker: Maker = "engine"
    is_prepared: bool = False


@dataclass(frozen=True, slots=True)
class _Source:
    file: Path
    tree: ast.Module
    names: Mapping[str, str]

    @property
    def classes(self) -> Iterator[ast.ClassDef]:
        return (node for node in statements(self.tree) if isinstance(node, ast.ClassDef))

    def calls(self, wanted: Collection[str]) -> Iterator[tuple[str, Place]]:
        """The calls of a file that imports anything of the packages of the ``wanted`` names."""
        packages = {name.partition(".")[0] for name in wanted}
        if any(whole.partition(".")[0] in packages for whole in self.names.values()):
            yield from calls(self.file, self.tree, self.names)


def applications(trees: Mapping[Path, ast.Module]) -> list[Application]:
    """The application objects, in the order of the files; also those of the project's own subclasses."""
    sources = [_source(file, tree) for file, tree in trees.items()]
    frameworks = _frameworks(sources)
    found = [
        Application(frameworks[name], place)
        for each in sources
        for name, place in each.calls(frameworks)
        if name in frameworks
    ]
    several = sources if len(found) > 1 else ()
    return _with_mounted(found, {name for each in several for name in _mounted(each)})


def connections(trees: Mapping[Path, ast.Module]) -> list[Connections]:
    """The engines and pools, in the order of the files, without those of Alembic's environments."""
    found = []
    for each in (_source(file, tree) for file, tree in trees.items()):
        if "alembic.context" in each.names.values():
            continue
        for name, place in each.calls((*_CONNECTIONS, *_OF_CONFIGS)):
            if name in _CONNECTIONS:
                library, maker = _CONNECTIONS[name]
                found.append(Connections(library, place, maker))
            elif name.endswith(_CONFIGS) and name.startswith(_OF_CONFIGS):
                found.append(Connections("sqlalchemy", place, "config"))
    return found


def _source(file: Path, tree: ast.Module) -> _Source:
    module = module_of(file)
    own = {node.name: f"{module}.{node.name}" for node in tree.body if isinstance(node, ast.ClassDef)}
    return _Source(file, tree, imported(tree, file) | own)


def _frameworks(sources: Sequence[_Source]) -> dict[str, Framework]:
    """The framework of each class of applications, by the whole name of the class."""
    known = dict(APPLICATIONS)
    for _ in range(_DEEPEST_BASE):
        found = {
            f"{module_of(each.file)}.{node.name}": known[name]
            for each in sources
            for node in each.classes
            for base in node.bases
            if (name := whole_name(base, each.names)) in known
        }
        if found.keys() <= known.keys():
            break
        known |= found
    return known


def _mounted(source: _Source) -> Iterator[str]:
    """The whole names of the objects that a file mounts below a path: in ``mount(path, app)`` and ``Mount(path, app)``.

    An application in a wrapper is none: it may run without the context of the request. Nor is one that only a condition
    mounts: it may be served alone.
    """
    for node in _unconditional(source.tree):
        if not isinstance(node, ast.Call):
            continue
        is_method = isinstance(node.func, ast.Attribute) and node.func.attr == "mount"
        if not is_method and whole_name(node.func, source.names) not in _MOUNTS:
            continue
        app = next((each.value for each in node.keywords if each.arg == "app"), None)
        if app is None and len(node.args) > 1:
            app = node.args[1]
        if name := whole_name(app, source.names) if app else None:
            yield name
        elif own := dotted(app):
            yield f"{module_of(source.file)}.{own}"


def _unconditional(tree: ast.Module) -> Iterator[ast.AST]:
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, ast.If | ast.IfExp | ast.Match | ast.Try):
            waiting += ast.iter_child_nodes(node)


def _with_mounted(found: Sequence[Application], mounted: set[str]) -> list[Application]:
    """The applications, those marked that are mounted, if one is left into which they can be."""
    names = [f"{each.place.module}.{each.place.target}" if each.place.target else None for each in found]
    marked = [replace(each, is_mounted=name in mounted) for each, name in zip(found, names, strict=True)]
    return marked if any(not each.is_mounted for each in marked) else list(found)

"""Find the application objects of frameworks, and the connections of a project, in its syntax trees."""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

Framework = Literal["FastAPI", "Starlette", "Litestar", "Flask", "Django"]
Library = Literal["sqlalchemy", "psycopg"]

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
_CONNECTIONS: Final[Mapping[str, Library]] = {
    "sqlalchemy.create_engine": "sqlalchemy",
    "sqlalchemy.ext.asyncio.create_async_engine": "sqlalchemy",
    "sqlmodel.create_engine": "sqlalchemy",
    "psycopg_pool.ConnectionPool": "psycopg",
    "psycopg_pool.AsyncConnectionPool": "psycopg",
}
_FLASK_SQLALCHEMY: Final = ("flask_sqlalchemy.SQLAlchemy", "flask_sqlalchemy.extension.SQLAlchemy")
PACKAGES: Final = frozenset(name.partition(".")[0] for name in (*APPLICATIONS, *_CONNECTIONS, *_FLASK_SQLALCHEMY))
"""The packages that have them."""


@dataclass(frozen=True, slots=True)
class Place:
    """A call in a file: its last line, the name to which it is assigned, and whether a function makes it."""

    file: Path
    line: int
    target: str | None
    is_in_function: bool

    @property
    def module(self) -> str:
        """The module, as the project imports it if its folder is where it runs."""
        parts = [*self.file.parent.parts, *([] if self.file.name == "__init__.py" else [self.file.stem])]
        return ".".join(parts[1:] if parts[:1] == ["src"] and len(parts) > 1 else parts)


@dataclass(frozen=True, slots=True)
class Application:
    """The application object of a framework; ``is_prepared`` if it has the middleware of svc-pg."""

    framework: Framework
    place: Place
    is_prepared: bool = False


@dataclass(frozen=True, slots=True)
class Connections:
    """An engine or a pool; ``is_flasks`` if Flask-SQLAlchemy makes its engine with the application.

    ``is_prepared`` if it tells the database its actor.
    """

    library: Library
    place: Place
    is_flasks: bool = False
    is_prepared: bool = False


def applications(trees: Mapping[Path, ast.Module]) -> list[Application]:
    """The application objects, in the order of the files."""
    return [
        Application(APPLICATIONS[name], place)
        for file, tree in trees.items()
        for name, place in _calls(file, tree)
        if name in APPLICATIONS
    ]


def connections(trees: Mapping[Path, ast.Module]) -> list[Connections]:
    """The engines and pools, in the order of the files."""
    found = []
    for file, tree in trees.items():
        for name, place in _calls(file, tree):
            if name in _CONNECTIONS:
                found.append(Connections(_CONNECTIONS[name], place))
            elif name in _FLASK_SQLALCHEMY:
                found.append(Connections("sqlalchemy", place, is_flasks=True))
    return found


def imported(tree: ast.Module) -> dict[str, str]:
    """The names that imports bind anywhere in the module, each with what it stands for."""
    names: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for each in node.names:
                top = each.name.partition(".")[0]
                names |= {each.asname: each.name} if each.asname else {top: top}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names |= {each.asname or each.name: f"{node.module}.{each.name}" for each in node.names}
    return names


def assigned_at(tree: ast.Module, name: str) -> int | None:
    """The last line of the last assignment to a name of the module."""
    found = None
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else []
        targets = [node.target] if isinstance(node, ast.AugAssign | ast.AnnAssign) else targets
        if any(isinstance(target, ast.Name) and target.id == name for target in targets):
            found = node.end_lineno
    return found


def is_tuple(tree: ast.Module, name: str) -> bool:
    """True if the module's last assignment to the name is a tuple, to which no list can be added."""
    values = [
        node.value
        for node in tree.body
        if isinstance(node, ast.Assign | ast.AnnAssign)
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Name) and target.id == name
    ]
    return bool(values) and isinstance(values[-1], ast.Tuple)


def _calls(file: Path, tree: ast.Module) -> Iterator[tuple[str, Place]]:
    """The calls of imported names, each by the whole name."""
    names = imported(tree)
    waiting: list[tuple[ast.AST, bool, str | None]] = [(tree, False, None)]
    while waiting:
        node, is_in_function, target = waiting.pop()
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            target = _dotted(node.targets[0])
        elif isinstance(node, ast.AnnAssign):
            target = _dotted(node.target)
        elif isinstance(node, ast.stmt):
            target = None
        if isinstance(node, ast.Call) and (dotted := _dotted(node.func)) is not None:
            first, _, rest = dotted.partition(".")
            if first in names:
                whole = f"{names[first]}.{rest}" if rest else names[first]
                yield whole, Place(file, node.end_lineno or node.lineno, target, is_in_function)
        inside = is_in_function or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        waiting += [(child, inside, target) for child in reversed(list(ast.iter_child_nodes(node)))]


def _dotted(node: ast.AST) -> str | None:
    """``app`` or ``flask.Flask``; None of any other expression."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else None

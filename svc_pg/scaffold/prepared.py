"""The lines of svc-pg that a project has already, in its imports and in the settings of Django."""

import ast
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from svc_pg.scaffold.syntax_trees import Place, dotted, imported

DjangoSetting = Literal["INSTALLED_APPS", "MIDDLEWARE", "SVC_CONFIG"]

_INTEGRATIONS: Final = "svc_pg.integrations."
_ENGINES: Final = frozenset(("sqlalchemy", "psycopg", "mysql", "sqlite"))
_DJANGO: Final = f"{_INTEGRATIONS}django"
_APPLICATION: Final = frozenset((_DJANGO, f"{_DJANGO}.apps.SvcPgConfig"))
_ACTORS: Final = ("actor_middleware", "acting_as", "audit_connections")


@dataclass(frozen=True, slots=True)
class Prepared:
    """The files that name actors of requests, those that wrap engines and pools, and the settings of Django.

    Each file has the names that stand in a statement beside one of svc-pg.
    """

    actors: Mapping[Path, Set[str]]
    engines: Mapping[Path, Set[str]]
    django: Set[DjangoSetting]

    @classmethod
    def read(cls, trees: Mapping[Path, ast.Module]) -> "Prepared":
        """Look for svc-pg in the syntax trees of the files that mention it."""
        used = {file: frozenset(_integrations(tree)) for file, tree in trees.items()}
        return cls(
            {file: _beside(trees[file]) for file, names in used.items() if names - _ENGINES - {"django"}},
            {file: _beside(trees[file]) for file, names in used.items() if names & _ENGINES},
            {setting for tree in trees.values() for setting in _of_django(tree)},
        )


def is_among(place: Place, prepared: Mapping[Path, Set[str]], places: Sequence[Place]) -> bool:
    """True if the object at a place has the lines, of all ``places`` of such objects.

    It has them if its file has them, though of several objects in a file only those that are named beside the lines; or
    if a file has them that makes no such object: it prepares them all.
    """
    if place.file not in prepared:
        return bool(prepared.keys() - {each.file for each in places})
    named = [each for each in places if each.file == place.file and each.target in prepared[place.file]]
    return place in named or not named


def _beside(tree: ast.Module) -> frozenset[str]:
    """The names in the statements that use one of svc-pg."""
    own = {name for name, whole in imported(tree).items() if whole.startswith(_INTEGRATIONS)}
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt) and not hasattr(node, "body"):
            names = {name for each in ast.walk(node) if (name := dotted(each)) is not None}
            found |= names if names & own else set()
    return frozenset(found)


def _integrations(tree: ast.Module) -> Iterator[str]:
    """The integrations that a file imports, by the names of their modules."""
    for name in imported(tree).values():
        if name.startswith(_INTEGRATIONS):
            yield name.removeprefix(_INTEGRATIONS).partition(".")[0]


def _of_django(tree: ast.Module) -> Iterator[DjangoSetting]:
    """The settings that a file has, wherever it assigns or extends them."""
    for node in ast.walk(tree):
        match node:
            case ast.Constant(value=str(text)) if text in _APPLICATION:
                yield "INSTALLED_APPS"
            case ast.Constant(value=str(text)) if text.startswith(_DJANGO) and text.endswith(_ACTORS):
                yield "MIDDLEWARE"
            case ast.Name(id="SVC_CONFIG", ctx=ast.Store()):
                yield "SVC_CONFIG"
            case _:
                pass
    for name in imported(tree).values():
        if name.startswith(_DJANGO) and name.endswith(_ACTORS):
            yield "MIDDLEWARE"
        elif name.startswith(f"{_DJANGO}.operations"):  # its migrations install
            yield "SVC_CONFIG"
